/* Reads batches of rows from a row group: parquet.h. */
#include <string.h>

#include "arrow/leaf.h"
#include "arrow/nest.h"
#include "arrow/parquet_impl.h"
#include "base/xmalloc.h"

struct parquet_scan {
	const struct parquet *p;
	size_t group;
	struct budget *budget;
	struct codec_state codec;
	bool *columns;
	struct leaf *leaves; /* of all columns; unwanted ones are not begun */
	struct leaf_rows *rows;
	int64_t left;
};

struct parquet_scan *parquet_scan_new(const struct parquet *p, size_t group,
				      const bool *columns, struct budget *budget)
{
	struct parquet_scan *s = xcalloc(1, sizeof(*s));

	s->p = p;
	s->group = group;
	s->budget = budget;
	s->left = parquet_rows(p, group);
	s->columns = xcalloc(p->schema.n_fields + 1, sizeof(*s->columns));
	s->leaves = xcalloc(p->schema.n_leaves + 1, sizeof(*s->leaves));
	s->rows = xcalloc(p->schema.n_leaves + 1, sizeof(*s->rows));
	for (size_t i = 0; i < p->schema.n_fields; i++)
		s->columns[i] = !columns || columns[i];
	return s;
}

void parquet_scan_free(struct parquet_scan *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->p->schema.n_leaves; i++) {
		leaf_release(&s->leaves[i]);
		leaf_rows_release(&s->rows[i]);
	}
	codec_release(&s->codec);
	free(s->columns);
	free(s->leaves);
	free(s->rows);
	free(s);
}

bool parquet_wants(const struct parquet_scan *s, size_t leaf)
{
	for (size_t i = 0; i < s->p->schema.n_fields; i++) {
		const struct field *f = &s->p->schema.fields[i];

		if (leaf - f->first_leaf < f->n_leaves)
			return s->columns[i];
	}
	return false;
}

void parquet_scan_give(struct parquet_scan *s, size_t leaf, struct bytes bytes)
{
	struct leaf *l = &s->leaves[leaf];

	l->state = &s->codec;
	l->budget = s->budget;
	l->base = parquet_chunk(s->p, s->group, leaf).offset;
	leaf_begin(l, &s->p->schema.leaves[leaf], parquet_column(s->p, s->group, leaf),
		   (uint64_t)parquet_rows(s->p, s->group), bytes);
}

static int wrap(const struct parquet_scan *s, size_t leaf, struct error *err)
{
	return error_wrap(err, "row group %zu, column %s", s->group,
			  s->p->schema.leaves[leaf].path);
}

int parquet_skip(struct parquet_scan *s, int64_t rows, struct error *err)
{
	rows = rows < s->left ? rows : s->left;
	for (size_t i = 0; i < s->p->schema.n_leaves; i++)
		if (s->leaves[i].type && leaf_skip(&s->leaves[i], (uint64_t)rows, err))
			return wrap(s, i, err);
	s->left -= rows;
	return 0;
}

static int read_leaf(struct parquet_scan *s, size_t i, int64_t rows, struct error *err)
{
	struct leaf *l = &s->leaves[i];

	leaf_rows_release(&s->rows[i]);
	s->rows[i] = (struct leaf_rows){ 0 };
	if (leaf_take(l, &s->rows[i], (uint64_t)rows, err) ||
	    (rows == s->left && leaf_finish(l, err)))
		return wrap(s, i, err);
	return 0;
}

/* One column at a time, so that the levels of its leaves can be freed. */
static int read_column(struct parquet_scan *s, struct array *to, const struct field *f,
		       int64_t rows, struct error *err)
{
	for (size_t i = 0; i < f->n_leaves; i++)
		if (read_leaf(s, f->first_leaf + i, rows, err))
			return -1;
	if (nest(to, f, s->rows, s->budget, rows, err))
		return error_wrap(err, "row group %zu, column %s", s->group, f->name);
	for (size_t i = 0; i < f->n_leaves; i++) {
		leaf_rows_release(&s->rows[f->first_leaf + i]);
		s->rows[f->first_leaf + i] = (struct leaf_rows){ 0 };
	}
	return 0;
}

int parquet_next(struct parquet_scan *s, struct batch *ret, int64_t rows,
		 struct error *err)
{
	const struct schema *schema = &s->p->schema;
	struct batch b = { .n = rows < s->left ? rows : s->left };

	*ret = b;
	if (!b.n)
		return 0;
	b.columns = xcalloc(schema->n_fields + 1, sizeof(*b.columns));
	for (size_t i = 0; i < schema->n_fields; i++) {
		if (!s->columns[i])
			continue;
		if (read_column(s, &b.columns[b.n_columns++], &schema->fields[i], b.n,
				err)) {
			batch_release(&b);
			return -1;
		}
	}
	s->left -= b.n;
	*ret = b;
	return 0;
}

void batch_release(struct batch *b)
{
	for (size_t i = 0; i < b->n_columns; i++)
		array_release(&b->columns[i]);
	free(b->columns);
	*b = (struct batch){ 0 };
}
