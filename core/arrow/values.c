/* Decodes the values of pages; strings.c those of variable length: values.h. */
#include "arrow/values.h"

#include "arrow/bits.h"
#include "arrow/convert.h"
#include "arrow/strings.h"

enum { PIECE = 1024 };

static int short_of(struct error *err)
{
	return error_set(err, ERR_FORMAT, "the values end too early");
}

static bool is_strings(const struct leaf_type *t)
{
	return t->physical == PHYS_BYTE_ARRAY;
}

/* ---- begin a page ---- */

static int begin_indexes(struct values *v, struct error *err)
{
	if (!v->has_dictionary)
		return error_set(err, ERR_FORMAT,
				 "a page refers to a dictionary that does not exist");
	if (v->p == v->end) { /* a page of nulls */
		v->hybrid = (struct hybrid){ .p = v->p, .end = v->end };
		return 0;
	}
	if (*v->p > 32)
		return error_set(err, ERR_FORMAT, "indexes of %u bits", *v->p);
	v->hybrid = (struct hybrid){ .p = v->p + 1, .end = v->end, .width = *v->p };
	return 0;
}

static int begin_runs(struct values *v, struct error *err)
{
	size_t have = (size_t)(v->end - v->p);

	if (have < 4 || bits_load_u32(v->p) > have - 4)
		return have ? short_of(err) : 0;
	v->hybrid = (struct hybrid){
		.p = v->p + 4,
		.end = v->p + 4 + bits_load_u32(v->p),
		.width = 1,
	};
	return 0;
}

static int begin_delta(struct values *v, struct error *err)
{
	if (v->p == v->end) {
		v->delta = (struct delta){ 0 };
		return 0;
	}
	return delta_begin(&v->delta, v->p, v->end, err);
}

static int begin_split(struct values *v, struct error *err)
{
	v->split_at = 0;
	v->split_n = (size_t)(v->end - v->p) / v->type->width;
	if (v->split_n * v->type->width != (size_t)(v->end - v->p))
		return error_set(err, ERR_FORMAT,
				 "a page of %zu bytes for values of %u bytes",
				 (size_t)(v->end - v->p), v->type->width);
	return 0;
}

static int begin_plain(struct values *v, struct error *err)
{
	v->hybrid = (struct hybrid){ .p = v->p, .end = v->end, .width = 1 };
	v->hybrid.packed = (uint64_t)(v->end - v->p) * 8;
	return 0;
}

#define ON(physical) (1u << (physical))
#define ALL_FIXED                                                             \
	(ON(PHYS_INT32) | ON(PHYS_INT64) | ON(PHYS_FLOAT) | ON(PHYS_DOUBLE) | \
	 ON(PHYS_FIXED))

static const struct {
	unsigned allowed; /* physical types */
	int (*begin)(struct values *v, struct error *err);
} encodings[ENC_N] = {
	[ENC_PLAIN] = { ~0u, begin_plain },
	[ENC_PLAIN_DICTIONARY] = { ~ON(PHYS_BOOLEAN), begin_indexes },
	[ENC_DICTIONARY] = { ~ON(PHYS_BOOLEAN), begin_indexes },
	[ENC_RLE] = { ON(PHYS_BOOLEAN), begin_runs },
	[ENC_DELTA_BINARY_PACKED] = { ON(PHYS_INT32) | ON(PHYS_INT64), begin_delta },
	[ENC_DELTA_LENGTH] = { ON(PHYS_BYTE_ARRAY), strings_begin_lengths },
	[ENC_DELTA_BYTE_ARRAY] = { ON(PHYS_BYTE_ARRAY) | ON(PHYS_FIXED),
				   strings_begin_prefixes },
	[ENC_BYTE_STREAM_SPLIT] = { ALL_FIXED, begin_split },
};

