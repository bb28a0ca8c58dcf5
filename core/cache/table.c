/* table.c - opens tables (cache/table.h). */
#include "cache/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/bits.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "cache/parallel.h"
#include "cache/table_impl.h"
#include "crypto/crc.h"

enum { TAIL = 64 * 1024 };

/* ---- a file ---- */

static int read_range(struct file *f, struct block *to, struct range at,
		      struct budget *budget, struct error *err)
{
	struct range_want want = { at.offset, at.len, NULL };

	if (block_reserve(to, budget, at.len, 1, err))
		return error_wrap(err, "%s", f->path);
	want.to = to->data;
	return range_read(f->object, &want, 1, err);
}

/* One request suffices for most files: the footer is within the last TAIL bytes. */
int file_open_parquet(struct file *f, struct budget *budget, struct error *err)
{
	__attribute__((cleanup(block_free))) struct block tail = { 0 };
	__attribute__((cleanup(block_free))) struct block footer = { 0 };
	static const uint8_t none[PARQUET_TAIL];
	uint64_t size = (uint64_t)range_size(f->object);
	uint64_t have = size < TAIL ? size : TAIL;
	const uint8_t *bytes;
	struct range at;

	if (read_range(f, &tail, (struct range){ size - have, have }, budget, err))
		return -1;
	if (parquet_tail(&at,
			 have < PARQUET_TAIL ? none : tail.data + have - PARQUET_TAIL,
			 size, err))
		return error_wrap(err, "%s", f->path);
	if (at.offset < size - have && read_range(f, &footer, at, budget, err))
		return -1;
	bytes = footer.data ? footer.data : tail.data + (at.offset - (size - have));
	f->footer_crc = crc_add(CRC_64NVME, 0, bytes, at.len);
	if (parquet_open(&f->parquet, bytes, at.len, size, budget, err))
		return error_wrap(err, "%s", f->path);
	if (f->entry) /* of Iceberg, whose timestamps are in microseconds */
		parquet_int96_us(f->parquet);
	return 0;
}

/* ---- Parquet files ---- */

static bool same_kind(const struct field *a, const struct field *b)
{
	return a->kind == b->kind && a->width == b->width &&
	       a->precision == b->precision && a->scale == b->scale &&
	       a->unit == b->unit && a->utc == b->utc && a->uuid == b->uuid &&
	       a->n_children == b->n_children;
}

/* Elements of lists and maps may have other names. */
static bool same_names(const struct field *a, const struct field *b)
{
	for (size_t i = 0; a->kind == ARROW_STRUCT && i < a->n_children; i++)
		if (!str_eq(a->children[i].name, b->children[i].name))
			return false;
	return true;
}

/* The difference of two columns, for the error. */
struct difference {
	struct arena arena;
	const char *path;
	const struct field *a, *b;
};

static bool same_type(const struct field *a, const struct field *b, struct difference *d)
{
	if (!same_kind(a, b) || !same_names(a, b)) {
		d->path = arena_strdup(&d->arena, b->name);
		d->a = a;
		d->b = b;
		return false;
	}
	for (size_t i = 0; i < a->n_children; i++)
		if (!same_type(&a->children[i], &b->children[i], d)) {
			d->path = arena_printf(&d->arena, "%s.%s", b->name, d->path);
			return false;
		}
	return true;
}

static const char *type_text(struct arena *arena, const struct field *f)
{
	cleanup_buf struct buf text = { .max = 300 };

	field_type(&text, f);
	return text.overflowed ? "a long type"
			       : str_visible(arena, (const char *)text.data, false);
}

int table_column_check(const char *path, const struct field *b, const char *other,
		       const struct field *a, struct error *err)
{
	struct difference d = { 0 };
	int rc = 0;

	if (!same_type(a, b, &d))
		rc = error_set(err, ERR_INVALID,
			       "%s: column %.200s is of type %s, but of %s in %s", path,
			       str_visible(&d.arena, d.path, false),
			       type_text(&d.arena, d.b), type_text(&d.arena, d.a), other);
	arena_clear(&d.arena);
	return rc;
}

static int check_columns(const struct file *a, const struct file *b, struct error *err)
{
	size_t na, nb;
	const struct field *fa = parquet_columns(a->parquet, &na);
	const struct field *fb = parquet_columns(b->parquet, &nb);

	if (na != nb)
		return error_set(err, ERR_INVALID, "%s: %zu columns, but %s has %zu",
				 b->path, nb, a->path, na);
	for (size_t i = 0; i < na; i++) {
		if (!str_eq(fa[i].name, fb[i].name))
			return error_set(err, ERR_INVALID,
					 "%s: column %zu is %s, but %s in %s", b->path,
					 i + 1, fb[i].name, fa[i].name, a->path);
		if (table_column_check(b->path, &fb[i], a->path, &fa[i], err))
			return -1;
	}
	return 0;
}

