/* table_scan.c - reads a table's rows (cache/table.h). */
#include <stdlib.h>
#include <string.h>

#include "arrow/bits.h"
#include "arrow/page_index.h"
#include "arrow/select.h"
#include "base/cleanup.h"
#include "base/xmalloc.h"
#include "cache/table_impl.h"

enum { BATCH = 2 * 1024 * 1024 };

struct table_scan {
	const struct table *t;
	bool *columns;                  /* requested */
	bool *reads;                    /* requested columns and those of the filter */
	const struct predicate *filter; /* NULL: all rows */
	int64_t batch_rows, rows;       /* rows a batch: requested, and for this unit */
	size_t unit;                    /* the current unit, or the next one */
	struct rows left;               /* rows of the table still to read */
	struct parquet_scan *scan;      /* NULL: the unit has not begun */
	int64_t at, end;     /* the next rows of the row group, deleted or not */
	struct block wanted; /* bits of the group's rows; empty: all are */
	struct chunks chunks;
	struct block keep;
};

/* The first unit that ends after the row. */
static size_t find_unit(const struct table *t, int64_t row)
{
	size_t from = 0, to = t->n_units;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (t->units[middle].rows.end <= row)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

struct table_scan *table_scan_new(const struct table *t, struct rows rows,
				  const bool *columns, int64_t batch_rows)
{
	struct table_scan *s = xcalloc(1, sizeof(*s));
	size_t n;

	table_columns(t, &n);
	s->t = t;
	s->columns = xcalloc(n + 1, sizeof(*s->columns));
	s->reads = xcalloc(n + 1, sizeof(*s->reads));
	for (size_t i = 0; i < n; i++)
		s->columns[i] = s->reads[i] = !columns || columns[i];
	s->batch_rows = batch_rows;
	s->left = rows;
	s->unit = find_unit(t, rows.first);
	s->chunks.budget = t->budget;
	return s;
}

void table_scan_filter(struct table_scan *s, const struct predicate *filter)
{
	s->filter = filter;
	for (size_t i = 0; i < predicate_conditions(filter); i++)
		s->reads[predicate_column(filter, i)] = true;
}

static void end_unit(struct table_scan *s)
{
	parquet_scan_free(STEAL(s->scan));
	chunks_release(&s->chunks);
	block_free(&s->wanted);
}

void table_scan_free(struct table_scan *s)
{
	if (!s)
		return;
	end_unit(s);
	block_free(&s->keep);
	free(s->columns);
	free(s->reads);
	free(s);
}

/* ---- which rows of a row group ---- */

static const uint8_t *live_of(const struct unit *u)
{
	return u->file->live ? u->file->live[u->group].data : NULL;
}

/* The number of rows from `at` on that include `n` live ones. */
static int64_t span(const uint8_t *live, int64_t at, int64_t n)
{
	int64_t i = 0;

	if (!live)
		return n;
	for (; n; i++)
		n -= bit_get(live, (uint64_t)(at + i));
	return i;
}

/* The file's column for the table's; -1: the file lacks it. */
static ptrdiff_t file_column(const struct file *f, size_t column)
{
	return f->projection ? projection_from(f->projection, column) : (ptrdiff_t)column;
}

/* May the value that a column has in all rows of a file meet the condition? */
static bool constant_may_match(const struct table_scan *s, const struct file *f,
			       size_t condition)
{
	struct batch row = { .n = 1 };
	cleanup_free bool *columns = NULL;
	uint8_t keep = 1;
	size_t n;

	table_columns(s->t, &n);
	columns = xcalloc(n, sizeof(*columns));
	columns[predicate_column(s->filter, condition)] = true;
	if (!projection_apply(f->projection, columns, &row, s->t->budget, IGNORED))
		predicate_rows(s->filter, condition, &row.columns[0], &keep);
	batch_release(&row);
	return keep;
}

/* Do the partition or the group's statistics exclude all of its rows? */
static bool is_pruned(const struct table_scan *s, const struct unit *u)
{
	for (size_t i = 0; s->filter && i < predicate_conditions(s->filter); i++) {
		ptrdiff_t c = file_column(u->file, predicate_column(s->filter, i));

		if (c < 0 && !constant_may_match(s, u->file, i))
			return true;
		if (c >= 0 && !predicate_may_match(s->filter, i, u->file->parquet,
						   u->group, (size_t)c))
			return true;
	}
	return false;
}

static int begin_wanted(struct table_scan *s, const struct unit *u, struct error *err)
{
	uint64_t n = (uint64_t)parquet_rows(u->file->parquet, u->group);
	const uint8_t *live = live_of(u);

	if (!live && !s->filter)
		return 0;
	if (block_reserve(&s->wanted, s->t->budget, bits_bytes(n), 1, err))
		return error_wrap(err, "%s", u->file->path);
	if (live)
		memcpy(s->wanted.data, live, bits_bytes(n));
	else
		bits_fill(s->wanted.data, 0, true, n);
	return 0;
}

/* Exclude pages by their statistics, if the file has any. */
static int prune_pages(struct table_scan *s, const struct unit *u, size_t condition,
		       struct error *err)
{
	const struct file *f = u->file;
	ptrdiff_t column = file_column(f, predicate_column(s->filter, condition));
	cleanup_arena struct arena arena = { 0 };
	struct page_index_source from = { .file = f->parquet, .group = u->group };
	struct page_index index;
	struct range columns, offsets;
	struct range_want wants[2];
	uint8_t *data;

	if (column < 0 ||
	    !page_index_ranges(f->parquet, u->group, (size_t)column, &columns, &offsets))
		return 0;
	data = arena_alloc(&arena, columns.len + offsets.len);
	wants[0] = (struct range_want){ columns.offset, columns.len, data };
	wants[1] = (struct range_want){ offsets.offset, offsets.len, data + columns.len };
	if (range_read(f->object, wants, 2, err))
		return -1;
	from.column = (size_t)column;
	from.columns = (struct bytes){ data, columns.len };
	from.offsets = (struct bytes){ data + columns.len, offsets.len };
	if (page_index_read(&index, &from, &arena, err))
		return error_wrap(err, "%s", f->path);
	predicate_pages(s->filter, condition, &index, s->wanted.data);
	return 0;
}

static int choose_rows(struct table_scan *s, const struct unit *u, struct error *err)
{
	int64_t end = s->left.end < u->rows.end ? s->left.end : u->rows.end;

	s->at = span(live_of(u), 0, s->left.first - u->rows.first);
	s->end = s->at + span(live_of(u), s->at, end - s->left.first);
	if (begin_wanted(s, u, err))
		return -1;
	for (size_t i = 0; s->filter && i < predicate_conditions(s->filter); i++)
		if (prune_pages(s, u, i, err))
			return -1;
	return 0;
}

/* Skip rows that are not wanted. */
static int skip_rows(struct table_scan *s, struct error *err)
{
	int64_t from = s->at;

	while (s->wanted.data && s->at < s->end &&
	       !bit_get(s->wanted.data, (uint64_t)s->at))
		s->at++;
	return s->at > from ? parquet_skip(s->scan, s->at - from, err) : 0;
}

/* ---- rows ---- */

static int begin_unit(struct table_scan *s, const struct unit *u, struct error *err)
{
	const struct file *f = u->file;
	cleanup_free bool *from = xcalloc(parquet_leaves(f->parquet) + 1, sizeof(*from));

	if (choose_rows(s, u, err))
		return -1;
	if (f->projection)
		projection_reads(f->projection, s->reads, from);
	s->rows = s->batch_rows ? s->batch_rows
				: parquet_batch_rows(f->parquet, u->group, BATCH);
	s->scan = parquet_scan_new(f->parquet, u->group, f->projection ? from : s->reads,
				   s->t->budget);
	if (chunks_read(&s->chunks, f, u->group, s->scan, err))
		return -1;
	return parquet_skip(s->scan, s->at, err) ? error_wrap(err, "%s", f->path) : 0;
}

/* Drop the columns that only the filter needed. */
static void drop_columns(const struct table_scan *s, struct batch *b)
{
	size_t n, read = 0, kept = 0;

	table_columns(s->t, &n);
	for (size_t i = 0; i < n; i++) {
		if (!s->reads[i])
			continue;
		if (s->columns[i])
			b->columns[kept++] = b->columns[read];
		else
			array_release(&b->columns[read]);
		read++;
	}
	b->n_columns = kept;
}

static const struct array *column_of(const struct table_scan *s, const struct batch *b,
				     size_t column)
{
	size_t at = 0;

	for (size_t i = 0; i < column; i++)
		at += s->reads[i];
	return &b->columns[at];
}

/* Remove deleted rows, and those that do not pass the filter. */
static int select_wanted(struct table_scan *s, struct batch *b, struct error *err)
{
	if (!s->wanted.data || !b->n)
		return 0;
	if (block_reserve(&s->keep, s->t->budget, bits_bytes((uint64_t)b->n), 1, err))
		return -1;
	for (int64_t i = 0; i < b->n; i += 56)
		bits_put(s->keep.data, (uint64_t)i,
			 bits_get(s->wanted.data, (uint64_t)(s->at + i), 56),
			 b->n - i < 56 ? (unsigned)(b->n - i) : 56);
	for (size_t i = 0; s->filter && i < predicate_conditions(s->filter); i++)
		predicate_rows(s->filter, i,
			       column_of(s, b, predicate_column(s->filter, i)),
			       s->keep.data);
	return batch_select(b, s->keep.data, s->t->budget, err);
}

static int take_rows(struct table_scan *s, const struct file *f, struct batch *b,
		     struct error *err)
{
	int64_t n = s->end - s->at < s->rows ? s->end - s->at : s->rows;

	if (parquet_next(s->scan, b, n, err))
		return -1;
	n = b->n;
	if ((f->projection &&
	     projection_apply(f->projection, s->reads, b, s->t->budget, err)) ||
	    select_wanted(s, b, err))
		return -1;
	drop_columns(s, b);
	s->at += n;
	return 0;
}

static void next_unit(struct table_scan *s, const struct unit *u)
{
	end_unit(s);
	s->left.first = s->left.end < u->rows.end ? s->left.end : u->rows.end;
	s->unit++;
}

/* The next rows of the unit; none at its end. */
static int unit_next(struct table_scan *s, const struct unit *u, struct batch *ret,
		     struct error *err)
{
	const struct file *f = u->file;

	for (;;) {
		if (skip_rows(s, err))
			return error_wrap(err, "%s", f->path);
		if (s->at == s->end)
			return 0;
		if (take_rows(s, f, ret, err)) {
			batch_release(ret);
			return error_wrap(err, "%s", f->path);
		}
		if (ret->n)
			return 0;
		batch_release(ret);
	}
}

int table_next(struct table_scan *s, struct batch *ret, struct error *err)
{
	*ret = (struct batch){ 0 };
	while (s->left.first < s->left.end && s->unit < s->t->n_units) {
		const struct unit *u = &s->t->units[s->unit];

		if (!s->scan && is_pruned(s, u)) {
			next_unit(s, u);
			continue;
		}
		if ((!s->scan && begin_unit(s, u, err)) || unit_next(s, u, ret, err))
			return -1;
		if (ret->n)
			return 0;
		next_unit(s, u);
	}
	return 0;
}
