/* Removes rows from batches: select.h. */
#include "arrow/select.h"

#include <string.h>

#include "arrow/bits.h"

struct choice {
	const uint8_t *keep;
	int64_t n; /* rows that are kept */
	struct budget *budget;
	struct error *err;
};

static int select_rows(const struct choice *c, struct array *a);

static void set_bit(uint8_t *bits, int64_t i, bool v)
{
	uint8_t bit = (uint8_t)(1u << (i & 7));

	bits[i >> 3] = (uint8_t)(v ? bits[i >> 3] | bit : bits[i >> 3] & ~bit);
}

static int64_t select_bits(const struct choice *c, uint8_t *bits, int64_t n)
{
	int64_t to = 0, ones = 0;

	for (int64_t i = 0; i < n; i++) {
		bool v = bit_get(bits, (uint64_t)i);

		if (!bit_get(c->keep, (uint64_t)i))
			continue;
		ones += v;
		set_bit(bits, to++, v);
	}
	return ones;
}

static void select_fixed(const struct choice *c, const struct array *a)
{
	uint32_t width = a->field->width;
	uint8_t *to = a->values.data;

	for (int64_t i = 0; i < a->n; i++) {
		if (!bit_get(c->keep, (uint64_t)i))
			continue;
		memmove(to, a->values.data + (uint64_t)i * width, width);
		to += width;
	}
}

static void select_bytes(const struct choice *c, const struct array *a)
{
	int32_t *offsets = (int32_t *)(void *)a->offsets.data, begin = offsets[0];
	int32_t at = 0;
	int64_t to = 0;

	for (int64_t i = 0; i < a->n; i++) {
		int32_t from = begin, len = offsets[i + 1] - from;

		begin = offsets[i + 1];
		if (!bit_get(c->keep, (uint64_t)i))
			continue;
		memmove(a->values.data + at, a->values.data + from, (size_t)len);
		offsets[to++] = at;
		at += len;
	}
	offsets[to] = at;
}

/* Keep the list elements of kept rows. */
static int select_elements(const struct choice *c, struct array *a)
{
	__attribute__((cleanup(block_free))) struct block keep = { 0 };
	int32_t *offsets = (int32_t *)(void *)a->offsets.data, begin = offsets[0], at = 0;
	struct choice inner = { NULL, 0, c->budget, c->err };
	uint64_t n = (uint64_t)a->children->n;
	int64_t to = 0;

	if (block_reserve(&keep, c->budget, bits_bytes(n), 1, c->err))
		return -1;
	memset(keep.data, 0, bits_bytes(n));
	for (int64_t i = 0; i < a->n; i++) {
		int32_t from = begin;

		begin = offsets[i + 1];
		if (!bit_get(c->keep, (uint64_t)i))
			continue;
		offsets[to++] = at;
		at += begin - from;
		for (int32_t k = from; k < begin; k++)
			set_bit(keep.data, k, true);
	}
	offsets[to] = at;
	inner.keep = keep.data;
	inner.n = at;
	return select_rows(&inner, a->children);
}

static int select_children(const struct choice *c, struct array *a)
{
	for (size_t i = 0; i < a->field->n_children; i++)
		if (select_rows(c, &a->children[i]))
			return -1;
	return 0;
}

static int select_values(const struct choice *c, struct array *a)
{
	switch (a->field->kind) {
	case ARROW_NULL:
		return 0;
	case ARROW_BOOL:
		select_bits(c, a->values.data, a->n);
		return 0;
	case ARROW_STRING:
	case ARROW_BINARY:
		select_bytes(c, a);
		return 0;
	case ARROW_LIST:
	case ARROW_MAP:
		return select_elements(c, a);
	case ARROW_STRUCT:
		return select_children(c, a);
	default:
		select_fixed(c, a);
		return 0;
	}
}

static int select_rows(const struct choice *c, struct array *a)
{
	if (select_values(c, a))
		return -1;
	if (a->validity.data)
		a->n_null = c->n - select_bits(c, a->validity.data, a->n);
	else if (a->n_null)
		a->n_null = c->n;
	a->n = c->n;
	return 0;
}

int batch_select(struct batch *b, const uint8_t *keep, struct budget *budget,
		 struct error *err)
{
	struct choice c = { keep, (int64_t)bits_count(keep, 0, (uint64_t)b->n), budget,
			    err };

	if (c.n == b->n)
		return 0;
	for (size_t i = 0; i < b->n_columns; i++)
		if (select_rows(&c, &b->columns[i]))
			return -1;
	b->n = c.n;
	return 0;
}