int file_by_path(const void *a, const void *b)
{
	return strcmp(((const struct file *)a)->path, ((const struct file *)b)->path);
}

static int add_files(struct table *t, const struct location_files *files,
		     struct error *err)
{
	for (size_t i = 0; i < files->n; i++) {
		const struct location_file *f = &files->at[i];

		t->files = xreallocarray(t->files, t->n + 1, sizeof(*t->files));
		t->files[t->n++] =
			(struct file){ .path = arena_strdup(&t->arena, f->name),
				       .below = arena_strdup(&t->arena, f->below) };
		if (range_open(&t->files[t->n - 1].object, f->source, &f->o, f->name,
			       err))
			return -1;
	}
	return 0;
}

static bool str_among(const char *s, char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(s, list[i]))
			return true;
	return false;
}

int files_keep(struct table *t, const struct table_conf *conf, struct error *err)
{
	size_t kept = 0;

	for (size_t i = 0; i < conf->n_only; i++) {
		const struct file want = { .path = conf->only[i] };

		if (!t->n ||
		    !bsearch(&want, t->files, t->n, sizeof(*t->files), file_by_path))
			return error_set(err, ERR_NOT_FOUND, "%s: not found in %s",
					 conf->only[i], conf->uris[0]);
	}
	for (size_t i = 0; conf->only && i < t->n; i++) {
		if (str_among(t->files[i].path, conf->only, conf->n_only))
			t->files[kept++] = t->files[i];
		else
			range_close(t->files[i].object);
	}
	if (conf->only)
		t->n = kept;
	return 0;
}

static int list_files(struct table *t, const struct table_conf *conf, struct error *err)
{
	for (size_t i = 0; i < conf->n; i++) {
		cleanup_location_files struct location_files files = { 0 };

		if (locations_list(conf->locations, conf->uris[i], &files, err) ||
		    add_files(t, &files, err))
			return -1;
	}
	qsort(t->files, t->n, sizeof(*t->files), file_by_path);
	for (size_t i = 1; i < t->n; i++)
		if (!file_by_path(&t->files[i - 1], &t->files[i]))
			return error_set(err, ERR_INVALID, "%s: specified twice",
					 t->files[i].path);
	return hive_find(t, err) || files_keep(t, conf, err) ? -1 : 0;
}

static int open_one(void *ctx, size_t i, struct error *err)
{
	struct table *t = ctx;

	return file_open_parquet(&t->files[i], t->budget, err);
}

static int open_files(struct table *t, const struct table_conf *conf, struct error *err)
{
	for (size_t i = 0; i < conf->n; i++)
		if (table_is_iceberg(conf->uris[i]))
			return iceberg_open_files(t, conf, err);
	if (conf->snapshot)
		return error_set(err, ERR_INVALID,
				 "%s: only an Iceberg table has snapshots: specify its "
				 "metadata file, NAME.metadata.json",
				 conf->uris[0]);
	if (list_files(t, conf, err) ||
	    parallel_run(PARALLEL_MAX, t->n, open_one, t, err))
		return -1;
	for (size_t i = 1; i < t->n; i++)
		if (check_columns(&t->files[0], &t->files[i], err))
			return -1;
	return hive_columns(t, err);
}

/* ---- units ---- */

static int add_unit(struct table *t, const struct file *f, size_t group,
		    struct error *err)
{
	int64_t rows = parquet_rows(f->parquet, group), end;

	if (f->live && f->live[group].data)
		rows = (int64_t)bits_count(f->live[group].data, 0, (uint64_t)rows);
	if (!rows)
		return 0;
	if (__builtin_add_overflow(t->rows, rows, &end))
		return error_set(err, ERR_LIMIT, "%s: too many rows", f->path);
	t->units = xreallocarray(t->units, t->n_units + 1, sizeof(*t->units));
	t->units[t->n_units++] = (struct unit){ f, group, { t->rows, end } };
	t->rows = end;
	return 0;
}

static int add_units(struct table *t, struct error *err)
{
	for (size_t i = 0; i < t->n; i++)
		for (size_t g = 0; g < parquet_groups(t->files[i].parquet); g++)
			if (add_unit(t, &t->files[i], g, err))
				return -1;
	return 0;
}

/* ---- all ---- */

int table_open(struct table **ret, const struct table_conf *conf, struct error *err)
{
	cleanup_table struct table *t = xcalloc(1, sizeof(*t));

	t->budget = conf->budget;
	t->locations = conf->locations;
	if (open_files(t, conf, err) || add_units(t, err))
		return -1;
	*ret = STEAL(t);
	return 0;
}

