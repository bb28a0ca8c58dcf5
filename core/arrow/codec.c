/* Decompresses pages: codec.h. */
#include "arrow/codec.h"

#include <brotli/decode.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "arrow/lz4.h"
#include "arrow/snappy.h"
#include "base/xmalloc.h"
#include "base/zstd.h"

enum {
	GZIP_OR_ZLIB = 32 + MAX_WBITS,
	HADOOP_HEADER = 8,
	STEP = 64 * 1024,
	MAX_STREAM = 1 << 30
};

struct job {
	struct codec_state *state;
	uint8_t *dst;
	size_t dst_len;
	const uint8_t *src;
	size_t src_len;
};

static int damaged(const char *what, struct error *err)
{
	return error_set(err, ERR_FORMAT, "%s: damaged data", what);
}

static int run_snappy(const struct job *j, struct error *err)
{
	return snappy_decode(j->dst, j->dst_len, j->src, j->src_len, err);
}

static z_stream *zlib_of(struct codec_state *state)
{
	z_stream *z = state->zlib;

	if (z) {
		inflateReset(z);
		return z;
	}
	z = state->zlib = xcalloc(1, sizeof(*z));
	if (inflateInit2(z, GZIP_OR_ZLIB) != Z_OK)
		abort();
	return z;
}

/* Members may follow each other, as gzip(1) allows. */
static int run_gzip(const struct job *j, struct error *err)
{
	z_stream *z = zlib_of(j->state);
	int rc;

	if (j->src_len > UINT32_MAX || j->dst_len > UINT32_MAX)
		return error_set(err, ERR_LIMIT, "gzip: a page of more than 4 GiB");
	z->next_in = (Bytef *)(uintptr_t)j->src;
	z->avail_in = (uInt)j->src_len;
	z->next_out = j->dst;
	z->avail_out = (uInt)j->dst_len;
	for (;;) {
		rc = inflate(z, Z_FINISH);
		if (rc != Z_STREAM_END)
			return damaged("gzip", err);
		if (!z->avail_in)
			break;
		if (inflateReset(z) != Z_OK)
			return damaged("gzip", err);
	}
	return z->avail_out ? damaged("gzip", err) : 0;
}

static int run_lz4_raw(const struct job *j, struct error *err)
{
	if (!lz4_decode(j->dst, j->dst_len, j->src, j->src_len))
		return damaged("lz4", err);
	return 0;
}

static uint32_t big32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

/* Blocks, each after its two lengths, decompressed and compressed. */
static bool lz4_hadoop(const struct job *j)
{
	const uint8_t *p = j->src, *end = p + j->src_len;
	size_t done = 0;

	while (end - p >= HADOOP_HEADER) {
		size_t out = big32(p), in = big32(p + 4);

		p += HADOOP_HEADER;
		if (in > (size_t)(end - p) || out > j->dst_len - done ||
		    !lz4_decode(j->dst + done, out, p, in))
			return false;
		p += in;
		done += out;
	}
	return p == end && done == j->dst_len;
}

/* Old writers used the same codec number for blocks without Hadoop's framing. */
static int run_lz4(const struct job *j, struct error *err)
{
	return lz4_hadoop(j) ? 0 : run_lz4_raw(j, err);
}

static int run_zstd(const struct job *j, struct error *err)
{
	return zstd_block_decode(&j->state->zstd, j->dst, j->dst_len, j->src, j->src_len,
				 err);
}

static int run_brotli(const struct job *j, struct error *err)
{
	size_t n = j->dst_len;

	if (BrotliDecoderDecompress(j->src_len, j->src, &n, j->dst) !=
		    BROTLI_DECODER_RESULT_SUCCESS ||
	    n != j->dst_len)
		return damaged("brotli", err);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(const struct job *j, struct error *err);
} codecs[CODEC_N] = {
	[CODEC_NONE] = { "uncompressed", NULL },
	[CODEC_SNAPPY] = { "snappy", run_snappy },
	[CODEC_GZIP] = { "gzip", run_gzip },
	[CODEC_LZO] = { "lzo", NULL },
	[CODEC_BROTLI] = { "brotli", run_brotli },
	[CODEC_LZ4] = { "lz4", run_lz4 },
	[CODEC_ZSTD] = { "zstd", run_zstd },
	[CODEC_LZ4_RAW] = { "lz4_raw", run_lz4_raw },
};

const char *codec_name(int codec)
{
	return codec >= 0 && codec < CODEC_N ? codecs[codec].name : NULL;
}

bool codec_known(int codec)
{
	return codec == CODEC_NONE || (codec_name(codec) && codecs[codec].run);
}

int codec_decode(struct codec_state *state, int codec, uint8_t *dst, size_t dst_len,
		 struct bytes src, struct error *err)
{
	const struct job j = { state, dst, dst_len, src.data, src.len };

