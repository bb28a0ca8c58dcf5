/*
 * deletes.c - find the deleted rows of an Iceberg table (cache/table_impl.h).
 *
 * A position delete applies to data files of its partition that are not newer; an
 * equality delete to older ones of its partition, or without a partition to all older
 * ones (iceberg/format/spec.md, "Scan Planning").
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/bits.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "cache/table_impl.h"

enum {
	ROWS = 16384,
	POS_ID = 2147483545,
	PATH_ID = 2147483546,
	MAX_KEY = 1 << 20,
};

/* A position, and the delete file that lists it. */
struct position {
	int64_t at;
	const struct iceberg_file *by;
};

struct positions {
	struct position *list;
	size_t n, cap;
};

/* The values of a deleted row, and the sequence number of their newest delete. */
struct key {
	const uint8_t *data;
	size_t len;
	int64_t sequence;
};

/* Equality deletes by the same columns, of the same partition. */
struct equality {
	const struct iceberg_file *like;
	struct field *columns; /* of like->equality */
	struct key *keys;      /* sorted */
	size_t n, cap;
};

struct deletes {
	struct arena arena;
	struct budget *budget;
	size_t taken;
	struct map positions; /* struct positions, by data file */
	struct equality *equality;
	size_t n_equality;
};

static int take_memory(struct deletes *d, size_t bytes, struct error *err)
{
	if (budget_take(d->budget, bytes, err))
		return -1;
	d->taken += bytes;
	return 0;
}

/* Grow an array of n for one more element, by doubling. */
static int grow(struct deletes *d, void **list, size_t n, size_t *cap, size_t size,
		struct error *err)
{
	size_t more = *cap ? *cap : 64;

	if (n < *cap)
		return 0;
	if (take_memory(d, more * size, err))
		return -1;
	*list = xreallocarray(*list, *cap + more, size);
	*cap += more;
	return 0;
}

/* ---- rows of a file ---- */

/* Reads columns of a data or delete file, batch by batch. */
struct reading {
	struct table *t;
	const struct file *f;
	const struct field *columns;
	size_t n;
	struct projection *projection;
	int (*take)(struct reading *r, const struct batch *b, struct error *err);
	void *ctx;
	size_t group;
	int64_t row; /* position in the row group of the batch's first row */
};

static int read_batches(struct reading *r, struct parquet_scan *scan, struct error *err)
{
	for (;;) {
		cleanup_batch struct batch b = { 0 };
		int64_t n;

		if (parquet_next(scan, &b, ROWS, err))
			return -1;
		n = b.n;
		if (!n)
			return 0;
		if (projection_apply(r->projection, NULL, &b, r->t->budget, err) ||
		    r->take(r, &b, err))
			return -1;
		r->row += n;
	}
}

static int read_group(struct reading *r, const bool *reads, struct error *err)
{
	__attribute__((cleanup(
		chunks_release))) struct chunks chunks = { .budget = r->t->budget };
	cleanup_parquet_scan struct parquet_scan *scan =
		parquet_scan_new(r->f->parquet, r->group, reads, r->t->budget);

	r->row = 0;
	if (chunks_read(&chunks, r->f, r->group, scan, err))
		return -1;
	return read_batches(r, scan, err) ? error_wrap(err, "%s", r->f->path) : 0;
}

/* A delete file without one of its columns would delete the rows where that is null. */
static int check_columns(const struct reading *r, struct error *err)
{
	if (r->f->entry->content == ICEBERG_DATA)
		return 0;
	for (size_t i = 0; i < r->n; i++)
		if (projection_from(r->projection, i) < 0)
			return error_set(err, ERR_FORMAT,
					 "%s: column %s (field id %d), by which it "
					 "deletes rows, is missing",
					 r->f->path, r->columns[i].name,
					 r->columns[i].id);
	return 0;
}

static int read_rows(struct reading *r, struct error *err)
{
	struct project_sides s = { .to = r->columns, .n_to = r->n };
	cleanup_projection struct projection *p = NULL;
	cleanup_free bool *reads = NULL;
	int rc = 0;

	s.from = parquet_columns(r->f->parquet, &s.n_from);
	if (r->f->entry->content == ICEBERG_DATA) {
		s.constants = r->f->entry->constants;
		s.n_constants = r->f->entry->n_constants;
	}
	if (projection_new(&p, &s, err))
		return error_wrap(err, "%s", r->f->path);
	r->projection = p;
	if (check_columns(r, err))
		return -1;
	reads = xcalloc(s.n_from + 1, sizeof(*reads));
	projection_reads(p, NULL, reads);
	for (r->group = 0; !rc && r->group < parquet_groups(r->f->parquet); r->group++)
		rc = read_group(r, reads, err);
	return rc;
}