static void close_file(struct file *f)
{
	for (size_t i = 0; f->live && i < parquet_groups(f->parquet); i++)
		block_free(&f->live[i]);
	free(f->live);
	projection_free(f->projection);
	parquet_free(f->parquet);
	range_close(f->object);
}

void table_free(struct table *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n; i++)
		close_file(&t->files[i]);
	iceberg_free(t->iceberg);
	free(t->files);
	free(t->units);
	arena_clear(&t->arena);
	free(t);
}

bool table_is_snapshot(const struct table *t, const char *name)
{
	return t->iceberg && iceberg_is_snapshot(t->iceberg, name);
}

/* A table of one file may be given to each process by another URI. */
static const char *name_of(const struct table *t, const struct file *f)
{
	const char *name = f->below ? f->below : f->path;

	return t->n == 1 && strrchr(name, '/') ? strrchr(name, '/') : name;
}

void table_name(const struct table *t, char ret[TABLE_NAME + 1])
{
	const struct file *last = NULL;
	uint64_t hash = hash_text(0, "table");
	char text[80];

	for (size_t i = 0; i < t->n_units; last = t->units[i++].file) {
		const struct unit *u = &t->units[i];

		if (u->file != last)
			hash = hash_text(hash_text(hash, "\n"), name_of(t, u->file));
		snprintf(text, sizeof(text), "\n%" PRId64 "/%" PRIx64, u->rows.end,
			 u->file->footer_crc);
		hash = hash_text(hash, text);
	}
	snprintf(ret, TABLE_NAME + 1, "%016" PRIx64, hash);
}

int64_t table_rows(const struct table *t)
{
	return t->rows;
}

const struct field *table_columns(const struct table *t, size_t *ret_n)
{
	if (t->iceberg)
		return iceberg_columns(t->iceberg, ret_n);
	*ret_n = t->n_columns;
	return t->columns;
}

size_t table_units(const struct table *t)
{
	return t->n_units;
}

struct table_unit table_unit(const struct table *t, size_t i)
{
	const struct unit *u = &t->units[i];
	const struct parquet *p = u->file->parquet;
	double live =
		(double)(u->rows.end - u->rows.first) / (double)parquet_rows(p, u->group);

	return (struct table_unit){ u->file->path, u->group, u->rows,
				    (uint64_t)(live *
					       (double)parquet_bytes(p, u->group)) };
}

static uint64_t least_of(const struct unit *u)
{
	const struct file *f = u->file;
	int64_t all = parquet_rows(f->parquet, u->group);
	int64_t rows = u->rows.end - u->rows.first;
	cleanup_free bool *reads = NULL;

	if (f->projection) {
		reads = xcalloc(parquet_leaves(f->parquet) + 1, sizeof(*reads));
		projection_reads(f->projection, NULL, reads);
	}
	return (uint64_t)((double)parquet_least_bytes(f->parquet, u->group, reads,
						      rows < all) *
			  (double)rows / (double)all);
}

uint64_t table_least_bytes(const struct table *t, struct rows rows)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < t->n_units; i++) {
		const struct unit *u = &t->units[i];

		if (u->rows.first >= rows.first && u->rows.end <= rows.end)
			sum += least_of(u);
	}
	return sum;
}

struct rows table_shard(int64_t n, int64_t rank, int64_t world)
{
	int64_t each = n / world, larger = n % world;
	int64_t first = rank * each + (rank < larger ? rank : larger);

	return (struct rows){ first, first + each + (rank < larger) };
}

static bool is_file_end(const struct table *t, size_t i)
{
	return i + 1 == t->n_units || t->units[i].file != t->units[i + 1].file;
}

/* The boundary of a unit or file that is nearest to that row. */
static int64_t nearest_edge(const struct table *t, struct rows rows, int64_t row,
			    bool files)
{
	int64_t best = rows.first;

	for (size_t i = 0; i < t->n_units; i++) {
		int64_t end = t->units[i].rows.end;

		if (end > rows.first && end < rows.end && (!files || is_file_end(t, i)) &&
		    llabs(end - row) < llabs(best - row))
			best = end;
	}
	return llabs(rows.end - row) < llabs(best - row) ? rows.end : best;
}

static struct rows part(const struct table *t, struct rows rows, int64_t i, int64_t n,
			bool files)
{
	struct rows even = table_shard(rows.end - rows.first, i, n);
	int64_t first = rows.first + even.first, end = rows.first + even.end;

	return (struct rows){ i ? nearest_edge(t, rows, first, files) : rows.first,
			      i + 1 < n ? nearest_edge(t, rows, end, files) : rows.end };
}

struct rows table_part(const struct table *t, struct rows rows, int64_t i, int64_t n)
{
	return part(t, rows, i, n, false);
}

struct rows table_file_part(const struct table *t, int64_t i, int64_t n)
{
	return part(t, (struct rows){ 0, t->rows }, i, n, true);
}
