/*
 * LZ4 frames of any bytes, repeated as the first says, so that blocks and far matches
 * occur: they stay within their bound and can be decoded.
 */
#include <string.h>

#include "arrow/bits.h"
#include "arrow/lz4.h"
#include "base/cleanup.h"
#include "base/xmalloc.h"
#include "tests/fuzz/fuzz.h"

enum { HEADER = 7, BLOCK = 4 << 20, REPEATS = 40 };

static void check_blocks(const uint8_t *want, size_t len, const uint8_t *at)
{
	uint32_t size;

	while ((size = bits_load_u32(at)) != 0) {
		size_t n = len < BLOCK ? len : BLOCK, part = size & 0x7fffffff;
		cleanup_free uint8_t *out = xmalloc(n);

		if (size == part)
			FUZZ_CHECK(lz4_decode(out, n, at + 4, part));
		else
			memcpy(out, at + 4, part);
		FUZZ_CHECK((size == part || part == n) && !memcmp(out, want, n));
		want += n;
		len -= n;
		at += 4 + part;
	}
	FUZZ_CHECK(!len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t times = size ? data[0] % REPEATS + 1u : 1;
	cleanup_free uint8_t *src = xmalloc(times * size + 1);
	cleanup_free uint8_t *frame = xmalloc(lz4_frame_bound(times * size));
	size_t n;

	for (size_t i = 0; size && i < times; i++)
		memcpy(src + i * size, data, size);
	n = lz4_frame(frame, src, times * size);
	FUZZ_CHECK(n <= lz4_frame_bound(times * size) && n >= HEADER + 4);
	check_blocks(src, times * size, frame + HEADER);
	return 0;
}
