/* Converts a file's columns to a table's: project.h. */
#include "arrow/project.h"

#include <string.h>

#include "arrow/bits.h"
#include "base/cleanup.h"
#include "base/xmalloc.h"

/* Converts n values to another type; false: one does not fit. */
typedef bool change_fn(void *to, const void *from, int64_t n, const uint8_t *validity);

/* The source of a column of the table. */
struct cast {
	const struct field *to, *from; /* from NULL: the file lacks it */
	const struct project_constant *constant;
	change_fn *change;  /* NULL: the values are the same */
	struct cast *inner; /* of to's children */
	size_t at;          /* index of `from` among its siblings */
};

struct projection {
	struct arena arena;
	struct cast *casts;
	size_t n, n_from;
};

struct builder {
	const struct project_sides *sides;
	struct arena *arena;
	struct error *err;
};

/* ---- values ---- */

#define WIDEN(name, from_type, to_type)                                              \
	static bool name(void *to, const void *from, int64_t n, const uint8_t *bits) \
	{                                                                            \
		const from_type *a = from;                                           \
		to_type *b = to;                                                     \
                                                                                     \
		(void)bits;                                                          \
		for (int64_t i = 0; i < n; i++)                                      \
			b[i] = (to_type)a[i];                                        \
		return true;                                                         \
	}
WIDEN(i8_i32, int8_t, int32_t)
WIDEN(i16_i32, int16_t, int32_t)
WIDEN(u8_i32, uint8_t, int32_t)
WIDEN(u16_i32, uint16_t, int32_t)
WIDEN(i8_i64, int8_t, int64_t)
WIDEN(i16_i64, int16_t, int64_t)
WIDEN(i32_i64, int32_t, int64_t)
WIDEN(u8_i64, uint8_t, int64_t)
WIDEN(u16_i64, uint16_t, int64_t)
WIDEN(u32_i64, uint32_t, int64_t)
WIDEN(float_double, float, double)

static const struct {
	enum arrow_kind from, to;
	change_fn *change;
} widenings[] = {
	{ ARROW_INT8, ARROW_INT32, i8_i32 },
	{ ARROW_INT16, ARROW_INT32, i16_i32 },
	{ ARROW_UINT8, ARROW_INT32, u8_i32 },
	{ ARROW_UINT16, ARROW_INT32, u16_i32 },
	{ ARROW_INT8, ARROW_INT64, i8_i64 },
	{ ARROW_INT16, ARROW_INT64, i16_i64 },
	{ ARROW_INT32, ARROW_INT64, i32_i64 },
	{ ARROW_UINT8, ARROW_INT64, u8_i64 },
	{ ARROW_UINT16, ARROW_INT64, u16_i64 },
	{ ARROW_UINT32, ARROW_INT64, u32_i64 },
	{ ARROW_FLOAT, ARROW_DOUBLE, float_double },
};

/* Round down, to the earlier time. */
static bool divide_1000(void *to, const void *from, int64_t n, const uint8_t *bits)
{
	const int64_t *a = from;
	int64_t *b = to;

	for (int64_t i = 0; i < n; i++)
		b[i] = a[i] / 1000 - (a[i] % 1000 < 0);
	return true;
}

static bool multiply_1000(void *to, const void *from, int64_t n, const uint8_t *bits)
{
	const int64_t *a = from;
	int64_t *b = to;

	for (int64_t i = 0; i < n; i++)
		if (__builtin_mul_overflow(a[i], 1000, &b[i])) {
			b[i] = 0;
			if (!bits || bit_get(bits, (uint64_t)i))
				return false;
		}
	return true;
}

static bool ms_us(void *to, const void *from, int64_t n, const uint8_t *bits)
{
	const int32_t *a = from;
	int64_t *b = to;

	for (int64_t i = 0; i < n; i++)
		b[i] = (int64_t)a[i] * 1000;
	return true;
}

/* ---- types ---- */

static bool is_bytes(const struct field *f)
{
	return f->kind == ARROW_STRING || f->kind == ARROW_BINARY;
}

/* INT96 has no time zone. Nanoseconds, which Iceberg 2 lacks, become either kind. */
static bool find_time(const struct field *to, const struct field *from, change_fn **ret)
{
	if (from->kind == ARROW_TIME32 && from->unit == ARROW_MS &&
	    to->kind == ARROW_TIME64 && to->unit == ARROW_US) {
		*ret = ms_us;
		return true;
	}
	if (from->kind != to->kind ||
	    (from->kind != ARROW_TIMESTAMP && from->kind != ARROW_TIME64) ||
	    (from->utc != to->utc && from->unit != ARROW_NS && !from->int96))
		return false;
	*ret = from->unit == to->unit + 1   ? divide_1000
	       : from->unit + 1 == to->unit ? multiply_1000
					    : NULL;
	return *ret || from->unit == to->unit;
}

