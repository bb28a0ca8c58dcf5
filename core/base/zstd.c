/* Compresses and decompresses streams: zstd.h. */
#include "base/zstd.h"

#include <stdbool.h>
#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/xmalloc.h"

enum { PIECE = 64 * 1024 };

struct zstd_writer {
	ZSTD_CStream *stream;
	struct zstd_sink to;
	unsigned char piece[PIECE];
};

struct zstd_reader {
	ZSTD_DStream *stream;
	struct zstd_source from;
	ZSTD_inBuffer in;
	bool inside; /* a frame has begun and not ended */
	bool ended;  /* the source has */
	unsigned char piece[PIECE];
};

static int fail(struct error *err, size_t code)
{
	enum error_kind kind = ERR_FORMAT;

	if (ZSTD_getErrorCode(code) == ZSTD_error_frameParameter_windowTooLarge)
		kind = ERR_LIMIT;
	return error_set(err, kind, "zstd: %s", ZSTD_getErrorName(code));
}

/* ---- writing ---- */

int zstd_writer_new(struct zstd_writer **ret, int level, int64_t size,
		    const struct zstd_sink *to, struct error *err)
{
	struct zstd_writer *w = xmalloc(sizeof(*w));
	size_t code;

	w->to = *to;
	w->stream = ZSTD_createCStream();
	if (!w->stream)
		abort();
	code = ZSTD_CCtx_setParameter(w->stream, ZSTD_c_compressionLevel, level);
	if (!ZSTD_isError(code) && size > (int64_t)1 << ZSTD_WINDOW_LOG)
		code = ZSTD_CCtx_setParameter(w->stream, ZSTD_c_windowLog,
					      ZSTD_WINDOW_LOG);
	if (!ZSTD_isError(code))
		code = ZSTD_CCtx_setPledgedSrcSize(w->stream, (unsigned long long)size);
	if (ZSTD_isError(code)) {
		zstd_writer_free(w);
		return fail(err, code);
	}
	*ret = w;
	return 0;
}

static int push(struct zstd_writer *w, ZSTD_inBuffer *in, ZSTD_EndDirective how,
		struct error *err)
{
	size_t left;

	do {
		ZSTD_outBuffer out = { w->piece, sizeof(w->piece), 0 };

		left = ZSTD_compressStream2(w->stream, &out, in, how);
		if (ZSTD_isError(left))
			return fail(err, left);
		if (out.pos && w->to.write(w->to.ctx, w->piece, out.pos, err))
			return -1;
	} while (in->pos < in->size || (how == ZSTD_e_end && left));
	return 0;
}

int zstd_write(struct zstd_writer *w, const void *data, size_t len, struct error *err)
{
	ZSTD_inBuffer in = { data, len, 0 };

	return len ? push(w, &in, ZSTD_e_continue, err) : 0;
}

int zstd_finish(struct zstd_writer *w, struct error *err)
{
	ZSTD_inBuffer in = { "", 0, 0 };

	return push(w, &in, ZSTD_e_end, err);
}

void zstd_writer_free(struct zstd_writer *w)
{
	if (!w)
		return;
	ZSTD_freeCStream(w->stream);
	free(w);
}

/* ---- reading ---- */

int zstd_reader_new(struct zstd_reader **ret, const struct zstd_source *from,
		    struct error *err)
{
	struct zstd_reader *r = xmalloc(sizeof(*r));
	size_t code;

	r->from = *from;
	r->in = (ZSTD_inBuffer){ r->piece, 0, 0 };
	r->inside = r->ended = false;
	r->stream = ZSTD_createDStream();
	if (!r->stream)
		abort();
	code = ZSTD_DCtx_setParameter(r->stream, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG);
	if (ZSTD_isError(code)) {
		zstd_reader_free(r);
		return fail(err, code);
	}
	*ret = r;
	return 0;
}

static int fill(struct zstd_reader *r, struct error *err)
{
	size_t n = 0;

	if (r->from.read(r->from.ctx, r->piece, sizeof(r->piece), &n, err))
		return -1;
	r->in = (ZSTD_inBuffer){ r->piece, n, 0 };
	r->ended = n == 0;
	return 0;
}

int zstd_read(struct zstd_reader *r, void *data, size_t len, size_t *ret_len,
	      struct error *err)
{
	ZSTD_outBuffer out = { data, len, 0 };

	while (out.pos == 0 && len) {
		size_t code;

		if (r->in.pos == r->in.size && !r->ended && fill(r, err))
			return -1;
		if (r->ended && !r->inside)
			break;
		code = ZSTD_decompressStream(r->stream, &out, &r->in);
		if (ZSTD_isError(code))
			return fail(err, code);
		r->inside = code != 0;
		if (r->ended && r->inside && !out.pos)
			return error_set(err, ERR_FORMAT, "zstd: truncated data");
	}
	*ret_len = out.pos;
	return 0;
}

void zstd_reader_free(struct zstd_reader *r)
{
	if (!r)
		return;
	ZSTD_freeDStream(r->stream);
	free(r);
}

/* ---- blocks ---- */

int zstd_block_decode(struct zstd_block **ctx, void *dst, size_t dst_len, const void *src,
		      size_t src_len, struct error *err)
{
	size_t n;

	if (!*ctx)
		*ctx = (struct zstd_block *)ZSTD_createDCtx();
	if (!*ctx)
		abort();
	n = ZSTD_decompressDCtx((ZSTD_DCtx *)*ctx, dst, dst_len, src, src_len);
	if (ZSTD_isError(n))
		return fail(err, n);
	if (n != dst_len)
		return error_set(err, ERR_FORMAT, "zstd: %zu bytes inside, %zu expected",
				 n, dst_len);
	return 0;
}

void zstd_block_free(struct zstd_block *ctx)
{
	ZSTD_freeDCtx((ZSTD_DCtx *)ctx);
}

/* ---- frames ---- */

size_t zstd_frame_bound(size_t len)
{
	return ZSTD_compressBound(len);
}

size_t zstd_frame(struct zstd_frame **ctx, void *dst, const void *src, size_t len)
{
	ZSTD_CCtx *c = (ZSTD_CCtx *)*ctx;
	size_t n;

	if (!c) {
		*ctx = (struct zstd_frame *)(c = ZSTD_createCCtx());
		if (!c ||
		    ZSTD_isError(ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, 1)) ||
		    ZSTD_isError(ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1)))
			abort();
	}
	n = ZSTD_compress2(c, dst, ZSTD_compressBound(len), src, len);
	if (ZSTD_isError(n))
		abort();
	return n;
}

void zstd_frame_free(struct zstd_frame *ctx)
{
	ZSTD_freeCCtx((ZSTD_CCtx *)ctx);
}
