/* Converts physical values to Arrow's: convert.h. */
#include "arrow/convert.h"

#include <string.h>

#include "arrow/bits.h"

#define DAY_NS UINT64_C(86400000000000)

enum { EPOCH_JULIAN = 2440588 };

static void narrow_1(const struct leaf_type *leaf, void *to, const void *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((uint8_t *)to)[i] = ((const uint8_t *)from)[4 * i];
}

static void narrow_2(const struct leaf_type *leaf, void *to, const void *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		memcpy((uint8_t *)to + 2 * i, (const uint8_t *)from + 4 * i, 2);
}

/* Nanoseconds within a day, and the day; overflow wraps, as in pyarrow. */
static void int96(const struct leaf_type *leaf, void *to, const void *from, size_t n)
{
	const bool us = leaf->field->unit == ARROW_US;
	const uint8_t *p = from;

	for (size_t i = 0; i < n; i++, p += 12) {
		uint64_t days = (uint64_t)((int64_t)bits_load_u32(p + 8) - EPOCH_JULIAN);
		int64_t ns = (int64_t)bits_load_u64(p);
		uint64_t v = us ? days * (DAY_NS / 1000) + (uint64_t)(ns / 1000)
				: days * DAY_NS + (uint64_t)ns;

		memcpy((uint8_t *)to + 8 * i, &v, sizeof(v));
	}
}

static void widen(const struct leaf_type *leaf, void *to, const void *from, size_t n)
{
	uint32_t width = leaf->field->width;

	for (size_t i = 0; i < n; i++) {
		const uint8_t *p = (const uint8_t *)from + i * leaf->width;
		int64_t v = leaf->width == 4 ? (int32_t)bits_load_u32(p)
					     : (int64_t)bits_load_u64(p);
		uint8_t *out = (uint8_t *)to + i * width;

		memset(out, v < 0 ? 0xff : 0, width);
		memcpy(out, &v, sizeof(v));
	}
}

static void reverse(uint8_t *to, uint32_t width, const uint8_t *from, size_t len)
{
	size_t n = len < width ? len : width;

	memset(to, len && from[0] & 0x80 ? 0xff : 0, width);
	for (size_t i = 0; i < n; i++)
		to[i] = from[len - 1 - i];
}

static void big_endian(const struct leaf_type *leaf, void *to, const void *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		reverse((uint8_t *)to + i * leaf->field->width, leaf->field->width,
			(const uint8_t *)from + i * leaf->width, leaf->width);
}

int convert_decimal(void *to, uint32_t width, const uint8_t *from, size_t len,
		    struct error *err)
{
	while (len > width && (from[0] == 0 || from[0] == 0xff)) {
		from++;
		len--;
	}
	if (!len || len > width)
		return error_set(err, ERR_FORMAT, "a decimal of %zu bytes", len);
	reverse(to, width, from, len);
	return 0;
}

convert_fn *convert_of(const struct leaf_type *leaf)
{
	const struct field *f = leaf->field;

	if (leaf->physical == PHYS_INT96)
		return int96;
	if (f->kind == ARROW_DECIMAL)
		return leaf->physical == PHYS_FIXED ? big_endian : widen;
	if (leaf->physical == PHYS_INT32 && f->width == 1)
		return narrow_1;
	if (leaf->physical == PHYS_INT32 && f->width == 2)
		return narrow_2;
	return NULL;
}

#define SPREAD(type)                                                                     \
	static void spread_##type(type *v, const uint8_t *bits, uint64_t at, uint64_t n, \
				  uint64_t m)                                            \
	{                                                                                \
		while (n > m) {                                                          \
			bool valid = bit_get(bits, at + --n);                            \
			type kept = m ? v[m - 1] : (type){ 0 };                          \
                                                                                         \
			v[n] = valid ? kept : (type){ 0 };                               \
			m -= valid;                                                      \
		}                                                                        \
	}

SPREAD(uint8_t)
SPREAD(uint16_t)
SPREAD(uint32_t)
SPREAD(uint64_t)

static void spread_any(uint8_t *v, uint32_t width, const uint8_t *bits, uint64_t at,
		       uint64_t n, uint64_t m)
{
	while (n > m) {
		n--;
		if (bit_get(bits, at + n) && m)
			memmove(v + n * width, v + --m * width, width);
		else
			memset(v + n * width, 0, width);
	}
}

void convert_spread(void *values, uint32_t width, const uint8_t *bits, uint64_t at,
		    uint64_t n, uint64_t m)
{
	switch (width) {
	case 1:
		spread_uint8_t(values, bits, at, n, m);
		break;
	case 2:
		spread_uint16_t(values, bits, at, n, m);
		break;
	case 4:
		spread_uint32_t(values, bits, at, n, m);
		break;
	case 8:
		spread_uint64_t(values, bits, at, n, m);
		break;
	default:
		spread_any(values, width, bits, at, n, m);
	}
}
