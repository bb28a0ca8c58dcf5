/*
 * lz.h - copy functions of LZ77 decoders, for outputs with BLOCK_SLACK after them.
 */
#ifndef ARROW_LZ_H
#define ARROW_LZ_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline void lz_copy16(uint8_t *to, const uint8_t *from)
{
	uint64_t v[2];

	memcpy(v, from, sizeof(v));
	memcpy(to, v, sizeof(v));
}

/*
 * Copy len bytes from `offset` (at least 1) bytes before out; if len > offset the bytes
 * repeat. Writes up to 15 bytes too many.
 */
static inline void lz_copy_back(uint8_t *out, size_t offset, size_t len)
{
	const uint8_t *from = out - offset;
	uint8_t *end = out + len;

	/* Double the distance until 16 bytes are independent of what they overwrite. */
	while (out < end && (size_t)(out - from) < 16) {
		size_t n = (size_t)(out - from);

		lz_copy16(out, from);
		out += n;
	}
	for (; out < end; out += 16, from += 16)
		lz_copy16(out, from);
}

#endif
