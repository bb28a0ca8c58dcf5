/*
 * The small readers of base/: what they take they print, and read back as the
 * same; option tables take any argument list.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/nearest.h"
#include "base/opt.h"
#include "base/str.h"
#include "tests/fuzz/fuzz.h"

static void check_bytes(const uint8_t *data, size_t size)
{
	cleanup_buf struct buf base64 = { .max = SIZE_MAX / 4 },
			       hex = { .max = SIZE_MAX / 4 };
	cleanup_buf struct buf back = { .max = SIZE_MAX / 4 },
			       again = { .max = SIZE_MAX / 4 };
	struct error err = { 0 };

	base64_encode(&base64, data, size);
	hex_encode(&hex, data, size);
	if (size) {
		FUZZ_CHECK(!base64_decode(&back, (char *)base64.data, base64.len, &err));
		FUZZ_CHECK(back.len == size && !memcmp(back.data, data, size));
		buf_clear(&back);
		FUZZ_CHECK(!hex_decode(&back, (char *)hex.data, hex.len, &err));
		FUZZ_CHECK(back.len == size && !memcmp(back.data, data, size));
	}
	buf_clear(&back);
	buf_clear(&base64);
	if (base64_decode(&back, (const char *)data, size, &err) || !size)
		return;
	base64_encode(&again, back.data, back.len);
	FUZZ_CHECK(again.len == size && !memcmp(again.data, data, size));
}

static void check_times(const char *text)
{
	char time[TIME_TEXT_SIZE], duration[DURATION_TEXT_SIZE];
	struct error err = { 0 };
	int64_t v = 0, w = 0;

	if (!time_parse(&v, text, &err) && v >= -62135596800 && v <= 253402300799) {
		FUZZ_CHECK(!time_parse(&w, time_text(v, time), &err));
		FUZZ_CHECK(v == w);
	}
	if (!duration_parse(&v, text, &err)) {
		FUZZ_CHECK(!duration_parse(&w, duration_text(v, duration), &err));
		FUZZ_CHECK(v == w);
		duration_age(v, duration);
	}
}

struct values {
	bool flag;
	int64_t number, wait;
	const char *text;
	struct opt_strs list;
	int word;
	char **rest;
};

static void check_options(struct arena *a, const char *text)
{
	static const char *const words[] = { "json", "yaml", NULL };
	static const struct opt opts[] = {
		OPT_BOOL('f', "flag", "a flag", struct values, flag),
		OPT_INT('i', "number", "N", "a number", struct values, number, -5, 5),
		OPT_DURATION('d', "wait", "TIME", "a duration", struct values, wait, 0,
			     9999),
		OPT_STR('s', "text", "TEXT", "a text", struct values, text),
		OPT_STRS('l', "list", "TEXT", "texts", struct values, list),
		OPT_ENUM('o', "word", "WORD", "a word", struct values, word, words),
		OPT_REST("COMMAND", "a command", struct values, rest),
		{ .type = OPT_END },
	};
	struct values v = { 0 };
	struct error err = { 0 };
	size_t n = 0;
	char **argv = str_split(a, text, '\n', &n);
	int argc = (int)n;

	if (opt_parse(opts, &v, &argc, &argv, &err)) {
		FUZZ_CHECK(err.kind == ERR_USAGE && err.msg[0]);
	} else {
		FUZZ_CHECK(argc >= 0 && (size_t)argc < n && !argv[argc]);
		FUZZ_CHECK(v.number >= -5 && v.number <= 5 && v.wait >= 0 &&
			   v.wait <= 9999);
	}
	opt_release(opts, &v);
	nearest_word(text, words);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_arena struct arena a = { 0 };
	const char *text = size ? str_slice(&a, (const char *)data, size) : "";

	check_bytes(data, size);
	check_times(text);
	check_options(&a, text);
	return 0;
}