static bool find_change(const struct field *to, const struct field *from, change_fn **ret)
{
	*ret = NULL;
	if (find_time(to, from, ret))
		return true;
	for (size_t i = 0; i < N_ELEMENTS(widenings); i++)
		if (from->kind == widenings[i].from && to->kind == widenings[i].to) {
			*ret = widenings[i].change;
			return true;
		}
	if (is_bytes(from) && is_bytes(to))
		return true;
	if (from->kind != to->kind || from->kind == ARROW_TIMESTAMP ||
	    from->kind == ARROW_TIME64)
		return false;
	if (from->kind == ARROW_DECIMAL)
		return from->width == to->width && from->scale == to->scale &&
		       from->precision <= to->precision;
	return from->kind != ARROW_FIXED || from->width == to->width;
}

/* ---- matching ---- */

static int match(struct builder *b, struct cast *c, const struct field *to,
		 const struct field *from, size_t n_from, size_t at);

static const struct project_constant *find_constant(const struct builder *b,
						    const struct field *to)
{
	const struct project_sides *s = b->sides;

	for (size_t i = 0; i < s->n_constants; i++)
		if (s->by_name ? to == &s->to[s->constants[i].id]
			       : to->id == s->constants[i].id)
			return &s->constants[i];
	return to->initial;
}

static bool is_source(const struct builder *b, const struct field *to,
		      const struct field *from)
{
	if (b->sides->by_name)
		return !strcmp(to->name, from->name);
	return from->id == to->id && from->id >= 0 && from->kind != ARROW_NULL;
}

/* A column becomes one of the table's: its rows are moved. */
static int match_all(struct builder *b, struct cast *casts, const struct field *to,
		     size_t n, const struct field *from, size_t n_from)
{
	cleanup_free bool *taken = xcalloc(n_from + 1, sizeof(*taken));

	for (size_t i = 0; i < n; i++) {
		struct cast *c = &casts[i];

		if (match(b, c, &to[i], from, n_from, i))
			return -1;
		if (c->from && taken[c->at])
			return error_set(b->err, ERR_FORMAT,
					 "column %s: another column has its field id %d",
					 to[i].name, to[i].id);
		taken[c->at] = taken[c->at] || c->from;
	}
	return 0;
}

static int match_children(struct builder *b, struct cast *c)
{
	const struct field *to = c->to, *from = c->from;

	c->inner = arena_alloc(b->arena, (to->n_children + 1) * sizeof(*c->inner));
	return match_all(b, c->inner, to->children, to->n_children,
			 from ? from->children : NULL, from ? from->n_children : 0);
}

static int refuse_type(struct builder *b, const struct field *to,
		       const struct field *from)
{
	cleanup_buf struct buf is = { .max = 300 }, wanted = { .max = 300 };

	field_type(&is, from);
	field_type(&wanted, to);
	return error_set(b->err, ERR_UNSUPPORTED,
			 "column %s is of type %s, which cannot become the table's %s",
			 to->name, (const char *)is.data, (const char *)wanted.data);
}

/* Elements of lists and maps are matched by position, not by id. */
static int match_at(struct builder *b, struct cast *c, const struct field *to,
		    const struct field *from)
{
	c->to = to;
	c->from = from;
	if (!find_change(to, from, &c->change))
		return refuse_type(b, to, from);
	c->inner = arena_alloc(b->arena, (to->n_children + 1) * sizeof(*c->inner));
	if (to->kind == ARROW_STRUCT)
		return match_children(b, c);
	if (to->kind == ARROW_LIST)
		return match_at(b, c->inner, to->children, from->children);
	if (to->kind != ARROW_MAP)
		return 0;
	c->inner->to = to->children;
	c->inner->from = from->children;
	c->inner->inner = arena_alloc(b->arena, 2 * sizeof(*c->inner));
	for (size_t i = 0; i < 2; i++) {
		c->inner->inner[i].at = i;
		if (match_at(b, &c->inner->inner[i], &to->children->children[i],
			     &from->children->children[i]))
			return -1;
	}
	return 0;
}

