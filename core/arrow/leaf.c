/* Reads the rows of a leaf column: leaf.h. */
#include "arrow/leaf.h"

#include "arrow/bits.h"
#include "arrow/page.h"

enum { SEGMENT = 8192 };
#define ONES UINT64_C(0x0101010101010101) /* of each byte */

void leaf_begin(struct leaf *l, const struct leaf_type *type,
		const struct column_chunk *chunk, uint64_t rows, struct bytes bytes)
{
	double entries = (double)chunk->n_values;

	l->type = l->values.type = type;
	l->values.budget = l->budget;
	l->codec = chunk->codec;
	l->begin = l->p = bytes.data;
	l->end = bytes.data + bytes.len;
	l->entries_left = (uint64_t)chunk->n_values;
	if (rows && chunk->n_values)
		l->entries_per_row = entries / (double)rows;
	if (type->physical == PHYS_BYTE_ARRAY && chunk->n_values)
		l->bytes_per_entry = (double)chunk->uncompressed / entries - 4;
}

/* ---- validity ---- */

static int reserve_validity(struct leaf *l, struct array *a, uint64_t n,
			    struct error *err)
{
	return block_reserve(&a->validity, l->budget, bits_bytes((uint64_t)a->n + n), 1,
			     err);
}

/* Set the validity bits of the slots among n entries; counts slots and values. */
static void add_validity(const struct leaf *l, struct array *a, const uint8_t *defs,
			 uint64_t n, uint64_t counts[2])
{
	uint8_t max = l->type->max_def, around = l->type->field->def_around;
	uint64_t at = (uint64_t)a->n, word = 0, m = 0;
	unsigned fill = 0;

	for (uint64_t i = 0; i < n;) {
		if (fill <= 48 && i + 8 <= n && bits_load_u64(defs + i) == ONES * max) {
			word |= (uint64_t)0xff << fill;
			m += 8;
			fill += 8;
			i += 8;
		} else {
			word |= (uint64_t)(defs[i] == max) << fill;
			m += defs[i] == max;
			fill += defs[i] >= around;
			i++;
		}
		if (fill == 56) {
			bits_put(a->validity.data, at, word, 56);
			at += 56;
			fill = 0;
			word = 0;
		}
	}
	bits_put(a->validity.data, at, word, fill);
	counts[0] = at + fill - (uint64_t)a->n;
	counts[1] = m;
}

/* ---- room ---- */

static uint64_t expected(double each, uint64_t n, uint64_t most)
{
	double all = each * (double)n;

	return all <= 0 ? 0 : all < (double)most ? (uint64_t)all : most;
}

#define MARGIN 1.06 /* strings differ in length */

/* Reserve the estimated size, so that nothing needs to grow. */
static int make_room(struct leaf *l, struct leaf_rows *to, uint64_t rows,
		     struct error *err)
{
	struct array *a = &to->array;
	uint64_t n = expected(l->entries_per_row, rows, INT64_MAX);
	uint64_t bytes = expected(l->bytes_per_entry * MARGIN, n, INT32_MAX);

	if ((l->type->max_rep && block_reserve(&to->reps, l->budget, n, 1, err)) ||
	    ((l->type->max_def > 1 || l->type->in_group) &&
	     block_reserve(&to->defs, l->budget, n, 1, err)) ||
	    (l->type->max_def && reserve_validity(l, a, n, err)) ||
	    (bytes && !l->type->field->width &&
	     block_reserve(&a->values, l->budget, bytes, 1, err)))
		return -1;
	return values_reserve(&l->values, a, n, err);
}

static int take_values(struct leaf *l, struct array *a, uint64_t n, uint64_t m,
		       struct error *err)
{
	if (values_reserve(&l->values, a, n, err) ||
	    values_take(&l->values, a, n, m, err))
		return -1;
	a->n += (int64_t)n;
	a->n_null += (int64_t)(n - m);
	return 0;
}

/* ---- leaves without repetition: an entry is a row ---- */

/* An optional column that is not nested: levels are validity bits. */
static int take_optional(struct leaf *l, struct array *a, uint64_t n, struct error *err)
{
	if (reserve_validity(l, a, n, err))
		return -1;
	if (hybrid_bits(&l->def, a->validity.data, (uint64_t)a->n, n) != n)
		return error_set(err, ERR_FORMAT, "the levels end too early");
	return take_values(l, a, n, bits_count(a->validity.data, (uint64_t)a->n, n), err);
}

static int take_leveled(struct leaf *l, struct leaf_rows *to, uint64_t n,
			struct error *err)
{
	uint64_t counts[2];
	uint8_t *defs;

	if (block_reserve(&to->defs, l->budget, to->n_levels + n, 1, err) ||
	    reserve_validity(l, &to->array, n, err))
		return -1;
	defs = to->defs.data + to->n_levels;
	if (hybrid_u8(&l->def, defs, n) != n)
		return error_set(err, ERR_FORMAT, "the levels end too early");
	for (uint64_t i = 0; i < n; i++)
		if (defs[i] > l->type->max_def)
			return error_set(err, ERR_FORMAT, "a level of %u, beyond %u",
					 defs[i], l->type->max_def);
	to->n_levels += n;
	add_validity(l, &to->array, defs, n, counts);
	return take_values(l, &to->array, n, counts[1], err);
}