/* Open, read and close a delete file. */
static int read_delete_file(struct reading *r, const struct iceberg_file *entry,
			    struct error *err)
{
	struct file f = { .path = entry->path, .entry = entry };
	int rc;

	r->f = &f;
	rc = locations_open(r->t->locations, f.path, entry->size, &f.object, err) ||
	     file_open_parquet(&f, r->t->budget, err) || read_rows(r, err);
	parquet_free(f.parquet);
	range_close(f.object);
	return rc ? -1 : 0;
}

static struct bytes text_at(const struct array *a, int64_t row)
{
	const int32_t *offsets = (const int32_t *)(const void *)a->offsets.data;

	return (struct bytes){ a->values.data + offsets[row],
			       (size_t)(offsets[row + 1] - offsets[row]) };
}

/* ---- positions ---- */

static int add_position(struct deletes *d, struct positions *p, struct position at,
			struct error *err)
{
	void *list = p->list;

	if (grow(d, &list, p->n, &p->cap, sizeof(*p->list), err))
		return -1;
	p->list = list;
	p->list[p->n++] = at;
	return 0;
}

static int take_positions(struct reading *r, const struct batch *b, struct error *err)
{
	struct deletes *d = r->ctx;
	const struct array *paths = &b->columns[0];
	const int64_t *at = (const int64_t *)(const void *)b->columns[1].values.data;

	for (int64_t i = 0; i < b->n; i++) {
		cleanup_arena struct arena arena = { 0 };
		struct bytes path = text_at(paths, i);
		struct positions *p;

		p = map_get(&d->positions,
			    str_slice(&arena, (const char *)path.data, path.len));
		if (p && add_position(d, p, (struct position){ at[i], r->f->entry }, err))
			return -1;
	}
	return 0;
}

static int read_positions(struct deletes *d, struct table *t,
			  const struct iceberg_file *entry, struct error *err)
{
	static struct field columns[] = {
		{ .name = (char *)(uintptr_t) "file_path",
		  .kind = ARROW_STRING,
		  .id = PATH_ID },
		{ .name = (char *)(uintptr_t) "pos",
		  .kind = ARROW_INT64,
		  .width = 8,
		  .id = POS_ID },
	};
	struct reading r = {
		.t = t, .columns = columns, .n = 2, .take = take_positions, .ctx = d
	};

	return read_delete_file(&r, entry, err);
}

/* ---- equality ---- */

static bool same_ids(const struct iceberg_file *a, const struct iceberg_file *b)
{
	return a->n_equality == b->n_equality &&
	       !memcmp(a->equality, b->equality, a->n_equality * sizeof(*a->equality));
}

static bool same_partition(const struct iceberg_file *a, const struct iceberg_file *b)
{
	return a->spec == b->spec && a->partition.len == b->partition.len &&
	       !memcmp(a->partition.data, b->partition.data, a->partition.len);
}

static int find_columns(struct deletes *d, struct table *t, struct equality *e,
			struct error *err)
{
	const struct iceberg_file *f = e->like;

	e->columns = arena_alloc(&d->arena, (f->n_equality + 1) * sizeof(*e->columns));
	for (size_t i = 0; i < f->n_equality; i++) {
		const struct field *c = iceberg_field(t->iceberg, f->equality[i]);

		if (!c || field_has_children(c))
			return error_set(err, ERR_UNSUPPORTED,
					 "%s: deletes rows by field %d, which is not a "
					 "column of plain values",
					 f->path, f->equality[i]);
		e->columns[i] = *c;
		e->columns[i].nullable = true;
	}
	return 0;
}

static struct equality *equality_of(struct deletes *d, struct table *t,
				    const struct iceberg_file *f, struct error *err)
{
	struct equality *e;

	for (size_t i = 0; i < d->n_equality; i++) {
		e = &d->equality[i];
		if (same_ids(e->like, f) && e->like->unpartitioned == f->unpartitioned &&
		    (f->unpartitioned || same_partition(e->like, f)))
			return e;
	}
	d->equality = xreallocarray(d->equality, d->n_equality + 1, sizeof(*d->equality));
	e = &d->equality[d->n_equality];
	*e = (struct equality){ .like = f };
	if (find_columns(d, t, e, err))
		return NULL;
	d->n_equality++;
	return e;
}

