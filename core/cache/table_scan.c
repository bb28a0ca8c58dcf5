/* Reads a table's rows: table.h. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/xmalloc.h"
#include "cache/table_impl.h"

enum {
	BATCH = 2 * 1024 * 1024,
	GAP = 256 * 1024, /* bytes that cost less than another request */
};

struct table_scan {
	const struct table *t;
	const bool *columns;
	int64_t batch_rows, rows;  /* as asked for, and in this unit */
	size_t unit;               /* the current one, or the next to be begun */
	struct rows left;          /* of the table */
	struct parquet_scan *scan; /* NULL: the unit is not begun */
	struct block *blocks;      /* of its bytes */
	size_t n_blocks;
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
	return s;
}

static void end_unit(struct table_scan *s)
{
	parquet_scan_free(STEAL(s->scan));
	for (size_t i = 0; i < s->n_blocks; i++)
		block_free(&s->blocks[i]);
	free(STEAL(s->blocks));
	s->n_blocks = 0;
}

void table_scan_free(struct table_scan *s)
{
	if (!s)
		return;
	end_unit(s);
	free(s);
}

/* ---- the bytes of a unit ---- */

struct chunk {
	size_t leaf;
	struct range at;
};

static int by_offset(const void *a, const void *b)
{
	const struct chunk *x = a, *y = b;

	return (x->at.offset > y->at.offset) - (x->at.offset < y->at.offset);
}

static uint64_t end_of(struct range r)
{
	return r.offset + r.len;
}

/* Neighbors in one block: reads n chunks, or as many as are close. */
static size_t join(const struct chunk *c, size_t n, struct range *ret)
{
	size_t k = 1;

	*ret = c[0].at;
	for (; k < n && c[k].at.offset <= end_of(*ret) + GAP; k++)
		if (end_of(c[k].at) > end_of(*ret))
			ret->len = end_of(c[k].at) - ret->offset;
	return k;
}

static int read_chunks(struct table_scan *s, const struct file *f, struct chunk *chunks,
		       size_t n, struct error *err)
{
	cleanup_free struct range_want *wants = xcalloc(n + 1, sizeof(*wants));
	struct range at;

	s->blocks = xcalloc(n + 1, sizeof(*s->blocks));
	for (size_t i = 0, k; i < n; i += k) {
		struct block *b = &s->blocks[s->n_blocks];

		k = join(&chunks[i], n - i, &at);
		if (block_reserve(b, s->t->budget, at.len, 1, err))
			return error_wrap(err, "%s", f->path);
		wants[s->n_blocks++] = (struct range_want){ at.offset, at.len, b->data };
		for (size_t j = i; j < i + k; j++)
			parquet_scan_give(
				s->scan, chunks[j].leaf,
				(struct bytes){ b->data + chunks[j].at.offset - at.offset,
						chunks[j].at.len });
	}
	return range_read(f->object, wants, s->n_blocks, err);
}

static int begin_unit(struct table_scan *s, const struct unit *u, struct error *err)
{
	const struct file *f = u->file;
	size_t leaves = parquet_leaves(f->parquet), n = 0;
	cleanup_free struct chunk *chunks = xcalloc(leaves + 1, sizeof(*chunks));

	s->rows = s->batch_rows ? s->batch_rows
				: parquet_batch_rows(f->parquet, u->group, BATCH);
	s->scan = parquet_scan_new(f->parquet, u->group, s->columns, s->t->budget);
	for (size_t i = 0; i < leaves; i++)
		if (parquet_wants(s->scan, i))
			chunks[n++] = (struct chunk){ i, parquet_chunk(f->parquet,
								       u->group, i) };
	qsort(chunks, n, sizeof(*chunks), by_offset);
	if (read_chunks(s, f, chunks, n, err))
		return -1;
	if (parquet_skip(s->scan, s->left.first - u->rows.first, err))
		return error_wrap(err, "%s", f->path);
	return 0;
}

/* ---- rows ---- */

int table_next(struct table_scan *s, struct batch *ret, struct error *err)
{
	*ret = (struct batch){ 0 };
	while (s->left.first < s->left.end && s->unit < s->t->n_units) {
		const struct unit *u = &s->t->units[s->unit];
		int64_t left = s->left.end - s->left.first;

		if (!s->scan && begin_unit(s, u, err))
			return -1;
		if (parquet_next(s->scan, ret, left < s->rows ? left : s->rows, err))
			return error_wrap(err, "%s", u->file->path);
		if (ret->n) {
			s->left.first += ret->n;
			return 0;
		}
		end_unit(s);
		s->unit++;
	}
	return 0;
}
