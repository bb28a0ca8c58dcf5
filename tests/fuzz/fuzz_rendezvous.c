/* Lines of nodes in pieces of any size: the same documents, and the same end. */
#include <string.h>

#include "base/cleanup.h"
#include "net/rendezvous.h"
#include "tests/fuzz/fuzz.h"

/* The documents, and how it ended, as a text; the bytes come `step` at a time. */
static void hear(const uint8_t *data, size_t size, size_t step, struct buf *ret)
{
	cleanup_buf struct buf in = { .max = RENDEZVOUS_LINE_MAX };
	struct error err = { 0 };

	for (size_t at = 0; at < size; at += step) {
		cJSON *doc = NULL;
		int rc;

		buf_add(&in, data + at, step < size - at ? step : size - at);
		while (!(rc = rendezvous_line(&in, &doc, &err)) && doc) {
			json_print(ret, doc);
			buf_adds(ret, ";");
			cJSON_Delete(doc);
		}
		FUZZ_CHECK(in.len <= RENDEZVOUS_LINE_MAX);
		if (rc) {
			FUZZ_CHECK(err.msg[0] && !doc);
			buf_adds(ret, err.msg);
			return;
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_buf struct buf whole = { .max = 64 << 20 }, pieces = { .max = 64 << 20 };

	hear(data, size, size ? size : 1, &whole);
	for (size_t step = 1; step <= 64; step *= 4) {
		buf_clear(&pieces);
		hear(data, size, step, &pieces);
		FUZZ_CHECK(whole.len == pieces.len &&
			   (!whole.len || !memcmp(whole.data, pieces.data, whole.len)));
	}
	return 0;
}