/* All NaNs are one value. */
static void add_value(struct buf *key, const struct array *a, int64_t row)
{
	const struct field *f = a->field;
	const uint8_t *p = a->values.data + (uint64_t)row * f->width;
	double real = 0;
	float single = 0;

	if (f->kind == ARROW_DOUBLE)
		memcpy(&real, p, sizeof(real));
	if (f->kind == ARROW_FLOAT)
		memcpy(&single, p, sizeof(single));
	if (isnan(real) || isnan(single))
		buf_adds(key, "NaN");
	else
		buf_add(key, p, f->width);
}

static void add_cell(struct buf *key, const struct array *a, int64_t row)
{
	const uint8_t valid = array_is_valid(a, row);
	struct bytes text;
	uint8_t bit;

	buf_add(key, &valid, 1);
	if (!valid)
		return;
	if (a->field->kind == ARROW_BOOL) {
		bit = bit_get(a->values.data, (uint64_t)row);
		buf_add(key, &bit, 1);
	} else if (a->field->kind == ARROW_STRING || a->field->kind == ARROW_BINARY) {
		text = text_at(a, row);
		buf_add(key, &text.len, sizeof(text.len));
		buf_add(key, text.data, text.len);
	} else {
		add_value(key, a, row);
	}
}

static int make_key(struct buf *key, const struct batch *b, int64_t row,
		    struct error *err)
{
	buf_clear(key);
	for (size_t i = 0; i < b->n_columns; i++)
		add_cell(key, &b->columns[i], row);
	return buf_check(key, "the values of a row", err);
}

struct adding {
	struct deletes *d;
	struct equality *e;
};

static int add_key(struct adding *a, const struct buf *key, int64_t sequence,
		   struct error *err)
{
	struct equality *e = a->e;
	void *list = e->keys;
	uint8_t *data;

	if (grow(a->d, &list, e->n, &e->cap, sizeof(*e->keys), err))
		return -1;
	e->keys = list;
	if (take_memory(a->d, key->len, err))
		return -1;
	data = arena_alloc(&a->d->arena, key->len + 1);
	memcpy(data, key->data, key->len);
	e->keys[e->n++] = (struct key){ data, key->len, sequence };
	return 0;
}

static int take_keys(struct reading *r, const struct batch *b, struct error *err)
{
	cleanup_buf struct buf key = { .max = MAX_KEY };

	for (int64_t i = 0; i < b->n; i++)
		if (make_key(&key, b, i, err) ||
		    add_key(r->ctx, &key, r->f->entry->sequence, err))
			return -1;
	return 0;
}

static int read_equality(struct deletes *d, struct table *t,
			 const struct iceberg_file *entry, struct error *err)
{
	struct equality *e = equality_of(d, t, entry, err);
	struct adding adding = { d, e };
	struct reading r = { .t = t, .take = take_keys, .ctx = &adding };

	if (!e)
		return -1;
	r.columns = e->columns;
	r.n = e->like->n_equality;
	return read_delete_file(&r, entry, err);
}

static int compare(const struct key *a, const struct key *b)
{
	int c = memcmp(a->data, b->data, a->len < b->len ? a->len : b->len);

	return c ? c : (a->len > b->len) - (a->len < b->len);
}

static int by_key(const void *a, const void *b)
{
	const struct key *x = a, *y = b;
	int c = compare(x, y);

	return c ? c : (x->sequence < y->sequence) - (x->sequence > y->sequence);
}

/* Sort the keys and remove duplicates but the newest. */
static void sort_keys(struct equality *e)
{
	size_t n = 0;

	if (e->n)
		qsort(e->keys, e->n, sizeof(*e->keys), by_key);
	for (size_t i = 0; i < e->n; i++)
		if (!n || compare(&e->keys[n - 1], &e->keys[i]))
			e->keys[n++] = e->keys[i];
	e->n = n;
}

/* ---- all delete files ---- */

static bool has_deletes(const struct iceberg_file *all, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (all[i].content != ICEBERG_DATA)
			return true;
	return false;
}

