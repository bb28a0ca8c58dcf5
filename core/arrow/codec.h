/*
 * codec.h - the compressions of Parquet's pages (Compression.md of parquet-format).
 *
 * One state serves any number of pages, one after another; { 0 } is a new one. It
 * keeps zstd's and zlib's contexts.
 */
#ifndef ARROW_CODEC_H
#define ARROW_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arrow/budget.h"
#include "base/error.h"

enum codec { /* the numbers of CompressionCodec in parquet.thrift */
	     CODEC_NONE,
	     CODEC_SNAPPY,
	     CODEC_GZIP,
	     CODEC_LZO,
	     CODEC_BROTLI,
	     CODEC_LZ4, /* Hadoop's framing, or none */
	     CODEC_ZSTD,
	     CODEC_LZ4_RAW,
	     CODEC_N,
};

struct codec_state {
	void *zlib; /* z_stream */
	struct zstd_block *zstd;
};

const char *codec_name(int codec); /* "snappy"; NULL for one that does not exist */
bool codec_known(int codec);       /* does codec_decode() support it? */

/*
 * Fills dst, which holds exactly dst_len bytes and room for BLOCK_SLACK more.
 * ERR_FORMAT: damaged, or of another length. ERR_UNSUPPORTED: LZO, CODEC_NONE.
 */
struct bytes {
	const uint8_t *data;
	size_t len;
};
MUST_CHECK int codec_decode(struct codec_state *state, int codec, uint8_t *dst,
			    size_t dst_len, struct bytes src, struct error *err);
void codec_release(struct codec_state *state);

enum stream {                 /* compressed streams of unknown size */
	      STREAM_DEFLATE, /* RFC 1951 */
	      STREAM_GZIP,    /* members, one after another */
	      STREAM_ZSTD,
	      STREAM_SNAPPY, /* Avro's: a block, and the CRC-32 of its contents */
};

/*
 * Decompress all of a stream. ERR_FORMAT: damaged; ERR_LIMIT: more than 1 GiB, or than
 * the budget has.
 */
MUST_CHECK int codec_expand(struct block *to, size_t *ret_len, enum stream kind,
			    struct bytes from, struct budget *budget, struct error *err);

/* The CRC-32 of gzip, which Parquet's pages have. */
uint32_t codec_crc32(uint32_t crc, const void *data, size_t len);

#endif