/* Names are most likely at the same place, `at`. */
static int match(struct builder *b, struct cast *c, const struct field *to,
		 const struct field *from, size_t n_from, size_t at)
{
	const struct project_constant *constant = find_constant(b, to);
	bool by_name = b->sides->by_name, fixed = constant && by_name;

	c->to = to;
	for (size_t i = 0; i < n_from && !fixed; i++) {
		c->at = by_name ? (at + i) % n_from : i;
		if (is_source(b, to, &from[c->at]))
			return match_at(b, c, to, &from[c->at]);
	}
	c->constant = constant && !constant->null ? constant : NULL;
	if (!to->nullable && !c->constant)
		return error_set(b->err, ERR_FORMAT,
				 "column %s (field id %d) is missing, but required",
				 to->name, to->id);
	return 0;
}

int projection_new(struct projection **ret, const struct project_sides *sides,
		   struct error *err)
{
	cleanup_projection struct projection *p = xcalloc(1, sizeof(*p));
	struct builder b = { sides, &p->arena, err };

	p->n = sides->n_to;
	p->n_from = sides->n_from;
	p->casts = arena_alloc(&p->arena, (p->n + 1) * sizeof(*p->casts));
	if (match_all(&b, p->casts, sides->to, sides->n_to, sides->from, sides->n_from))
		return -1;
	*ret = STEAL(p);
	return 0;
}

void projection_free(struct projection *p)
{
	if (!p)
		return;
	arena_clear(&p->arena);
	free(p);
}

void projection_reads(const struct projection *p, const bool *columns, bool *ret_from)
{
	memset(ret_from, 0, p->n_from * sizeof(*ret_from));
	for (size_t i = 0; i < p->n; i++)
		if ((!columns || columns[i]) && p->casts[i].from)
			ret_from[p->casts[i].at] = true;
}

ptrdiff_t projection_from(const struct projection *p, size_t column)
{
	const struct cast *c = &p->casts[column];

	return c->from ? (ptrdiff_t)c->at : -1;
}

/* ---- arrays ---- */

struct target {
	int64_t n;
	struct budget *budget;
	struct error *err;
};

static int zeros(struct target *t, struct block *b, uint64_t bytes)
{
	if (block_reserve(b, t->budget, bytes, 1, t->err))
		return -1;
	memset(b->data, 0, bytes);
	return 0;
}

static bool has_offsets(const struct field *f)
{
	return is_bytes(f) || f->kind == ARROW_LIST || f->kind == ARROW_MAP;
}

/* Make an array with a null in each row. */
static int fill_null(struct target *t, struct array *a, const struct field *f)
{
	struct target inner = { f->kind == ARROW_STRUCT ? t->n : 0, t->budget, t->err };
	uint64_t n = (uint64_t)t->n;

	a->field = f;
	a->n = a->n_null = t->n;
	if (zeros(t, &a->validity, bits_bytes(n)) ||
	    (has_offsets(f) && zeros(t, &a->offsets, (n + 1) * 4)) ||
	    (!field_has_children(f) &&
	     zeros(t, &a->values, f->kind == ARROW_BOOL ? bits_bytes(n) : n * f->width)))
		return -1;
	a->children = xcalloc(f->n_children + 1, sizeof(*a->children));
	for (size_t i = 0; i < f->n_children; i++)
		if (fill_null(&inner, &a->children[i], &f->children[i]))
			return -1;
	return 0;
}

/* Big-endian, two's complement; NULL: too long. */
static const uint8_t *decimal_of(uint8_t *to, uint32_t width, struct bytes from)
{
	if (!from.len || from.len > width)
		return NULL;
	memset(to, from.data[0] & 128 ? 0xff : 0, width);
	for (size_t i = 0; i < from.len; i++)
		to[i] = from.data[from.len - 1 - i];
	return to;
}

/* The bytes of a fixed-width constant; NULL: the constant does not fit. */
static const uint8_t *constant_bytes(const struct cast *c, uint8_t room[32])
{
	const struct project_constant *k = c->constant;
	const struct field *f = c->to;
	float single = (float)k->real;

	if (f->kind == ARROW_DECIMAL)
		return decimal_of(room, f->width, k->bytes);
	if (f->kind == ARROW_FIXED)
		return k->bytes.len == f->width ? k->bytes.data : NULL;
	if (f->kind == ARROW_FLOAT)
		memcpy(room, &single, sizeof(single));
	else if (f->kind == ARROW_DOUBLE)
		memcpy(room, &k->real, sizeof(k->real));
	else
		memcpy(room, &k->number, sizeof(k->number));
	return f->width <= 8 ? room : NULL;
}

static int fill_fixed(struct target *t, struct array *a, const struct cast *c)
{
	uint8_t room[32];
	const uint8_t *value = constant_bytes(c, room);
	uint32_t width = c->to->width;

	if (!value || field_has_children(c->to))
		return error_set(t->err, ERR_FORMAT,
				 "column %s: the partition's value is of another type",
				 c->to->name);
	if (block_reserve(&a->values, t->budget, (uint64_t)t->n, width, t->err))
		return -1;
	for (int64_t i = 0; i < t->n; i++)
		memcpy(a->values.data + (uint64_t)i * width, value, width);
	return 0;
}

