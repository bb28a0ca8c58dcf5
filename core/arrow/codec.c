/* Decompresses pages: codec.h. */
#include "arrow/codec.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "arrow/lz4.h"
#include "arrow/snappy.h"
#include "base/xmalloc.h"
#include "base/zstd.h"

enum { GZIP_OR_ZLIB = 32 + MAX_WBITS, HADOOP_HEADER = 8 };

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

/* Old writers used the same number for blocks without Hadoop's framing. */
static int run_lz4(const struct job *j, struct error *err)
{
	return lz4_hadoop(j) ? 0 : run_lz4_raw(j, err);
}

static int run_zstd(const struct job *j, struct error *err)
{
	return zstd_block_decode(&j->state->zstd, j->dst, j->dst_len, j->src, j->src_len,
				 err);
}

static const struct {
	const char *name;
	int (*run)(const struct job *j, struct error *err);
} codecs[CODEC_N] = {
	[CODEC_NONE] = { "uncompressed", NULL },
	[CODEC_SNAPPY] = { "snappy", run_snappy },
	[CODEC_GZIP] = { "gzip", run_gzip },
	[CODEC_LZO] = { "lzo", NULL },
	[CODEC_BROTLI] = { "brotli", NULL },
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
