/*
 * What programs write, in pieces: no escape but colors is left, no line is longer than the
 * limit, and the pieces change nothing unless the cursor goes up.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/screen.h"
#include "base/str.h"
#include "client/logs_lines.h"
#include "logtext/lognoise.h"
#include "logtext/traceback.h"
#include "tests/fuzz/fuzz.h"

enum { MAX = 1000, MAX_BYTES = 1 << 16 };

static void on_line(void *ctx, const char *line, size_t len)
{
	struct lognoise_state noise = { 0 };
	struct buf *out = ctx;
	char room[TRACEBACK_NAME_MAX];
	size_t shown = len;

	FUZZ_CHECK(len <= MAX + SCREEN_TAG && !memchr(line, '\r', len) &&
		   !memchr(line, '\n', len));
	for (size_t i = 0; i < len; i++)
		FUZZ_CHECK(line[i] != '\033' || screen_colour(line + i, len - i));
	(void)lognoise_is(&noise, line, len);
	(void)traceback_named(line, &shown, room, sizeof(room));
	FUZZ_CHECK(shown <= len);
	buf_add(out, line, len);
	buf_adds(out, "\n");
}

static void show(struct buf *out, const char *text, size_t len, size_t piece)
{
	struct screen s = { .on_line = on_line, .ctx = out, .max = MAX };
	const char *state;
	size_t n;
	bool bar;

	for (size_t i = 0; i < len; i += piece) {
		screen_write(&s, text + i, len - i < piece ? len - i : piece);
		state = screen_state(&s, &n, &bar);
		FUZZ_CHECK(!state || (n && n <= MAX + SCREEN_TAG));
	}
	screen_end(&s);
}

static void log_of(const char *text, size_t len, bool timestamps)
{
	cleanup_buf struct buf out = { .max = 4 * MAX_BYTES };
	struct log_lines l = {
		.on_line = on_line, .ctx = &out, .max = MAX, .timestamps = timestamps
	};

	for (int i = 0; i < 3; i++) {
		log_lines_begin(&l);
		log_lines_feed(&l, text, len / (size_t)(3 - i));
	}
	log_lines_end(&l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_buf struct buf whole = { .max = 4 * MAX_BYTES }, pieces = whole;
	const char *text = (const char *)data;

	if (size > MAX_BYTES || !size)
		return 0;
	show(&whole, text, size, size);
	show(&pieces, text, size, 1 + data[0] % 7);
	if (!memchr(data, '\033', size))
		FUZZ_CHECK(whole.len == pieces.len &&
			   (!whole.len || !memcmp(whole.data, pieces.data, whole.len)));
	log_of(text, size, data[0] & 1);
	FUZZ_CHECK(
		!strpbrk(screen_text(&arena, str_slice(&arena, text, size)), "\r\033"));
	return 0;
}
