#include <stdlib.h>

#include "arrow/bits.h"
#include "arrow/lz4.h"
#include "base/cleanup.h"
#include "base/xmalloc.h"
#include "tests/unit/unit.h"

enum { LARGE = 9 * 1024 * 1024, HEADER = 7 };

/* Bytes that repeat themselves after `period`, but for one in `noise`; 0: none. */
static void fill(uint8_t *to, size_t len, size_t period, uint32_t noise)
{
	uint32_t random = 1;

	for (size_t i = 0; i < len; i++) {
		random = random * 1664525 + 1013904223;
		to[i] = i < period || (noise && random >> 8 < UINT32_MAX / 256 / noise)
				? (uint8_t)(random >> 24)
				: to[i - period];
	}
}

/* The blocks of a frame without checksums; the number of bytes inside. */
static size_t decode(uint8_t *to, size_t cap, const uint8_t *frame, size_t len)
{
	size_t at = HEADER, n = 0;

	/* The magic number; version 1, independent blocks, no checksums, no sizes. */
	assert_memory_equal(frame, "\x04\x22\x4d\x18\x60", 5);
	for (;;) {
		uint32_t size = bits_load_u32(frame + at), part = size & 0x7fffffff;
		size_t inside = cap - n < 4u << 20 ? cap - n : 4u << 20;

		at += 4;
		if (!size)
			break;
		assert_true(part <= len - at);
		if (size == part)
			assert_true(lz4_decode(to + n, inside, frame + at, part));
		else
			memcpy(to + n, frame + at, inside = part);
		n += inside;
		at += part;
	}
	assert_int_equal(at, len);
	return n;
}

static size_t round_trip(const uint8_t *data, size_t len)
{
	/* Of its own size, so that a sanitizer sees what is written or read beyond it. */
	cleanup_free uint8_t *src = xmalloc(len + !len);
	cleanup_free uint8_t *frame = xmalloc(lz4_frame_bound(len));
	cleanup_free uint8_t *again = xmalloc(len + !len);
	size_t n;

	if (len)
		memcpy(src, data, len);
	n = lz4_frame(frame, src, len);
	assert_true(n <= lz4_frame_bound(len));
	assert_int_equal(decode(again, len, frame, n), len);
	assert_memory_equal(again, src, len);
	return n;
}

TEST(test_lengths)
{
	uint8_t data[600];

	for (size_t period = 1; period < 20; period += 6) {
		fill(data, sizeof(data), period, 0);
		for (size_t n = 0; n <= sizeof(data); n++)
			round_trip(data, n);
	}
}

TEST(test_kinds)
{
	static const struct {
		size_t len, period;
		uint32_t noise;
		size_t most;
	} rows[] = {
		{ 100000, 1, 0, 500 },         /* one byte */
		{ 100000, 100000, 0, 100020 }, /* nothing repeats: as it is */
		{ 300000, 3000, 0, 5000 },
		{ 1000000, 300, 50, 200000 }, /* short matches and literals */
		{ 1000000, 8, 20, 300000 },
		{ LARGE, 1000, 1000, LARGE / 20 }, /* three blocks */
		{ LARGE, LARGE, 0, LARGE + 30 },
	};
	cleanup_free uint8_t *data = xmalloc(LARGE);

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		size_t n;

		fill(data, rows[i].len, rows[i].period, rows[i].noise);
		n = round_trip(data, rows[i].len);
		if (n > rows[i].most)
			fail_msg("row %zu: %zu bytes, %zu expected", i, n, rows[i].most);
	}
}

/* A word, one byte many times, and the word again: a match may reach back 65535 bytes. */
TEST(test_offsets)
{
	uint8_t data[66000];

	for (size_t apart = 65530; apart < 65540; apart++) {
		memset(data, 0, sizeof(data));
		memcpy(data, "kubeflow", 8);
		memcpy(data + apart, "kubeflow", 8);
		assert_in_range(round_trip(data, apart + 100), 280, 310);
	}
}

/* Blocks of any bytes: what is damaged, or of another length, is refused. */
TEST(test_damaged)
{
	static const struct {
		const char *block;
		size_t len, inside;
		bool good;
	} rows[] = {
		{ "\120abcde", 6, 5, true },
		{ "\120abcde", 6, 4, false },
		{ "\120abcde", 6, 6, false },
		{ "\120abcd", 5, 5, false },
		{ "\000", 1, 0, true },
		{ "", 0, 0, false },
		{ "", 0, 5, false },
		{ "\360\377\377", 3, 600, false },           /* a length without an end */
		{ "\037a\001\000\377", 5, 600, false },      /* another */
		{ "\037a\001", 3, 600, false },              /* half an offset */
		{ "\024a\001\000", 4, 9, false },            /* no last sequence */
		{ "\024a\002\000\120abcde", 10, 14, false }, /* before the begin */
		{ "\024a\001\000\120abcde", 10, 14, true },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		/* Of their own sizes, as above. */
		cleanup_free uint8_t *src = xmalloc(rows[i].len + !rows[i].len);
		cleanup_free uint8_t *dst = xmalloc(rows[i].inside + !rows[i].inside);

		memcpy(src, rows[i].block, rows[i].len);
		if (lz4_decode(dst, rows[i].inside, src, rows[i].len) != rows[i].good)
			fail_msg("row %zu", i);
	}
}

RUN_TESTS(NULL, NULL)
