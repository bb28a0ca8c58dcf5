#include "arrow/bits.h"
#include "arrow/codec.h"
#include "arrow/delta.h"
#include "arrow/footer.h"
#include "arrow/hybrid.h"
#include "base/cleanup.h"
#include "tests/unit/unit.h"

/* ---- runs and groups (the examples of Encodings.md, "RLE") ---- */

TEST(test_hybrid)
{
	/* 0 to 7 in groups of 3 bits; then five times 4; the rest is missing. */
	static const uint8_t bytes[64] = { 0x03, 0x88, 0xc6, 0xfa, 0x0a, 0x04 };
	struct hybrid h = { .p = bytes, .end = bytes + 6, .width = 3 };
	uint32_t v[20];

	assert_int_equal(hybrid_u32(&h, v, 3), 3);
	assert_int_equal(hybrid_u32(&h, v + 3, 17), 10);
	for (uint32_t i = 0; i < 13; i++)
		assert_int_equal(v[i], i < 8 ? i : 4);
	assert_int_equal(hybrid_u32(&h, v, 1), 0);
}

TEST(test_hybrid_bits)
{
	/* Eight bits; 100 ones; eight bits. */
	static const uint8_t bytes[64] = { 0x03, 0xa5, 0xc8, 0x01, 0x01, 0x03, 0x0f };
	struct hybrid h = { .p = bytes, .end = bytes + 7, .width = 1 };
	uint8_t bits[64] = { 0 }, out[200];

	assert_int_equal(hybrid_bits(&h, bits, 3, 200), 116);
	assert_int_equal(bits_count(bits, 3, 116), 4 + 100 + 4);
	h = (struct hybrid){ .p = bytes, .end = bytes + 7, .width = 1 };
	assert_int_equal(hybrid_u8(&h, out, 200), 116);
	for (uint64_t i = 0; i < 116; i++)
		assert_int_equal(out[i], bit_get(bits, 3 + i));
}

TEST(test_hybrid_damaged)
{
	static const struct {
		uint8_t bytes[64];
		size_t n;
	} rows[] = {
		{ { 0 }, 0 },
		{ { 0x00, 0x01 }, 2 }, /* a run of none */
		{ { 0x01 }, 1 },       /* a group of none */
		{ { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff },
		  6 },           /* a number without an end */
		{ { 0x02 }, 1 }, /* a run without its value */
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct hybrid h = {
			.p = rows[i].bytes,
			.end = rows[i].bytes + rows[i].n,
			.width = 8,
		};
		uint32_t v;

		assert_int_equal(hybrid_u32(&h, &v, 1), 0);
	}
}

/* ---- differences (the example of Encodings.md) ---- */

TEST(test_delta)
{
	/* 7, 5, 3, 1, 2, 3, 4, 5: deltas of at least -2, in a block of 128 and 4 parts. */
	static const uint8_t bytes[128] = { 0x80, 0x01, 0x04, 0x08, 0x0e, 0x03,
					    2,    0,    0,    0,    0xc0, 0x3f };
	struct error err = { 0 };
	struct delta d;
	uint64_t v[9];

	assert_int_equal(delta_begin(&d, bytes, bytes + 18, &err), 0);
	assert_int_equal(delta_take(&d, v, 2), 2);
	assert_int_equal(delta_take(&d, v + 2, 7), 6);
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(v[i], ((uint64_t[]){ 7, 5, 3, 1, 2, 3, 4, 5 })[i]);
	assert_ptr_equal(delta_end(&d), bytes + 18);
	assert_int_equal(delta_begin(&d, bytes, bytes + 17, &err), 0);
	assert_int_equal(delta_take(&d, v, 9), 1); /* the part is cut short */
	assert_int_equal(delta_take(&d, v, 9), 0);
}

/* Found by fuzzing: after a part of 65 bits, the next call went on with it. */
TEST(test_delta_width)
{
	static const uint8_t bytes[1024] = { 0x80, 0x01, 0x04, 0x08, 0x0e, 0x03, 65 };
	struct error err = { 0 };
	struct delta d;
	uint64_t v[9];

	assert_int_equal(delta_begin(&d, bytes, bytes + 900, &err), 0);
	assert_int_equal(delta_take(&d, v, 9), 1);
	assert_int_equal(delta_take(&d, v, 9), 0);
	assert_true(delta_end(&d) <= bytes + 900);
}

