/*
 * bits.h - little-endian loads, bitmaps, and integers packed to a width.
 *
 * Loads may begin anywhere. Parquet and Arrow are little-endian, as is every machine
 * that this program is built for.
 */
#ifndef ARROW_BITS_H
#define ARROW_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t bits_load_u32(const void *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t bits_load_u64(const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Bytes a bitmap of n bits takes, in whole words. */
static inline uint64_t bits_bytes(uint64_t n)
{
	return (n + 63) / 64 * 8;
}

static inline bool bit_get(const uint8_t *bits, uint64_t i)
{
	return bits[i >> 3] >> (i & 7) & 1;
}

/* n (at most 56) bits at `at`; 8 bytes from there can be read. */
static inline uint64_t bits_get(const uint8_t *bits, uint64_t at, unsigned n)
{
	return bits_load_u64(bits + (at >> 3)) >> (at & 7) & (((uint64_t)1 << n) - 1);
}

/* Appends n (at most 56) bits at `at`; bits after them in the same 8 bytes become 0. */
static inline void bits_put(uint8_t *bits, uint64_t at, uint64_t v, unsigned n)
{
	uint8_t *p = bits + (at >> 3);
	uint64_t old = *p & ((1u << (at & 7)) - 1);

	v = (v & (((uint64_t)1 << n) - 1)) << (at & 7) | old;
	memcpy(p, &v, sizeof(v));
}

/* The same for any number of equal bits. */
static inline void bits_fill(uint8_t *bits, uint64_t at, bool value, uint64_t n)
{
	for (; n && at & 7; n--, at++)
		bits_put(bits, at, value, 1);
	memset(bits + (at >> 3), value ? 0xff : 0, n >> 3);
	if (n & 7)
		bits_put(bits, at + (n & ~(uint64_t)7), value ? 0x7f : 0, n & 7);
}

static inline uint64_t bits_count(const uint8_t *bits, uint64_t at, uint64_t n)
{
	uint64_t sum = 0;

	for (; n >= 56; n -= 56, at += 56)
		sum += (unsigned)__builtin_popcountll(bits_get(bits, at, 56));
	return sum + (unsigned)__builtin_popcountll(bits_get(bits, at, (unsigned)n));
}

#endif
