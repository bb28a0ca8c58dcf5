/* Evaluates conditions on rows, pages and row groups: predicate.h. */
#include "arrow/predicate.h"

#include <stdlib.h>
#include <string.h>

#include "arrow/bits.h"
#include "arrow/page_index.h"
#include "arrow/parquet_impl.h"
#include "arrow/scalar.h"
#include "base/cleanup.h"
#include "base/nearest.h"
#include "base/str.h"
#include "base/xmalloc.h"

enum { MAX_CONDITIONS = 1000, MAX_VALUES = 100000, MAX_NAMES = 64 };

enum op { OP_EQ, OP_NE, OP_LT, OP_LE, OP_GT, OP_GE, OP_IN, OP_NULL };

static const char *const ops[] = { "=", "!=", "<", "<=", ">", ">=", "in", "is null" };

struct condition {
	size_t column;
	const struct field *field;
	enum scalar_class class;
	enum op op;
	bool null; /* operand of "is null" */
	struct scalar *values;
	size_t n; /* operands of "in" are sorted */
};

struct predicate {
	struct arena arena;
	struct condition *list;
	size_t n;
};

/* ---- parsing ---- */

static int find_column(struct condition *c, const struct field *columns, size_t n,
		       const cJSON *name, struct error *err)
{
	const char *names[MAX_NAMES + 1] = { 0 };
	cleanup_arena struct arena arena = { 0 };

	if (!cJSON_IsString(name))
		return error_set(err, ERR_INVALID,
				 "expected [COLUMN, OPERATOR, LITERAL]");
	for (size_t i = 0; i < n; i++)
		if (str_eq(columns[i].name, name->valuestring)) {
			c->column = i;
			c->field = &columns[i];
			c->class = scalar_class(c->field);
			return 0;
		}
	for (size_t i = 0; i < n && i < MAX_NAMES; i++)
		names[i] = columns[i].name;
	return error_set(err, ERR_INVALID, "no column '%.100s'%s",
			 str_visible(&arena, name->valuestring, false),
			 nearest_hint(&arena, name->valuestring, names));
}

static int find_op(struct condition *c, const cJSON *op, struct error *err)
{
	for (size_t i = 0; i < N_ELEMENTS(ops); i++)
		if (cJSON_IsString(op) && str_eq(op->valuestring, ops[i])) {
			c->op = (enum op)i;
			return 0;
		}
	return error_set(err, ERR_INVALID,
			 "column %s: unknown operator: expected =, !=, <, <=, >, "
			 ">=, in or is null",
			 c->field->name);
}

static size_t count(const cJSON *list, size_t max)
{
	const cJSON *each;
	size_t n = 0;

	json_each(each, list)
		n += n <= max;
	return n;
}

static int by_value(const void *a, const void *b, void *condition)
{
	const struct condition *c = condition;

	return scalar_compare(c->class, a, b);
}

static int read_values(struct predicate *p, struct condition *c, const cJSON *literal,
		       struct error *err)
{
	const cJSON *each;

	if (c->class == SCALAR_NONE)
		return error_set(err, ERR_INVALID,
				 "column %s: values of this type cannot be compared",
				 c->field->name);
	if (c->op != OP_IN) {
		c->n = 1;
		c->values = arena_alloc(&p->arena, sizeof(*c->values));
		return scalar_of_json(c->values, &p->arena, c->field, literal, err);
	}
	if (!cJSON_IsArray(literal) || count(literal, MAX_VALUES) > MAX_VALUES)
		return error_set(err, ERR_INVALID, "column %s: expected a list of values",
				 c->field->name);
	c->values = arena_alloc(&p->arena,
				(count(literal, MAX_VALUES) + 1) * sizeof(*c->values));
	json_each(each, literal) {
		struct scalar *v = &c->values[c->n];

		if (scalar_of_json(v, &p->arena, c->field, each, err))
			return -1;
		c->n += scalar_compare(c->class, v, v) == 0; /* NaN is equal to nothing */
	}
	qsort_r(c->values, c->n, sizeof(*c->values), by_value, c);
	return 0;
}

static int read_condition(struct predicate *p, struct condition *c, const cJSON *node,
			  const struct field *columns, size_t n, struct error *err)
{
	const cJSON *name = node->child, *op = name ? name->next : NULL;
	const cJSON *literal = op ? op->next : NULL;

	if (!cJSON_IsArray(node) || !op || (literal && literal->next))
		return error_set(err, ERR_INVALID,
				 "expected [COLUMN, OPERATOR, LITERAL]");
	if (find_column(c, columns, n, name, err) || find_op(c, op, err))
		return -1;
	c->null = !literal || cJSON_IsTrue(literal);
	if (c->op == OP_NULL)
		return !literal || cJSON_IsBool(literal)
			       ? 0
			       : error_set(err, ERR_INVALID,
					   "column %s: expected true or false",
					   c->field->name);
	if (!literal)
		return error_set(err, ERR_INVALID, "column %s: the literal is missing",
				 c->field->name);
	return read_values(p, c, literal, err);
}