/* duckdb's parts have 256 values: what follows is behind all of the last one. */
TEST(test_delta_parts)
{
	static const uint8_t bytes[192] = { 0x80, 0x10, 0x08, 0x03, 0x0e, 0x03, 2 };
	struct error err = { 0 };
	struct delta d;
	uint64_t v[3];

	assert_int_equal(delta_begin(&d, bytes, bytes + 100, &err), 0);
	assert_int_equal(delta_take(&d, v, 3), 3);
	assert_int_equal(v[2], 3);
	assert_ptr_equal(delta_end(&d), bytes + 14 + 2 * 256 / 8);
}

/* ---- compressions ---- */

static int decode(int codec, void *out, size_t n, const void *in, size_t len,
		  struct error *err)
{
	struct codec_state state = { 0 };
	uint8_t *padded = calloc(1, len + BLOCK_SLACK);
	int rc;

	memcpy(padded, in, len);
	rc = codec_decode(&state, codec, out, n, (struct bytes){ padded, len }, err);
	codec_release(&state);
	free(padded);
	return rc;
}

TEST(test_snappy)
{
	/* "abc", then 12 bytes from 3 before, 4 from 1, 5 from 7, by each kind of copy. */
	static const uint8_t good[] = { 24,   0x08, 'a',  'b',  'c',  0x2e, 3,   0,
					0x01, 0x01, 0x13, 0x07, 0x00, 0x00, 0x00 };
	static const uint8_t bad[][8] = {
		{ 4, 0x00, 'a', 0x01, 0x02 }, /* from before the beginning */
		{ 4, 0x00, 'a', 0x01, 0x00 }, /* from nowhere */
		{ 4, 0x0c, 'a', 'b' },        /* a literal without an end */
		{ 3, 0x00, 'a', 0x01, 0x01 }, /* more than there is room for */
		{ 9, 0x00, 'a', 0x01, 0x01 }, /* less than it says */
		{ 5, 0xf0 },                  /* a literal without its length */
	};
	static const size_t lengths[] = { 5, 5, 4, 5, 5, 2 };
	struct error err = { 0 };
	char out[200];

	assert_int_equal(decode(CODEC_SNAPPY, out, 24, good, sizeof(good), &err), 0);
	assert_memory_equal(out, "abcabcabcabcabcccccabccc", 24);
	for (size_t i = 0; i < N_ELEMENTS(bad); i++)
		assert_int_equal(
			decode(CODEC_SNAPPY, out, bad[i][0], bad[i], lengths[i], &err),
			-1);
	assert_int_equal(err.kind, ERR_FORMAT);
}

/* Literal "abcde" alone, as a block of LZ4. */
#define BLOCK 0x50, 'a', 'b', 'c', 'd', 'e'

TEST(test_lz4_framings)
{
	static const uint8_t raw[] = { BLOCK };
	static const uint8_t hadoop[] = { 0, 0, 0, 5, 0, 0, 0, 6, BLOCK,
					  0, 0, 0, 5, 0, 0, 0, 6, BLOCK };
	struct error err = { 0 };
	char out[200];

	assert_int_equal(decode(CODEC_LZ4_RAW, out, 5, raw, sizeof(raw), &err), 0);
	assert_int_equal(decode(CODEC_LZ4, out, 5, raw, sizeof(raw), &err), 0);
	assert_int_equal(decode(CODEC_LZ4, out, 10, hadoop, sizeof(hadoop), &err), 0);
	assert_memory_equal(out, "abcdeabcde", 10);
	assert_int_equal(decode(CODEC_LZ4, out, 9, hadoop, sizeof(hadoop), &err), -1);
	assert_int_equal(decode(CODEC_LZO, out, 5, raw, sizeof(raw), &err), -1);
	assert_int_equal(err.kind, ERR_UNSUPPORTED);
}

/* ---- metadata ---- */

static int read_footer(const void *bytes, size_t len, size_t memory, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct budget budget = { .limit = memory };
	struct footer f;

	return footer_read(&f, bytes, len, &budget, &arena, err);
}

TEST(test_hostile_metadata)
{
	uint8_t deep[200], many[] = { 0x29, 0xfc, 0xff, 0xff, 0xff, 0x0f },
			   small[100] = { 0x29, 0xfc, 90 };
	struct error err = { 0 };

	memset(deep, 0x1c, sizeof(deep)); /* structs within structs */
	assert_int_equal(read_footer(deep, sizeof(deep), 1 << 20, &err), -1);
	assert_int_equal(err.kind, ERR_FORMAT);
	assert_int_equal(read_footer(many, sizeof(many), 1 << 20, &err), -1);
	assert_int_equal(err.kind, ERR_FORMAT);
	assert_int_equal(read_footer(small, sizeof(small), 1 << 20, &err), 0);
	assert_int_equal(read_footer(small, sizeof(small), 1 << 10, &err), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
}

RUN_TESTS(NULL, NULL)
