/* An answer to a probe: once a status is known, more bytes do not change it. */
#include <string.h>

#include "kubelet/probe.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int last = -1;

	for (size_t len = 0; len <= size; len++) {
		char *exact = malloc(len ? len : 1); /* nothing behind it is read */
		int status;

		FUZZ_CHECK(exact);
		if (len)
			memcpy(exact, data, len);
		status = probe_http_status(exact, len);
		free(exact);
		FUZZ_CHECK(status >= -1 && status <= 999);
		FUZZ_CHECK(last < 0 || status == last);
		FUZZ_CHECK(status != -1 || len < strlen("HTTP/1.1 200"));
		FUZZ_CHECK(status <= 0 || !memcmp(data, "HTTP/1.", strlen("HTTP/1.")));
		last = status;
	}
	return 0;
}
