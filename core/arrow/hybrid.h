/*
 * hybrid.h - runs and packed groups of small integers (Encodings.md, "RLE").
 *
 * Levels, dictionary indexes and booleans. Bytes before the end are read in pieces of
 * 8: BLOCK_SLACK bytes after it must be readable.
 */
#ifndef ARROW_HYBRID_H
#define ARROW_HYBRID_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct hybrid {
	const uint8_t *p, *end;
	unsigned width;   /* bits, 0 to 32 */
	uint64_t repeats; /* left of a run of `value`s */
	uint32_t value;
	uint64_t packed; /* left of a packed group that begins `bit` bits after p */
	unsigned bit;
};

/* Take up to n values; all return how many. Fewer: the end, or damaged data. */
size_t hybrid_u32(struct hybrid *h, uint32_t *out, size_t n);
size_t hybrid_u8(struct hybrid *h, uint8_t *out, size_t n); /* of width <= 8 */
/* Values of width 1, as bits appended at `at`. */
size_t hybrid_bits(struct hybrid *h, uint8_t *bits, uint64_t at, size_t n);

#endif
