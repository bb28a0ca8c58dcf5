/* crc.c - CRC-32, CRC-32C and CRC-64/NVME, by PCLMULQDQ or a table (crypto/crc.h). */
#include "crypto/crc.h"

#include <stdbool.h>
#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

/*
 * table: the CRC of each 4-bit value. fold: the factors that move 128 bits by 512 and by
 * 128, for the low and the high half: x^(64+D-1) and x^(D-1) modulo the polynomial, bit i
 * being the coefficient of x^(63-i). tests/unit/net/test_crc.c verifies them by the
 * definition.
 */
static const struct {
	uint64_t ones;
	uint64_t table[16];
	uint64_t fold[4];
} polynomials[CRC_TYPES] = {
	[CRC_32] = { UINT32_MAX,
		     { 0x0, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
		       0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8,
		       0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c },
		     { 0x653d982200000000, 0xcad38e8f00000000, 0x65673b4600000000,
		       0x9ba54c6f00000000 } },
	[CRC_32C] = { UINT32_MAX,
		      { 0x0, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
			0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6,
			0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75 },
		      { 0x1c19243b00000000, 0x75bba45b00000000, 0x3743f7bd00000000,
			0x3171d43000000000 } },
	[CRC_64NVME] = { UINT64_MAX,
			 { 0x0, 0x78e0ff3b88be6f81, 0xf1c1fe77117cdf02,
			   0x8921014c99c2b083, 0xd75adabd7a6e2d6f, 0xafba2586f2d042ee,
			   0x269b24ca6b12f26d, 0x5e7bdbf1e3ac9dec, 0x9a6c9329ac4bc9b5,
			   0xe28c6c1224f5a634, 0x6bad6d5ebd3716b7, 0x134d926535897936,
			   0x4d364994d625e4da, 0x35d6b6af5e9b8b5b, 0xbcf7b7e3c7593bd8,
			   0xc41748d84fe75459 },
			 { 0x0c32cdb31e18a84a, 0x62242240ace5045a, 0xeadc41fd2ba3d420,
			   0x21e9761e252621ac } },
};

static uint64_t crc_plain(enum crc_type type, uint64_t crc, const unsigned char *p,
			  size_t len)
{
	const uint64_t *table = polynomials[type].table;

	for (; len > 0; len--, p++) {
		crc ^= *p;
		crc = crc >> 4 ^ table[crc & 15];
		crc = crc >> 4 ^ table[crc & 15];
	}
	return crc;
}

#ifdef __x86_64__
enum { LANES = 4, BLOCK = 16, STRIDE = LANES * BLOCK };

#define WITH_CLMUL __attribute__((target("pclmul,sse2")))

WITH_CLMUL static inline __m128i fold(__m128i x, __m128i by, __m128i next)
{
	return _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(x, by, 0x00),
					   _mm_clmulepi64_si128(x, by, 0x11)),
			     next);
}

WITH_CLMUL static inline __m128i load(const unsigned char *p)
{
	return _mm_loadu_si128((const __m128i *)(const void *)p);
}

/* Fold whole blocks, at least STRIDE bytes, into 16 bytes with the same CRC from 0. */
WITH_CLMUL static void reduce(enum crc_type type, uint64_t crc, const unsigned char *p,
			      size_t len, unsigned char out[BLOCK])
{
	const unsigned char *k = (const unsigned char *)polynomials[type].fold;
	const __m128i by_stride = load(k), by_block = load(k + BLOCK);
	__m128i x[LANES];

	for (int i = 0; i < LANES; i++)
		x[i] = load(p + i * BLOCK);
	x[0] = _mm_xor_si128(x[0], _mm_cvtsi64_si128((long long)crc));
	for (p += STRIDE, len -= STRIDE; len >= STRIDE; p += STRIDE, len -= STRIDE)
		for (int i = 0; i < LANES; i++)
			x[i] = fold(x[i], by_stride, load(p + i * BLOCK));
	for (int i = 1; i < LANES; i++)
		x[0] = fold(x[0], by_block, x[i]);
	for (; len >= BLOCK; p += BLOCK, len -= BLOCK)
		x[0] = fold(x[0], by_block, load(p));
	_mm_storeu_si128((__m128i *)(void *)out, x[0]);
}

static uint64_t crc_folded(enum crc_type type, uint64_t crc, const unsigned char *p,
			   size_t len)
{
	size_t blocks = len / BLOCK * BLOCK;
	unsigned char last[BLOCK];

	reduce(type, crc, p, blocks, last);
	crc = crc_plain(type, 0, last, BLOCK);
	return crc_plain(type, crc, p + blocks, len - blocks);
}

static bool can_fold(size_t len)
{
	return len >= STRIDE && __builtin_cpu_supports("pclmul");
}
#else
static uint64_t crc_folded(enum crc_type type, uint64_t crc, const unsigned char *p,
			   size_t len)
{
	return crc_plain(type, crc, p, len);
}

static bool can_fold(size_t len)
{
	return false;
}
#endif

uint64_t crc_add(enum crc_type type, uint64_t crc, const void *data, size_t len)
{
	uint64_t ones = polynomials[type].ones;

	crc ^= ones;
	crc = can_fold(len) ? crc_folded(type, crc, data, len)
			    : crc_plain(type, crc, data, len);
	return crc ^ ones;
}
