/* The bytes of a server's log: what is read of it is a whole number of records. */
#include <string.h>

#include "apiserver/journal.h"
#include "base/cleanup.h"
#include "tests/fuzz/fuzz.h"

static int count(void *ctx, const struct journal_record *r, struct error *err)
{
	FUZZ_CHECK(r->version > 0 && r->key);
	++*(size_t *)ctx;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = { 0 };
	size_t n = 0, again = 0, good = 0, good2 = 0;

	if (journal_read(data, size, count, &n, &good, &err)) {
		FUZZ_CHECK(err.kind);
		return 0;
	}
	FUZZ_CHECK(good <= size);
	FUZZ_CHECK(!journal_read(data, good, count, &again, &good2, &err));
	FUZZ_CHECK(good2 == good && again == n);
	return 0;
}