static int fill_bytes(struct target *t, struct array *a, struct bytes value)
{
	uint64_t n = (uint64_t)t->n;

	if (n * value.len > INT32_MAX)
		return error_set(t->err, ERR_LIMIT, "a batch of %llu bytes of text",
				 (unsigned long long)(n * value.len));
	if (block_reserve(&a->offsets, t->budget, n + 1, 4, t->err) ||
	    block_reserve(&a->values, t->budget, n, value.len, t->err))
		return -1;
	for (uint64_t i = 0; i <= n; i++)
		((int32_t *)(void *)a->offsets.data)[i] = (int32_t)(i * value.len);
	for (uint64_t i = 0; i < n && value.len; i++)
		memcpy(a->values.data + i * value.len, value.data, value.len);
	return 0;
}

static int fill_constant(struct target *t, struct array *a, const struct cast *c)
{
	a->field = c->to;
	a->n = t->n;
	a->children = xcalloc(1, sizeof(*a->children));
	if (is_bytes(c->to))
		return fill_bytes(t, a, c->constant->bytes);
	if (c->to->kind != ARROW_BOOL)
		return fill_fixed(t, a, c);
	if (block_reserve(&a->values, t->budget, bits_bytes((uint64_t)t->n), 1, t->err))
		return -1;
	bits_fill(a->values.data, 0, c->constant->number != 0, (uint64_t)t->n);
	return 0;
}

static int change_values(struct target *t, struct array *a, const struct cast *c)
{
	struct block to = { 0 };

	if (!c->change)
		return 0;
	if (block_reserve(&to, t->budget, (uint64_t)a->n, c->to->width, t->err))
		return -1;
	if (!c->change(to.data, a->values.data, a->n, a->validity.data)) {
		block_free(&to);
		return error_set(t->err, ERR_FORMAT, "column %s: a time is out of range",
				 c->to->name);
	}
	block_free(&a->values);
	a->values = to;
	return 0;
}

/* `from`: the file's arrays on this level; used ones are moved. */
static int make(struct target *t, struct array *to, const struct cast *c,
		struct array *from)
{
	struct array *children;
	struct target inner = *t;

	if (c->constant)
		return fill_constant(t, to, c);
	if (!c->from)
		return fill_null(t, to, c->to);
	*to = *from;
	*from = (struct array){ 0 };
	to->field = c->to;
	if (change_values(t, to, c) || !field_has_children(c->to))
		return t->err->kind ? -1 : 0;
	children = to->children;
	to->children = xcalloc(c->to->n_children + 1, sizeof(*to->children));
	for (size_t i = 0; i < c->to->n_children && !t->err->kind; i++) {
		inner.n = c->to->kind == ARROW_STRUCT ? to->n : 0;
		(void)!make(&inner, &to->children[i], &c->inner[i],
			    &children[c->inner[i].at]);
	}
	for (size_t i = 0; i < c->from->n_children; i++)
		array_release(&children[i]);
	free(children);
	return t->err->kind ? -1 : 0;
}

static int check_required(const struct array *a, struct error *err)
{
	if (a->field->nullable || !a->n_null)
		return 0;
	return error_set(err, ERR_FORMAT, "column %s is required, but null in %lld rows",
			 a->field->name, (long long)a->n_null);
}

int projection_apply(const struct projection *p, const bool *columns, struct batch *b,
		     struct budget *budget, struct error *err)
{
	cleanup_free size_t *places = xcalloc(p->n_from + 1, sizeof(*places));
	cleanup_free bool *reads = xcalloc(p->n_from + 1, sizeof(*reads));
	struct target t = { b->n, budget, err };
	struct batch made = { .n = b->n };
	size_t n = 0;

	err->kind = ERR_NONE;
	projection_reads(p, columns, reads);
	for (size_t i = 0; i < p->n_from; i++) {
		places[i] = n;
		n += reads[i];
	}
	made.columns = xcalloc(p->n + 1, sizeof(*made.columns));
	for (size_t i = 0; i < p->n && !err->kind; i++) {
		const struct cast *c = &p->casts[i];

		if (columns && !columns[i])
			continue;
		if (!make(&t, &made.columns[made.n_columns++], c,
			  c->from ? &b->columns[places[c->at]] : NULL))
			(void)!check_required(&made.columns[made.n_columns - 1], err);
	}
	batch_release(b);
	*b = made;
	return err->kind ? -1 : 0;
}
