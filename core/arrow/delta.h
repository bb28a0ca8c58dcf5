/*
 * delta.h - integers as differences (Encodings.md, DELTA_BINARY_PACKED).
 *
 * Values wrap as unsigned 64-bit integers do; those of 32 bits are the low half.
 * BLOCK_SLACK bytes after `end` must be readable.
 */
#ifndef ARROW_DELTA_H
#define ARROW_DELTA_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { DELTA_GROUP = 32, DELTA_MAX_MINIBLOCKS = 512 };

struct delta {
	const uint8_t *p, *end;
	uint64_t total; /* values in all */
	uint64_t left;  /* of them, not yet taken */
	uint64_t last;
	uint64_t min_delta;
	uint32_t per_miniblock, n_miniblocks;
	uint32_t miniblock; /* the next one of this block; n_miniblocks: a block begins */
	uint32_t in_miniblock; /* values left in the current one, not yet unpacked */
	unsigned width;
	const uint8_t *widths;
	uint64_t group
		[DELTA_GROUP]; /* unpacked values, of which the last `ready` are left */
	unsigned ready;
	unsigned first; /* 1: the first value is to be taken */
};

/* Reads the header; `end` bounds what follows. */
MUST_CHECK int delta_begin(struct delta *d, const uint8_t *p, const uint8_t *end,
			   struct error *err);
/*
 * Takes up to n values; returns how many. Fewer: the end, or damaged data, after which
 * there are none.
 */
size_t delta_take(struct delta *d, uint64_t *out, size_t n);
/* After the last value: where the data after the numbers begins. */
const uint8_t *delta_end(const struct delta *d);

#endif
