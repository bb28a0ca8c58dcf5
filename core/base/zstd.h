/*
 * zstd.h - zstd frames (RFC 8878), as streams.
 *
 * Equal bytes, level and size give equal frames on every machine.
 */
#ifndef BASE_ZSTD_H
#define BASE_ZSTD_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"

/* 8 MiB, also the limit for reading. */
enum { ZSTD_WINDOW_LOG = 23 };

struct zstd_sink {
	int (*write)(void *ctx, const void *data, size_t len, struct error *err);
	void *ctx;
};

struct zstd_writer;

/* `size`: bytes that will be written, exactly; goes into the frame. level 1 to 19. */
MUST_CHECK int zstd_writer_new(struct zstd_writer **ret, int level, int64_t size,
			       const struct zstd_sink *to, struct error *err);
MUST_CHECK int zstd_write(struct zstd_writer *w, const void *data, size_t len,
			  struct error *err);
MUST_CHECK int zstd_finish(struct zstd_writer *w, struct error *err);
void zstd_writer_free(struct zstd_writer *w); /* NULL is fine */

struct zstd_source {
	/* Up to len bytes; *ret_len 0: the end. */
	int (*read)(void *ctx, void *data, size_t len, size_t *ret_len,
		    struct error *err);
	void *ctx;
};

struct zstd_reader;

MUST_CHECK int zstd_reader_new(struct zstd_reader **ret, const struct zstd_source *from,
			       struct error *err);
/*
 * Read up to len bytes; *ret_len 0: the end of the last frame and of the source.
 * ERR_FORMAT: not zstd, damaged or truncated; ERR_LIMIT: a window larger than
 * ZSTD_WINDOW_LOG.
 */
MUST_CHECK int zstd_read(struct zstd_reader *r, void *data, size_t len, size_t *ret_len,
			 struct error *err);
void zstd_reader_free(struct zstd_reader *r); /* NULL is fine */

/*
 * Decode whole frames in memory, with any window. ERR_FORMAT unless dst is filled
 * exactly. *ctx is NULL at first, and reused.
 */
struct zstd_block;

MUST_CHECK int zstd_block_decode(struct zstd_block **ctx, void *dst, size_t dst_len,
				 const void *src, size_t src_len, struct error *err);
void zstd_block_free(struct zstd_block *ctx); /* NULL is fine */

/*
 * Write one frame of level 1, the fastest, with a checksum, and return its length. dst holds
 * zstd_frame_bound(len) bytes. *ctx is NULL at first, and reused.
 */
struct zstd_frame;

size_t zstd_frame(struct zstd_frame **ctx, void *dst, const void *src, size_t len);
size_t zstd_frame_bound(size_t len);
void zstd_frame_free(struct zstd_frame *ctx); /* NULL is fine */

CLEANUP(zstd_writer, struct zstd_writer *, zstd_writer_free);
CLEANUP(zstd_reader, struct zstd_reader *, zstd_reader_free);
#define cleanup_zstd_writer __attribute__((cleanup(cleanup_zstd_writerp)))
#define cleanup_zstd_reader __attribute__((cleanup(cleanup_zstd_readerp)))

#endif
