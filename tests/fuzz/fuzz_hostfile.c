/* Host files: read, or refused with a message; what is read is read again alike. */
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "mpi/hostfile.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_buf struct buf text = { .max = HOSTFILE_MAX };
	struct hostfile f = { 0 }, again = { 0 };
	struct error err = { 0 };

	if (hostfile_parse(&f, &a, (const char *)data, size, &err)) {
		FUZZ_CHECK(err.msg[0] && !f.n);
		return 0;
	}
	FUZZ_CHECK(f.n);
	for (size_t i = 0; i < f.n; i++) {
		const struct hostfile_host *h = &f.hosts[i];

		FUZZ_CHECK(h->name[0] && h->name[0] != '-');
		FUZZ_CHECK(strlen(h->name) <= HOSTFILE_NAME_MAX);
		FUZZ_CHECK(!strpbrk(h->name, " \t\n;$`'\"/\\"));
		buf_printf(&text, "%s slots=1\n", h->name);
	}
	FUZZ_CHECK(!hostfile_parse(&again, &a, (const char *)text.data, text.len, &err));
	FUZZ_CHECK(again.n == f.n);
	for (size_t i = 0; i < f.n; i++)
		FUZZ_CHECK(str_eq(again.hosts[i].name, f.hosts[i].name));
	return 0;
}