int values_begin(struct values *v, int32_t encoding, const uint8_t *p, const uint8_t *end,
		 uint64_t n, struct error *err)
{
	if (encoding < 0 || encoding >= ENC_N || !encodings[encoding].begin ||
	    !(encodings[encoding].allowed & ON(v->type->physical)))
		return error_set(err, ERR_UNSUPPORTED, "encoding %d for physical type %d",
				 encoding, v->type->physical);
	v->encoding = encoding;
	v->p = p;
	v->end = end;
	v->n = n;
	return encodings[encoding].begin(v, err);
}

/* ---- values of one width ---- */

#define GATHER(type)                                                              \
	static void gather_##type(void *to, const void *from, const uint32_t *at, \
				  size_t n)                                       \
	{                                                                         \
		for (size_t i = 0; i < n; i++)                                    \
			memcpy((type *)to + i, (const type *)from + at[i],        \
			       sizeof(type));                                     \
	}

GATHER(uint8_t)
GATHER(uint16_t)
GATHER(uint32_t)
GATHER(uint64_t)

static void gather(void *to, const void *from, uint32_t width, const uint32_t *at,
		   size_t n)
{
	switch (width) {
	case 1:
		gather_uint8_t(to, from, at, n);
		break;
	case 2:
		gather_uint16_t(to, from, at, n);
		break;
	case 4:
		gather_uint32_t(to, from, at, n);
		break;
	case 8:
		gather_uint64_t(to, from, at, n);
		break;
	default:
		for (size_t i = 0; i < n; i++)
			memcpy((uint8_t *)to + i * width,
			       (const uint8_t *)from + (size_t)at[i] * width, width);
	}
}

static int take_indexed(struct values *v, uint8_t *to, uint64_t m, struct error *err)
{
	uint32_t at[PIECE], width = v->type->field->width;

	while (m) {
		size_t n = m < PIECE ? (size_t)m : PIECE;

		if (strings_indexes(v, at, n, err))
			return -1;
		gather(to, v->dictionary.values.data, width, at, n);
		to += n * width;
		m -= n;
	}
	return 0;
}

static int take_plain(struct values *v, uint8_t *to, uint64_t m, struct error *err)
{
	if (m > (size_t)(v->end - v->p) / v->type->width)
		return short_of(err);
	memcpy(to, v->p, m * v->type->width);
	v->p += m * v->type->width;
	return 0;
}

static int take_delta(struct values *v, uint8_t *to, uint64_t m, struct error *err)
{
	uint64_t piece[PIECE];
	uint32_t width = v->type->width;

	if (width == 8)
		return delta_take(&v->delta, (uint64_t *)(void *)to, m) == m
			       ? 0
			       : short_of(err);
	while (m) {
		size_t n = m < PIECE ? (size_t)m : PIECE;

		if (delta_take(&v->delta, piece, n) != n)
			return short_of(err);
		for (size_t i = 0; i < n; i++)
			memcpy(to + i * 4, &piece[i], 4);
		to += n * 4;
		m -= n;
	}
	return 0;
}

static int take_split(struct values *v, uint8_t *to, uint64_t m, struct error *err)
{
	uint32_t width = v->type->width;

	if (m > v->split_n - v->split_at)
		return short_of(err);
	for (uint32_t k = 0; k < width; k++) {
		const uint8_t *from = v->p + k * v->split_n + v->split_at;

		for (uint64_t i = 0; i < m; i++)
			to[i * width + k] = from[i];
	}
	v->split_at += m;
	return 0;
}

static int take_fixed(struct values *v, uint8_t *to, uint64_t m, struct error *err)
{
	switch (v->encoding) {
	case ENC_PLAIN:
		return take_plain(v, to, m, err);
	case ENC_DELTA_BINARY_PACKED:
		return take_delta(v, to, m, err);
	case ENC_DELTA_BYTE_ARRAY:
		return strings_take_fixed(v, to, m, err);
	default:
		return take_split(v, to, m, err);
	}
}

