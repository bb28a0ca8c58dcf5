/*
 * lz.h - copy functions of LZ77 decoders, for outputs with BLOCK_SLACK after them.
 */
#ifndef ARROW_LZ_H
#define ARROW_LZ_H

#include <stdbool.h>
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

/*
 * The same at *out, which is advanced. False if the match begins before `begin` or ends
 * after `end`: damaged input.
 */
static inline bool lz_match(const uint8_t *begin, uint8_t **out, const uint8_t *end,
			    size_t offset, size_t len)
{
	if (!offset || offset > (size_t)(*out - begin) || len > (size_t)(end - *out))
		return false;
	lz_copy_back(*out, offset, len);
	*out += len;
	return true;
}

#endif
