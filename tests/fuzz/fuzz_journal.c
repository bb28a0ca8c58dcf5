/* A journal of any bytes: the ranges lie in the file, in order, none over another. */
#include <stdlib.h>
#include <string.h>

#include "store/journal.h"
#include "tests/fuzz/fuzz.h"

enum { SIZE = 1 << 20 };

static void check(const void *data, size_t len, const unsigned char *id)
{
	struct range *list = NULL;
	size_t n = journal_parse(data, len, id, SIZE, &list);
	int64_t at = 0;

	for (size_t i = 0; i < n; i++) {
		FUZZ_CHECK(list[i].from >= at && list[i].to > list[i].from);
		FUZZ_CHECK(list[i].to <= SIZE);
		at = list[i].to;
	}
	free(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned char id[JOURNAL_ID_SIZE] = "fuzz";
	unsigned char *whole = malloc(JOURNAL_HEADER_SIZE + size + JOURNAL_RECORD_SIZE);
	size_t len = JOURNAL_HEADER_SIZE;

	check(data, size, id);
	FUZZ_CHECK(whole);
	journal_header(whole, id, SIZE);
	/* records with sums that are right, from the input's numbers */
	for (; size >= 16; size -= 16, data += 16) {
		struct range r;

		memcpy(&r.from, data, 8);
		memcpy(&r.to, data + 8, 8);
		r.from &= 2 * SIZE - 1;
		r.to &= 2 * SIZE - 1;
		r.crc = 0;
		if (len + JOURNAL_RECORD_SIZE > JOURNAL_HEADER_SIZE + size)
			break;
		journal_record(whole + len, &r);
		len += JOURNAL_RECORD_SIZE;
	}
	check(whole, len, id);
	free(whole);
	return 0;
}
