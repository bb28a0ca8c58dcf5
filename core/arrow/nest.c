/* Builds nested arrays from levels: nest.h. */
#include "arrow/nest.h"

#include "arrow/bits.h"
#include "base/xmalloc.h"

struct nest {
	struct leaf_rows *leaves;
	struct budget *budget;
	struct error *err;
};

static int build(const struct nest *c, struct array *a, const struct field *f, int64_t n);

static int bad(const struct nest *c, const char *why)
{
	return error_set(c->err, ERR_FORMAT, "%s", why);
}

/* State of a field during a pass over a leaf's levels: its slots, nulls and elements. */
struct pass {
	const uint8_t *defs, *reps; /* reps NULL: all 0 */
	size_t n;
};

static struct pass pass_of(const struct nest *c, const struct field *f)
{
	const struct leaf_rows *l = &c->leaves[f->first_leaf];

	return (struct pass){ l->defs.data, l->reps.data, l->n_levels };
}

#define ONES UINT64_C(0x0101010101010101)
#define HIGH (ONES << 7)

/* Are the next 8 levels all in the same slot? */
static inline bool all_inside(const struct pass *p, size_t i, const struct field *f)
{
	uint64_t r;

	if (!p->reps || i + 8 > p->n)
		return false;
	r = bits_load_u64(p->reps + i) + ONES * (127u - f->rep);
	return (r & HIGH) == HIGH;
}

static int mark(const struct nest *c, struct array *a, const struct field *f)
{
	const struct pass p = pass_of(c, f);
	uint64_t at = 0, valid = 0;

	if (block_reserve(&a->validity, c->budget, bits_bytes(p.n), 1, c->err))
		return -1;
	for (size_t i = 0; i < p.n; i++) {
		if (all_inside(&p, i, f)) {
			i += 7;
			continue;
		}
		if ((p.reps && p.reps[i] > f->rep) || p.defs[i] < f->def_around)
			continue;
		bits_put(a->validity.data, at++, p.defs[i] >= f->def, 1);
		valid += p.defs[i] >= f->def;
	}
	if (at != (uint64_t)a->n)
		return bad(c, "its parts have different numbers of rows");
	a->n_null = a->n - (int64_t)valid;
	return 0;
}

/* Are the next 8 levels all elements of the same list? */
static inline bool all_elements(const struct pass *p, size_t i, const struct field *f)
{
	uint64_t d, r;

	if (i + 8 > p->n)
		return false;
	d = bits_load_u64(p->defs + i);
	r = bits_load_u64(p->reps + i);
	return r == ONES * (f->rep + 1u) &&
	       ((d + ONES * (128u - f->def_inside)) & HIGH) == HIGH;
}

/* Write a list's offsets: the number of elements before each slot. */
static int count(const struct nest *c, struct array *a, const struct field *f)
{
	const struct pass p = pass_of(c, f);
	uint64_t elements = 0;
	int64_t slots = 0;
	int32_t *offsets;

	if (block_reserve(&a->offsets, c->budget, (uint64_t)a->n + 1, sizeof(int32_t),
			  c->err))
		return -1;
	offsets = (int32_t *)(void *)a->offsets.data;
	for (size_t i = 0; i < p.n; i++) {
		if (all_elements(&p, i, f)) {
			elements += 8;
			i += 7;
			continue;
		}
		if (p.defs[i] < f->def_around || p.reps[i] > f->rep + 1)
			continue;
		if (p.reps[i] <= f->rep) {
			if (slots == a->n || elements > INT32_MAX)
				break;
			offsets[slots++] = (int32_t)elements;
		}
		elements += p.defs[i] >= f->def_inside;
	}
	if (slots != a->n)
		return bad(c, "its parts have different numbers of rows");
	if (elements > INT32_MAX)
		return error_set(c->err, ERR_LIMIT,
				 "more than 2^31 list elements in a batch: read fewer "
				 "rows at a time");
	offsets[slots] = (int32_t)elements;
	return 0;
}

static int build_children(const struct nest *c, struct array *a, int64_t n)
{
	const struct field *f = a->field;

	a->children = xcalloc(f->n_children, sizeof(*a->children));
	for (size_t i = 0; i < f->n_children; i++) {
		a->children[i].field = &f->children[i];
		if (build(c, &a->children[i], &f->children[i], n))
			return -1;
	}
	return 0;
}

/* A required field is null where the field around it is. */
static void drop_validity(struct array *a)
{
	if (a->field->nullable && a->n_null)
		return;
	block_free(&a->validity);
	a->n_null = 0;
}

static int build_leaf(const struct nest *c, struct array *a, const struct field *f,
		      int64_t n)
{
	struct leaf_rows *l = &c->leaves[f->first_leaf];

	*a = l->array;
	a->field = f;
	l->array = (struct array){ 0 };
	if (a->n != n)
		return bad(c, "its parts have different numbers of rows");
	if (f->kind == ARROW_NULL)
		a->n_null = n;
	drop_validity(a);
	return 0;
}

static int build(const struct nest *c, struct array *a, const struct field *f, int64_t n)
{
	bool list = f->kind == ARROW_LIST || f->kind == ARROW_MAP;

	if (!field_has_children(f))
		return build_leaf(c, a, f, n);
	a->field = f;
	a->n = n;
	if ((f->nullable && mark(c, a, f)) || (list && count(c, a, f)))
		return -1;
	drop_validity(a);
	return build_children(c, a, list ? ((int32_t *)(void *)a->offsets.data)[n] : n);
}

int nest(struct array *ret, const struct field *f, struct leaf_rows *leaves,
	 struct budget *budget, int64_t n, struct error *err)
{
	const struct nest c = { leaves, budget, err };

	ret->field = f;
	return build(&c, ret, f, n);
}
