/* Decodes runs and bit-packed groups: hybrid.h. */
#include "arrow/hybrid.h"

#include <stdbool.h>

#include "arrow/bits.h"

enum { GROUP = 32 };

/* Prepare the next run or group; false at the end, which may cut a packed group short. */
static bool next_run(struct hybrid *h)
{
	uint64_t header = 0, have;
	unsigned bytes = (h->width + 7) / 8;

	h->p += (h->bit + 7) / 8;
	h->bit = 0;
	for (unsigned shift = 0;; shift += 7) {
		if (h->p >= h->end || shift > 28)
			return false;
		header |= (uint64_t)(*h->p & 0x7f) << shift;
		if (!(*h->p++ & 0x80))
			break;
	}
	have = (uint64_t)(h->end - h->p);
	if (header & 1) {
		h->packed = (header >> 1) * 8;
		if (h->width && h->packed > have * 8 / h->width)
			h->packed = have * 8 / h->width;
		return h->packed > 0;
	}
	if (bytes > have)
		return false;
	h->repeats = header >> 1;
	h->value = bits_load_u32(h->p) & (uint32_t)((UINT64_C(1) << (8 * bytes)) - 1);
	h->p += bytes;
	return h->repeats > 0;
}

static inline bool ready(struct hybrid *h)
{
	return h->repeats || h->packed || next_run(h);
}

static inline void consume_packed(struct hybrid *h, size_t n)
{
	uint64_t bits = h->bit + (uint64_t)n * h->width;

	h->packed -= n;
	h->p += bits / 8;
	h->bit = bits % 8;
	if (!h->packed && h->bit) {
		h->p++;
		h->bit = 0;
	}
}

/* Unpack 32 values from a byte boundary; `width` is constant when inlined. */
static inline __attribute__((always_inline)) void unpack(const uint8_t *p, uint32_t *out,
							 const unsigned width)
{
	const uint64_t mask = (UINT64_C(1) << width) - 1;

#pragma GCC unroll 32
	for (unsigned i = 0; i < GROUP; i++)
		out[i] = (uint32_t)(bits_load_u64(p + i * width / 8) >> (i * width % 8) &
				    mask);
}

#define UNPACK(w)                                               \
	static void unpack_##w(const uint8_t *p, uint32_t *out) \
	{                                                       \
		unpack(p, out, w);                              \
	}
/* clang-format off */
#define WIDTHS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) \
	X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28)  \
	X(29) X(30) X(31) X(32)
#define ENTRY(w) unpack_##w,
/* clang-format on */
WIDTHS(UNPACK)
static void (*const unpackers[])(const uint8_t *p, uint32_t *out) = { NULL,
								      WIDTHS(ENTRY) };

static uint32_t one(const struct hybrid *h, size_t i)
{
	uint64_t bit = h->bit + (uint64_t)i * h->width;

	return (uint32_t)(bits_load_u64(h->p + bit / 8) >> (bit % 8) &
			  ((UINT64_C(1) << h->width) - 1));
}

static void take_packed(struct hybrid *h, uint32_t *out, size_t n)
{
	size_t i = 0;

	if (!h->width) {
		memset(out, 0, n * sizeof(*out));
	} else {
		for (; i < n && (h->bit + i * h->width) % 8; i++)
			out[i] = one(h, i);
		for (; i + GROUP <= n; i += GROUP)
			unpackers[h->width](h->p + (h->bit + i * h->width) / 8, out + i);
		for (; i < n; i++)
			out[i] = one(h, i);
	}
	consume_packed(h, n);
}

size_t hybrid_u32(struct hybrid *h, uint32_t *out, size_t n)
{
	size_t done = 0;

	while (done < n && ready(h)) {
		size_t k = n - done;

		if (h->repeats) {
			k = k < h->repeats ? k : (size_t)h->repeats;
			for (size_t i = 0; i < k; i++)
				out[done + i] = h->value;
			h->repeats -= k;
		} else {
			k = k < h->packed ? k : (size_t)h->packed;
			take_packed(h, out + done, k);
		}
		done += k;
	}
	return done;
}

static void spread_bits(struct hybrid *h, uint8_t *out, size_t n)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	size_t i = 0;

	/* Expand eight values of one bit to bytes. */
	for (; h->width == 1 && i + 8 <= n; i += 8) {
		uint64_t byte = bits_get(h->p, h->bit + i, 8);
		uint64_t v = (byte * ones & UINT64_C(0x8040201008040201)) +
			     UINT64_C(0x7f7f7f7f7f7f7f7f);

		v = ((v | (byte * ones & UINT64_C(0x8040201008040201))) >> 7) & ones;
		memcpy(out + i, &v, sizeof(v));
	}
	for (; i < n; i++)
		out[i] = (uint8_t)one(h, i);
	consume_packed(h, n);
}

size_t hybrid_u8(struct hybrid *h, uint8_t *out, size_t n)
{
	size_t done = 0;

	while (done < n && ready(h)) {
		size_t k = n - done;

		if (h->repeats) {
			k = k < h->repeats ? k : (size_t)h->repeats;
			memset(out + done, (int)h->value, k);
			h->repeats -= k;
		} else {
			k = k < h->packed ? k : (size_t)h->packed;
			spread_bits(h, out + done, k);
		}
		done += k;
	}
	return done;
}

size_t hybrid_bits(struct hybrid *h, uint8_t *bits, uint64_t at, size_t n)
{
	size_t done = 0;

	while (done < n && ready(h)) {
		size_t k = n - done;

		if (h->repeats) {
			k = k < h->repeats ? k : (size_t)h->repeats;
			bits_fill(bits, at + done, h->value & 1, k);
			h->repeats -= k;
		} else {
			k = k < h->packed ? k : (size_t)h->packed;
			k = k < 56 ? k : 56;
			bits_put(bits, at + done, bits_get(h->p, h->bit, (unsigned)k),
				 (unsigned)k);
			consume_packed(h, k);
		}
		done += k;
	}
	return done;
}
