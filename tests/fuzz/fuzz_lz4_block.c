/*
 * Blocks of LZ4 with a length that may lie: the first two bytes are the length that the
 * page claims, the third whether Hadoop's framing is tried. What is decoded is what a slow
 * reader of lz4_Block_format.md finds, which also refuses what codec_decode() refuses.
 */
#include <string.h>

#include "arrow/codec.h"
#include "base/cleanup.h"
#include "base/xmalloc.h"
#include "tests/fuzz/fuzz.h"

enum { HEAD = 3, MIN_MATCH = 4, LONG = 15, HADOOP = 8 };

struct reader {
	const uint8_t *at, *end;
	uint8_t *out;
	size_t n, max;
};

/* A length of four bits, and the bytes that continue it. */
static bool length(struct reader *r, size_t four, size_t *ret)
{
	*ret = four;
	if (four < LONG)
		return true;
	do {
		if (r->at == r->end)
			return false;
		*ret += *r->at;
	} while (*r->at++ == 255);
	return true;
}

static bool literals(struct reader *r, size_t n)
{
	if (n > (size_t)(r->end - r->at) || n > r->max - r->n)
		return false;
	for (; n; n--)
		r->out[r->n++] = *r->at++;
	return true;
}

/* The format forbids an offset of 0; liblz4 takes it for zeros, never for what dst held. */
static bool match(struct reader *r, size_t four)
{
	size_t back, n;

	if (r->end - r->at < 2)
		return false;
	back = r->at[0] | (size_t)r->at[1] << 8;
	r->at += 2;
	if (!length(r, four, &n) || back > r->n || n + MIN_MATCH > r->max - r->n)
		return false;
	for (n += MIN_MATCH; n; n--, r->n++)
		r->out[r->n] = back ? r->out[r->n - back] : 0;
	return true;
}

/* Does the block end with literals, and fill exactly r->max bytes? */
static bool read_block(struct reader *r)
{
	while (r->at < r->end) {
		uint8_t token = *r->at++;
		size_t n;

		if (!length(r, token >> 4, &n) || !literals(r, n))
			return false;
		if (r->at == r->end)
			return r->n == r->max;
		if (!match(r, token & 15))
			return false;
	}
	return false;
}

static bool decode(int codec, uint8_t *dst, size_t len, const uint8_t *data, size_t size)
{
	struct codec_state state = { 0 };
	struct error err = { 0 };
	int rc =
		codec_decode(&state, codec, dst, len, (struct bytes){ data, size }, &err);

	FUZZ_CHECK(!rc || (err.kind && err.msg[0]));
	codec_release(&state);
	return !rc;
}

/* The block in Hadoop's framing, twice. */
static void check_hadoop(size_t len, const uint8_t *data, size_t size,
			 const uint8_t *want)
{
	size_t one = HADOOP + size;
	cleanup_free uint8_t *framed = xcalloc(2, one);
	cleanup_free uint8_t *out = xmalloc(2 * len + BLOCK_SLACK);

	framed[2] = (uint8_t)(len >> 8);
	framed[3] = (uint8_t)len;
	framed[5] = (uint8_t)(size >> 16);
	framed[6] = (uint8_t)(size >> 8);
	framed[7] = (uint8_t)size;
	memcpy(framed + HADOOP, data, size);
	memcpy(framed + one, framed, one);
	FUZZ_CHECK(decode(CODEC_LZ4, out, 2 * len, framed, 2 * one));
	FUZZ_CHECK(!memcmp(out, want, len) && !memcmp(out + len, want, len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t len = size >= HEAD ? data[0] | (size_t)data[1] << 8 : 0;
	int codec = size >= HEAD && data[2] & 1 ? CODEC_LZ4 : CODEC_LZ4_RAW;
	cleanup_free uint8_t *out = xmalloc(len + BLOCK_SLACK);
	cleanup_free uint8_t *want = xmalloc(len + 1);
	cleanup_free uint8_t *exact = NULL;
	struct reader r = { .out = want, .max = len };
	bool good;

	if (size < HEAD)
		return 0;
	size -= HEAD;
	exact = xmalloc(size + 1);
	memcpy(exact, data + HEAD, size);
	r.at = exact;
	r.end = exact + size;
	memset(out, 0xa5, len + BLOCK_SLACK);
	good = decode(codec, out, len, exact, size);
	if (codec == CODEC_LZ4_RAW && good) {
		FUZZ_CHECK(read_block(&r) && !memcmp(out, want, len));
		check_hadoop(len, exact, size, want);
	}
	return 0;
}