int predicate_parse(struct predicate **ret, const void *json, size_t len,
		    const struct field *columns, size_t n, struct error *err)
{
	cleanup_predicate struct predicate *p = xcalloc(1, sizeof(*p));
	cleanup_json cJSON *doc = NULL;
	const cJSON *each;

	if (json_parse(&doc, json, len, err))
		return -1;
	if (!cJSON_IsArray(doc) || count(doc, MAX_CONDITIONS) > MAX_CONDITIONS)
		return error_set(err, ERR_INVALID,
				 "expected a list of [COLUMN, OPERATOR, LITERAL]");
	p->list = arena_alloc(&p->arena,
			      (count(doc, MAX_CONDITIONS) + 1) * sizeof(*p->list));
	if (cJSON_IsString(doc->child)) {
		if (read_condition(p, &p->list[p->n++], doc, columns, n, err))
			return -1;
		*ret = STEAL(p);
		return 0;
	}
	json_each(each, doc)
		if (read_condition(p, &p->list[p->n++], each, columns, n, err))
			return -1;
	*ret = STEAL(p);
	return 0;
}

void predicate_free(struct predicate *p)
{
	if (!p)
		return;
	arena_clear(&p->arena);
	free(p);
}

size_t predicate_conditions(const struct predicate *p)
{
	return p->n;
}

size_t predicate_column(const struct predicate *p, size_t condition)
{
	return p->list[condition].column;
}

/* ---- rows ---- */

static bool holds(enum op op, int order)
{
	switch (op) {
	case OP_EQ:
		return order == 0;
	case OP_NE:
		return order != 0;
	case OP_LT:
		return order == -1;
	case OP_LE:
		return order == -1 || order == 0;
	case OP_GT:
		return order == 1;
	default:
		return order == 1 || order == 0;
	}
}

static bool is_in(const struct condition *c, const struct scalar *s)
{
	size_t low = 0, high = c->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = scalar_compare(c->class, s, &c->values[middle]);

		if (order == 0)
			return true;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return false;
}

static bool meets(const struct condition *c, const struct array *a, int64_t row)
{
	bool valid = a->field->kind != ARROW_NULL && array_is_valid(a, row);
	struct scalar s;

	if (c->op == OP_NULL)
		return valid != c->null;
	if (!valid)
		return false;
	s = scalar_at(a, row);
	return c->op == OP_IN ? is_in(c, &s)
			      : holds(c->op, scalar_compare(c->class, &s, c->values));
}

void predicate_rows(const struct predicate *p, size_t condition, const struct array *a,
		    uint8_t *keep)
{
	const struct condition *c = &p->list[condition];

	for (int64_t i = 0; i < a->n; i++)
		if (bit_get(keep, (uint64_t)i) && !meets(c, a, i))
			keep[i >> 3] &= (uint8_t) ~(1u << (i & 7));
}

/* ---- statistics ---- */

struct bounds {
	struct scalar min, max;
	bool has_min, has_max;
};

static bool may_be(const struct condition *c, const struct bounds *b,
		   const struct scalar *v)
{
	int min = b->has_min ? scalar_compare(c->class, &b->min, v) : SCALAR_UNORDERED;
	int max = b->has_max ? scalar_compare(c->class, &b->max, v) : SCALAR_UNORDERED;

	switch (c->op) {
	case OP_EQ:
	case OP_IN:
		return min != 1 && max != -1;
	case OP_LT:
		return min != 0 && min != 1;
	case OP_LE:
		return min != 1;
	case OP_GT:
		return max != 0 && max != -1;
	case OP_GE:
		return max != -1;
	default: /* bounds of strings may be truncated, and bounds of floats ignore NaN */
		return c->class != SCALAR_INTEGER || min != 0 || max != 0;
	}
}

/* Bounds are usable only if the table's type differs at most in its width. */
static bool same_scale(const struct field *a, const struct field *b)
{
	return scalar_class(a) == scalar_class(b) && a->unit == b->unit &&
	       a->scale == b->scale &&
	       (a->kind == ARROW_DECIMAL) == (b->kind == ARROW_DECIMAL);
}

/* n: number of rows. A negative null count means unknown. */
static bool may_match(const struct condition *c, const struct leaf_type *leaf,
		      const struct statistics *s, int64_t n)
{
	struct bounds b = { 0 };

	if (c->op == OP_NULL)
		return s->null_count < 0 ||
		       (c->null ? s->null_count > 0 : s->null_count < n);
	if (s->null_count >= n && s->null_count >= 0 && n > 0)
		return false;
	if (!same_scale(c->field, leaf->field))
		return true;
	b.has_min = s->min.data && scalar_of_statistics(&b.min, leaf, s->min);
	b.has_max = s->max.data && scalar_of_statistics(&b.max, leaf, s->max);
	for (size_t i = 0; i < c->n; i++)
		if (may_be(c, &b, &c->values[i]))
			return true;
	return false;
}

bool predicate_may_match(const struct predicate *p, size_t condition,
			 const struct parquet *file, size_t group, size_t column)
{
	const struct field *f = &file->schema.fields[column];

	if (field_has_children(f) || !file->footer.ordered)
		return true;
	return may_match(&p->list[condition], &file->schema.leaves[f->first_leaf],
			 &parquet_column(file, group, f->first_leaf)->statistics,
			 parquet_rows(file, group));
}

void predicate_pages(const struct predicate *p, size_t condition,
		     const struct page_index *index, uint8_t *keep)
{
	const struct condition *c = &p->list[condition];

	for (size_t i = 0; i < index->n; i++) {
		const struct page_statistics *page = &index->pages[i];
		int64_t end =
			i + 1 < index->n ? index->pages[i + 1].first_row : index->rows;
		struct statistics s = page->statistics;

		if (page->only_nulls)
			s.null_count = end - page->first_row;
		if (may_match(c, index->leaf, &s, end - page->first_row))
			continue;
		for (int64_t row = page->first_row; row < end; row++)
			keep[row >> 3] &= (uint8_t) ~(1u << (row & 7));
	}
}