static int take_flat(struct leaf *l, struct leaf_rows *to, uint64_t rows,
		     struct error *err)
{
	while (rows) {
		uint64_t n = rows < l->left ? rows : l->left, none = 0;
		int rc;

		if (!l->left) {
			if (page_next(l, &none, err))
				return -1;
			continue;
		}
		n = n < SEGMENT ? n : SEGMENT;
		if (!l->type->max_def)
			rc = take_values(l, &to->array, n, n, err);
		else if (l->type->max_def == 1 && !l->type->in_group)
			rc = take_optional(l, &to->array, n, err);
		else
			rc = take_leveled(l, to, n, err);
		if (rc)
			return -1;
		rows -= n;
		l->left -= n;
	}
	return 0;
}

/* ---- repeated leaves: a row is the entries up to the next of level 0 ---- */

/* Count the entries of up to `rows` whole rows, or until the page ends. */
static uint64_t find_end(const struct leaf *l, uint64_t *rows)
{
	const uint8_t *reps = l->page_reps.data + l->level_at;
	uint64_t i = 0;

	while (i < l->left) {
		if (reps[i] == 0) {
			if (!*rows)
				break;
			--*rows;
		}
		i++;
		while (i + 8 <= l->left) {
			uint64_t v = bits_load_u64(reps + i);

			if ((v - UINT64_C(0x0101010101010101)) & ~v &
			    UINT64_C(0x8080808080808080))
				break;
			i += 8;
		}
	}
	return i;
}

static int copy_levels(struct leaf *l, struct leaf_rows *to, uint64_t n,
		       struct error *err)
{
	if (block_reserve(&to->defs, l->budget, to->n_levels + n, 1, err) ||
	    block_reserve(&to->reps, l->budget, to->n_levels + n, 1, err))
		return -1;
	memcpy(to->defs.data + to->n_levels, l->page_defs.data + l->level_at, n);
	memcpy(to->reps.data + to->n_levels, l->page_reps.data + l->level_at, n);
	to->n_levels += n;
	return 0;
}

static int take_entries(struct leaf *l, struct leaf_rows *to, uint64_t n,
			struct error *err)
{
	if (copy_levels(l, to, n, err) || reserve_validity(l, &to->array, n, err))
		return -1;
	for (uint64_t done = 0; done < n;) {
		uint64_t k = n - done < SEGMENT ? n - done : SEGMENT, counts[2];

		add_validity(l, &to->array, l->page_defs.data + l->level_at, k, counts);
		if (take_values(l, &to->array, counts[0], counts[1], err))
			return -1;
		l->level_at += k;
		l->left -= k;
		done += k;
	}
	return 0;
}

static int take_repeated(struct leaf *l, struct leaf_rows *to, uint64_t rows,
			 struct error *err)
{
	uint64_t none = 0;

	for (;;) {
		uint64_t n;

		if (!l->left) {
			if (!rows && !l->entries_left)
				return 0;
			if (page_next(l, &none, err))
				return -1;
			continue;
		}
		if (!l->in_row && l->page_reps.data[l->level_at] != 0)
			return error_set(err, ERR_FORMAT,
					 "the first row begins in its middle");
		n = find_end(l, &rows);
		l->in_row = true;
		if (n && take_entries(l, to, n, err))
			return -1;
		if (l->left)
			return 0;
	}
}

/* ---- all ---- */

int leaf_take(struct leaf *l, struct leaf_rows *to, uint64_t rows, struct error *err)
{
	to->array.field = l->type->field;
	if (!rows)
		return 0;
	if (make_room(l, to, rows, err))
		return -1;
	return l->type->max_rep ? take_repeated(l, to, rows, err)
				: take_flat(l, to, rows, err);
}

int leaf_skip(struct leaf *l, uint64_t rows, struct error *err)
{
	while (rows) {
		struct leaf_rows unwanted = { 0 };
		uint64_t n = rows < SEGMENT ? rows : SEGMENT;
		int rc;

		if (!l->left && page_next(l, &rows, err))
			return -1;
		if (!l->left)
			continue;
		n = rows < n ? rows : n;
		rc = leaf_take(l, &unwanted, n, err);
		leaf_rows_release(&unwanted);
		if (rc)
			return -1;
		rows -= n;
	}
	return 0;
}

int leaf_finish(struct leaf *l, struct error *err)
{
	if (l->left + l->entries_left)
		return error_set(err, ERR_FORMAT, "%llu values belong to no row",
				 (unsigned long long)(l->left + l->entries_left));
	return 0;
}

void leaf_release(struct leaf *l)
{
	block_free(&l->page);
	block_free(&l->page_defs);
	block_free(&l->page_reps);
	values_release(&l->values);
}

void leaf_rows_release(struct leaf_rows *rows)
{
	array_release(&rows->array);
	block_free(&rows->defs);
	block_free(&rows->reps);
}
