/* LZ4's blocks and frames, by liblz4: lz4.h. */
#include "arrow/lz4.h"

#include <limits.h>
#include <lz4.h>
#include <lz4frame.h>
#include <stdlib.h>

static const LZ4F_preferences_t independent = {
	.frameInfo = { .blockSizeID = LZ4F_max4MB, .blockMode = LZ4F_blockIndependent },
};

bool lz4_decode(uint8_t *dst, size_t dst_len, const uint8_t *src, size_t src_len)
{
	if (dst_len > INT_MAX || src_len > INT_MAX)
		return false;
	return LZ4_decompress_safe((const char *)src, (char *)dst, (int)src_len,
				   (int)dst_len) == (int)dst_len;
}

size_t lz4_frame_bound(size_t len)
{
	return LZ4F_compressFrameBound(len, &independent);
}

/* Fails only if dst is too small. */
size_t lz4_frame(uint8_t *dst, const uint8_t *src, size_t len)
{
	size_t n = LZ4F_compressFrame(dst, lz4_frame_bound(len), src, len, &independent);

	if (LZ4F_isError(n))
		abort();
	return n;
}
