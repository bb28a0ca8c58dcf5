#include "local/hash.h"

#include <stdint.h>
#include <string.h>

static uint32_t rol(uint32_t v, int n)
{
	return v << n | v >> (32 - n);
}

static void block(uint32_t h[5], const unsigned char *p)
{
	static const uint32_t k[4] = { 0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6 };
	uint32_t w[80], a = h[0], b = h[1], c = h[2], d = h[3], e = h[4], f, t;

	for (int i = 0; i < 16; i++, p += 4)
		w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 |
		       p[3];
	for (int i = 16; i < 80; i++)
		w[i] = rol(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
	for (int i = 0; i < 80; i++) {
		if (i < 20)
			f = (b & c) | (~b & d);
		else if (i >= 40 && i < 60)
			f = (b & c) | (b & d) | (c & d);
		else
			f = b ^ c ^ d;
		t = rol(a, 5) + f + e + w[i] + k[i / 20];
		e = d;
		d = c;
		c = rol(b, 30);
		b = a;
		a = t;
	}
	h[0] += a;
	h[1] += b;
	h[2] += c;
	h[3] += d;
	h[4] += e;
}

void sha1(const void *data, size_t len, unsigned char ret[20])
{
	uint32_t h[5] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 };
	const unsigned char *p = data;
	unsigned char last[128] = { 0 };
	size_t rest = len % 64, size = rest < 56 ? 64 : 128;

	for (size_t n = len / 64; n; n--, p += 64)
		block(h, p);
	if (rest)
		memcpy(last, p, rest);
	last[rest] = 0x80;
	for (int i = 0; i < 8; i++)
		last[size - 1 - (size_t)i] = (unsigned char)((uint64_t)len * 8 >> 8 * i);
	for (size_t i = 0; i < size; i += 64)
		block(h, last + i);
	for (int i = 0; i < 20; i++)
		ret[i] = (unsigned char)(h[i / 4] >> (24 - 8 * (i % 4)));
}