	if (!codec_name(codec) || !codecs[codec].run)
		return error_set(err, ERR_UNSUPPORTED, "compression %d (%s)", codec,
				 codec_name(codec) ? codec_name(codec) : "unknown");
	return codecs[codec].run(&j, err);
}

/* ---- streams ---- */

struct growth {
	struct block *to;
	struct budget *budget;
	size_t len, max;
};

/* Grow the output. */
static int grow(struct growth *g, struct error *err)
{
	if (g->len == g->max)
		return error_set(err, ERR_LIMIT, "expands to more than %zu bytes",
				 g->max);
	if (g->len < g->to->cap)
		return 0;
	return block_reserve(g->to, g->budget, g->len + STEP, 1, err);
}

static size_t room_of(const struct growth *g)
{
	size_t cap = g->to->cap < g->max ? g->to->cap : g->max;

	return cap - g->len < STEP ? cap - g->len : STEP;
}

static int inflate_step(struct growth *g, z_stream *z, bool gzip, bool *ret_end,
			struct error *err)
{
	int rc;

	if (grow(g, err))
		return -1;
	z->next_out = g->to->data + g->len;
	z->avail_out = (uInt)room_of(g);
	rc = inflate(z, Z_NO_FLUSH);
	g->len = (size_t)(z->next_out - g->to->data);
	*ret_end = rc == Z_STREAM_END && (!gzip || !z->avail_in);
	if (rc == Z_STREAM_END && !*ret_end)
		rc = inflateReset(z);
	return rc == Z_OK || rc == Z_STREAM_END ? 0
						: damaged(gzip ? "gzip" : "deflate", err);
}

static int expand_zlib(struct growth *g, struct bytes from, bool gzip, struct error *err)
{
	z_stream z = { .next_in = (Bytef *)(uintptr_t)from.data,
		       .avail_in = (uInt)from.len };
	bool end = false;
	int rc = 0;

	if (from.len > UINT32_MAX)
		return error_set(err, ERR_LIMIT, "more than 4 GiB of compressed bytes");
	if (inflateInit2(&z, gzip ? GZIP_OR_ZLIB : -MAX_WBITS) != Z_OK)
		abort();
	while (!rc && !end)
		rc = inflate_step(g, &z, gzip, &end, err);
	inflateEnd(&z);
	return rc;
}

static int read_bytes(void *ctx, void *data, size_t len, size_t *ret_len,
		      struct error *err)
{
	struct bytes *from = ctx;

	*ret_len = len < from->len ? len : from->len;
	memcpy(data, from->data, *ret_len);
	from->data += *ret_len;
	from->len -= *ret_len;
	return 0;
}

static int expand_zstd(struct growth *g, struct bytes from, struct error *err)
{
	cleanup_zstd_reader struct zstd_reader *r = NULL;
	struct zstd_source source = { read_bytes, &from };

	if (zstd_reader_new(&r, &source, err))
		return -1;
	for (size_t n = 1; n; g->len += n) {
		n = 0;
		if (grow(g, err) ||
		    zstd_read(r, g->to->data + g->len, room_of(g), &n, err))
			return -1;
	}
	return 0;
}

static int expand_snappy(struct growth *g, struct bytes from, struct error *err)
{
	uint64_t len = 0;
	size_t i = 0;

	if (from.len < 5)
		return damaged("snappy", err);
	from.len -= 4;
	do {
		if (i >= from.len || i > 4)
			return damaged("snappy", err);
		len |= (uint64_t)(from.data[i] & 127) << (7 * i);
	} while (from.data[i++] & 128);
	if (len > g->max)
		return error_set(err, ERR_LIMIT, "expands to more than %zu bytes",
				 g->max);
	g->len = len;
	if (block_reserve(g->to, g->budget, len, 1, err) ||
	    snappy_decode(g->to->data, len, from.data, from.len, err))
		return -1;
	if (codec_crc32(0, g->to->data, len) != big32(from.data + from.len))
		return error_set(err, ERR_FORMAT, "snappy: damaged, by its checksum");
	return 0;
}

int codec_expand(struct block *to, size_t *ret_len, enum stream kind, struct bytes from,
		 struct budget *budget, struct error *err)
{
	struct growth g = { to, budget, 0, MAX_STREAM };
	int rc;

	if (kind == STREAM_ZSTD)
		rc = expand_zstd(&g, from, err);
	else if (kind == STREAM_SNAPPY)
		rc = expand_snappy(&g, from, err);
	else
		rc = expand_zlib(&g, from, kind == STREAM_GZIP, err);
	*ret_len = g.len;
	return rc;
}

void codec_release(struct codec_state *state)
{
	if (state->zlib)
		inflateEnd(state->zlib);
	free(state->zlib);
	zstd_block_free(state->zstd);
	*state = (struct codec_state){ 0 };
}

uint32_t codec_crc32(uint32_t crc, const void *data, size_t len)
{
	return (uint32_t)crc32_z(crc, data, len);
}