static bool indexed(const struct values *v)
{
	return v->encoding == ENC_PLAIN_DICTIONARY || v->encoding == ENC_DICTIONARY;
}

static int take_converted(struct values *v, uint8_t *to, uint64_t m, struct error *err)
{
	convert_fn *convert = convert_of(v->type);

	if (indexed(v))
		return take_indexed(v, to, m, err);
	if (!convert)
		return take_fixed(v, to, m, err);
	if (block_reserve(&v->scratch, v->budget, m, v->type->width, err) ||
	    take_fixed(v, v->scratch.data, m, err))
		return -1;
	convert(v->type, to, v->scratch.data, m);
	return 0;
}

/* ---- booleans ---- */

static int take_bools(struct values *v, struct array *a, uint64_t n, uint64_t m,
		      struct error *err)
{
	uint8_t *bytes;

	if (n == m) {
		if (hybrid_bits(&v->hybrid, a->values.data, (uint64_t)a->n, m) != m)
			return short_of(err);
		return 0;
	}
	if (block_reserve(&v->scratch, v->budget, n, 1, err))
		return -1;
	bytes = v->scratch.data;
	if (hybrid_u8(&v->hybrid, bytes, m) != m)
		return short_of(err);
	convert_spread(bytes, 1, a->validity.data, (uint64_t)a->n, n, m);
	for (uint64_t i = 0; i < n; i++)
		bits_put(a->values.data, (uint64_t)a->n + i, bytes[i], 1);
	return 0;
}

/* ---- all ---- */

int values_reserve(struct values *v, struct array *a, uint64_t n, struct error *err)
{
	const struct field *f = v->type->field;
	uint64_t rows = (uint64_t)a->n + n;
	bool first = !a->offsets.data;

	if (f->kind == ARROW_NULL)
		return 0;
	if (f->kind == ARROW_BOOL)
		return block_reserve(&a->values, v->budget, bits_bytes(rows), 1, err);
	if (f->width)
		return block_reserve(&a->values, v->budget, rows, f->width, err);
	if (block_reserve(&a->offsets, v->budget, rows + 1, sizeof(int32_t), err))
		return -1;
	if (first)
		memset(a->offsets.data, 0, sizeof(int32_t));
	return 0;
}

int values_take(struct values *v, struct array *a, uint64_t n, uint64_t m,
		struct error *err)
{
	const struct field *f = v->type->field;
	uint8_t *to;

	if (f->kind == ARROW_NULL)
		return m ? error_set(err, ERR_FORMAT, "values in a column of nulls") : 0;
	if (f->kind == ARROW_BOOL)
		return take_bools(v, a, n, m, err);
	if (!f->width)
		return strings_take(v, a, n, m, err);
	to = a->values.data + (uint64_t)a->n * f->width;
	if (is_strings(v->type) && !indexed(v) ? strings_take_decimals(v, to, m, err)
					       : take_converted(v, to, m, err))
		return -1;
	if (n != m)
		convert_spread(to, f->width, a->validity.data, (uint64_t)a->n, n, m);
	return 0;
}

int values_dictionary(struct values *v, const uint8_t *p, const uint8_t *end, uint64_t n,
		      struct error *err)
{
	struct array *a = &v->dictionary;

	if (v->has_dictionary)
		return error_set(err, ERR_FORMAT, "a second dictionary");
	if (v->type->physical == PHYS_BOOLEAN || n > UINT32_MAX)
		return error_set(err, ERR_FORMAT, "a dictionary of booleans");
	a->field = v->type->field;
	if (values_begin(v, ENC_PLAIN, p, end, n, err) || values_reserve(v, a, n, err) ||
	    values_take(v, a, n, n, err))
		return -1;
	a->n = (int64_t)n;
	v->has_dictionary = true;
	return 0;
}

void values_release(struct values *v)
{
	array_release(&v->dictionary);
	block_free(&v->lengths);
	block_free(&v->prefixes);
	block_free(&v->last);
	block_free(&v->scratch);
}