int deletes_read(struct deletes **ret, struct table *t, struct error *err)
{
	size_t n;
	const struct iceberg_file *all = iceberg_files(t->iceberg, &n);
	struct deletes *d;
	int rc = 0;

	if (!has_deletes(all, n) || !t->n)
		return 0;
	d = *ret = xcalloc(1, sizeof(*d));
	d->budget = t->budget;
	for (size_t i = 0; i < t->n; i++)
		if (!map_get(&d->positions, t->files[i].path))
			map_put(&d->positions, t->files[i].path,
				arena_alloc(&d->arena, sizeof(struct positions)));
	for (size_t i = 0; i < n && !rc; i++)
		if (all[i].content == ICEBERG_POSITIONS)
			rc = read_positions(d, t, &all[i], err);
		else if (all[i].content == ICEBERG_EQUALITY)
			rc = read_equality(d, t, &all[i], err);
	for (size_t i = 0; i < d->n_equality; i++)
		sort_keys(&d->equality[i]);
	return rc;
}

void deletes_free(struct deletes *d)
{
	if (!d)
		return;
	map_each(e, &d->positions)
		free(((struct positions *)e->value)->list);
	for (size_t i = 0; i < d->n_equality; i++)
		free(d->equality[i].keys);
	free(d->equality);
	map_release(&d->positions, NULL);
	budget_give(d->budget, d->taken);
	arena_clear(&d->arena);
	free(d);
}

/* ---- the rows of a data file ---- */

struct applying {
	struct file *f;
	const struct equality *e;
};

static int kill_row(struct table *t, struct file *f, size_t group, int64_t row,
		    struct error *err)
{
	struct block *b = &f->live[group];
	uint64_t n = (uint64_t)parquet_rows(f->parquet, group);

	if (!b->data) {
		if (block_reserve(b, t->budget, bits_bytes(n), 1, err))
			return -1;
		bits_fill(b->data, 0, true, n);
	}
	b->data[row >> 3] &= (uint8_t) ~(1u << (row & 7));
	return 0;
}

static int kill_position(struct table *t, struct file *f, int64_t at, struct error *err)
{
	int64_t row = at;

	for (size_t g = 0; row >= 0 && g < parquet_groups(f->parquet); g++) {
		if (row < parquet_rows(f->parquet, g))
			return kill_row(t, f, g, row, err);
		row -= parquet_rows(f->parquet, g);
	}
	return error_set(err, ERR_FORMAT, "row %lld is deleted, but not in the file",
			 (long long)at);
}

static int apply_positions(const struct deletes *d, struct table *t, struct file *f,
			   struct error *err)
{
	const struct positions *p = map_get(&d->positions, f->path);

	for (size_t i = 0; p && i < p->n; i++)
		if (p->list[i].by->sequence >= f->entry->sequence &&
		    same_partition(p->list[i].by, f->entry) &&
		    kill_position(t, f, p->list[i].at, err))
			return error_wrap(err, "%s", p->list[i].by->path);
	return 0;
}

/* The newest delete of these values; -1: none. */
static int64_t deleted_at(const struct equality *e, const struct buf *key)
{
	const struct key wanted = { key->data, key->len, 0 };
	size_t from = 0, to = e->n;

	while (from < to) {
		size_t middle = from + (to - from) / 2;
		int c = compare(&e->keys[middle], &wanted);

		if (!c)
			return e->keys[middle].sequence;
		if (c < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return -1;
}

static int take_rows(struct reading *r, const struct batch *b, struct error *err)
{
	cleanup_buf struct buf key = { .max = MAX_KEY };
	struct applying *a = r->ctx;

	for (int64_t i = 0; i < b->n; i++) {
		if (make_key(&key, b, i, err))
			return -1;
		if (deleted_at(a->e, &key) > a->f->entry->sequence &&
		    kill_row(r->t, a->f, r->group, r->row + i, err))
			return -1;
	}
	return 0;
}

static int apply_equality(const struct equality *e, struct table *t, struct file *f,
			  struct error *err)
{
	struct applying a = { f, e };
	struct reading r = { .t = t,
			     .f = f,
			     .columns = e->columns,
			     .n = e->like->n_equality,
			     .take = take_rows,
			     .ctx = &a };
	bool newer = false;

	if (!e->like->unpartitioned && !same_partition(e->like, f->entry))
		return 0;
	for (size_t i = 0; i < e->n && !newer; i++)
		newer = e->keys[i].sequence > f->entry->sequence;
	return newer ? read_rows(&r, err) : 0;
}

int deletes_apply(const struct deletes *d, struct table *t, struct file *f,
		  struct error *err)
{
	f->live = xcalloc(parquet_groups(f->parquet) + 1, sizeof(*f->live));
	if (apply_positions(d, t, f, err))
		return -1;
	for (size_t i = 0; i < d->n_equality; i++)
		if (apply_equality(&d->equality[i], t, f, err))
			return -1;
	return 0;
}
