/*
 * fuzz_logs.c - a log in pieces, broken off and begun again at places that the input
 * says; however it is cut, a line is never longer than allowed.
 */
#include <stdlib.h>
#include <string.h>

#include "client/logs_lines.h"
#include "tests/fuzz/fuzz.h"

enum { MAX = 64, MARK = 64 };

static void on_line(void *ctx, const char *line, size_t len)
{
	FUZZ_CHECK(len <= MAX + MARK && !memchr(line, '\n', len));
}

/* The first byte is how long a piece is; a piece that begins with NUL is a new request. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct log_lines l = { .on_line = on_line, .max = MAX };
	size_t piece = size ? 1 + data[0] % 32 : 1;

	l.timestamps = size > 1 && data[1] & 1;
	l.partial = size > 1 && data[1] & 2;
	log_lines_begin(&l);
	for (size_t i = 0; i < size; i += piece) {
		if (!data[i])
			log_lines_begin(&l);
		log_lines_feed(&l, (const char *)data + i,
			       size - i < piece ? size - i : piece);
		FUZZ_CHECK(l.part.len <= MAX);
	}
	log_lines_end(&l);
	log_lines_release(&l);
	return 0;
}
