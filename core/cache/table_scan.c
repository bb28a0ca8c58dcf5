/* Reads a table's rows: table.h. */
#include <stdlib.h>

#include "arrow/bits.h"
#include "arrow/select.h"
#include "base/cleanup.h"
#include "base/xmalloc.h"
#include "cache/table_impl.h"

enum { BATCH = 2 * 1024 * 1024 };

struct table_scan {
	const struct table *t;
	const bool *columns;
	int64_t batch_rows, rows;  /* as asked for, and in this unit */
	size_t unit;               /* the current one, or the next to be begun */
	struct rows left;          /* of the table */
	struct parquet_scan *scan; /* NULL: the unit is not begun */
	int64_t at;                /* the next row of the row group, deleted or not */
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

	s->t = t;
	s->columns = columns;
	s->batch_rows = batch_rows;
	s->left = rows;
	s->unit = find_unit(t, rows.first);
	s->chunks.budget = t->budget;
	return s;
}

static void end_unit(struct table_scan *s)
{
	parquet_scan_free(STEAL(s->scan));
	chunks_release(&s->chunks);
}

void table_scan_free(struct table_scan *s)
{
	if (!s)
		return;
	end_unit(s);
	block_free(&s->keep);
	free(s);
}

/* ---- deleted rows ---- */

static const uint8_t *live_of(const struct unit *u)
{
	return u->file->live ? u->file->live[u->group].data : NULL;
}

/* How many rows from `at` on, at most `most`, have `n` that are not deleted. */
static int64_t span(const uint8_t *live, int64_t at, int64_t most, int64_t n)
{
	int64_t i = 0;

	if (!live)
		return n < most ? n : most;
	for (; i < most && n; i++)
		n -= bit_get(live, (uint64_t)(at + i));
	return i;
}

static int drop_deleted(struct table_scan *s, const uint8_t *live, struct batch *b,
			struct error *err)
{
	if (!live || !b->n)
		return 0;
	if (block_reserve(&s->keep, s->t->budget, bitmap_bytes((uint64_t)b->n), 1, err))
		return -1;
	for (int64_t i = 0; i < b->n; i += 56)
		bits_put(s->keep.data, (uint64_t)i,
			 bits_get(live, (uint64_t)(s->at + i), 56),
			 b->n - i < 56 ? (unsigned)(b->n - i) : 56);
	return batch_select(b, s->keep.data, s->t->budget, err);
}

/* ---- rows ---- */

static int begin_unit(struct table_scan *s, const struct unit *u, struct error *err)
{
	const struct file *f = u->file;
	cleanup_free bool *reads =
		xcalloc(parquet_leaves(f->parquet) + 1, sizeof(*reads));

	if (f->projection)
		projection_reads(f->projection, s->columns, reads);
	s->rows = s->batch_rows ? s->batch_rows
				: parquet_batch_rows(f->parquet, u->group, BATCH);
	s->scan = parquet_scan_new(f->parquet, u->group,
				   f->projection ? reads : s->columns, s->t->budget);
	if (chunks_read(&s->chunks, f, u->group, s->scan, err))
		return -1;
	s->at = span(live_of(u), 0, parquet_rows(f->parquet, u->group),
		     s->left.first - u->rows.first);
	if (parquet_skip(s->scan, s->at, err))
		return error_wrap(err, "%s", f->path);
	return 0;
}

/* The next rows of the row group that are not deleted: none or more. */
static int next_rows(struct table_scan *s, const struct unit *u, struct batch *ret,
		     struct error *err)
{
	const struct file *f = u->file;
	int64_t left = s->left.end - s->left.first, read;
	int64_t most = parquet_rows(f->parquet, u->group) - s->at;

	most = most < s->rows ? most : s->rows;
	if (parquet_next(s->scan, ret, span(live_of(u), s->at, most, left), err))
		return error_wrap(err, "%s", f->path);
	read = ret->n;
	if ((f->projection &&
	     projection_apply(f->projection, s->columns, ret, s->t->budget, err)) ||
	    drop_deleted(s, live_of(u), ret, err)) {
		batch_release(ret);
		return error_wrap(err, "%s", f->path);
	}
	s->at += read;
	s->left.first += ret->n;
	return 0;
}

int table_next(struct table_scan *s, struct batch *ret, struct error *err)
{
	*ret = (struct batch){ 0 };
	while (s->left.first < s->left.end && s->unit < s->t->n_units) {
		const struct unit *u = &s->t->units[s->unit];

		if (s->left.first == u->rows.end) {
			end_unit(s);
			s->unit++;
			continue;
		}
		if (!s->scan && begin_unit(s, u, err))
			return -1;
		if (next_rows(s, u, ret, err))
			return -1;
		if (ret->n)
			return 0;
		batch_release(ret);
	}
	return 0;
}
