/* table_iceberg.c - opens Iceberg tables (cache/table_impl.h). */
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "cache/parallel.h"
#include "cache/table_impl.h"

enum { WINDOW = 16 }; /* manifests in memory at once */
#define MAX_METADATA ((uint64_t)1 << 30)

bool table_is_iceberg(const char *uri)
{
	return str_ends(uri, ".json") || str_ends(uri, ".json.gz");
}

/* ---- whole files ---- */

struct content {
	struct block bytes;
	size_t len;
};

static void content_release(struct content *c)
{
	block_free(&c->bytes);
}
#define cleanup_content __attribute__((cleanup(content_release)))

static int read_at(struct table *t, const char *location, int64_t size,
		   struct content *ret, struct error *err)
{
	cleanup_range struct range_object *o = NULL;

	if (locations_open(t->locations, location, size, &o, err))
		return -1;
	return locations_read(o, MAX_METADATA, &ret->bytes, t->budget, &ret->len, err);
}

/* Read the metadata file, which the user named by its URI. */
static int read_metadata(struct table *t, const struct table_conf *conf,
			 struct content *ret, struct error *err)
{
	cleanup_location_files struct location_files files = { 0 };
	cleanup_range struct range_object *o = NULL;
	const char *uri = conf->uris[0];

	if (locations_list(t->locations, uri, &files, err))
		return -1;
	if (!files.named)
		return error_set(err, ERR_INVALID, "%s: not a file", uri);
	if (range_open(&o, files.at[0].source, &files.at[0].o, files.at[0].name, err))
		return -1;
	return locations_read(o, MAX_METADATA, &ret->bytes, t->budget, &ret->len, err);
}

/* ---- manifests ---- */

struct window {
	struct table *t;
	const struct iceberg_manifest *manifests;
	struct content contents[WINDOW];
};

static int read_one(void *ctx, size_t i, struct error *err)
{
	struct window *w = ctx;

	return read_at(w->t, w->manifests[i].path, w->manifests[i].length,
		       &w->contents[i], err);
}

static void window_release(struct window *w)
{
	for (size_t i = 0; i < WINDOW; i++)
		content_release(&w->contents[i]);
}

static int add_window(struct table *t, size_t first, size_t n, struct error *err)
{
	__attribute__((cleanup(window_release))) struct window w = { .t = t };
	const struct iceberg_manifest *all;

	iceberg_manifests(t->iceberg, &all);
	w.manifests = all + first;
	if (parallel_run(PARALLEL_MAX, n, read_one, &w, err))
		return -1;
	for (size_t i = 0; i < n; i++) {
		const struct bytes b = { w.contents[i].bytes.data, w.contents[i].len };

		if (iceberg_add_manifest(t->iceberg, first + i, b, err))
			return error_wrap(err, "%s", w.manifests[i].path);
	}
	return 0;
}

static int read_manifests(struct table *t, struct error *err)
{
	const char *list = iceberg_list(t->iceberg);
	const struct iceberg_manifest *all;
	cleanup_content struct content c = { 0 };
	size_t n;

	if (list && read_at(t, list, -1, &c, err))
		return -1;
	if (list &&
	    iceberg_add_list(t->iceberg, (struct bytes){ c.bytes.data, c.len }, err))
		return error_wrap(err, "%s", list);
	n = iceberg_manifests(t->iceberg, &all);
	for (size_t i = 0; i < n; i += WINDOW)
		if (add_window(t, i, n - i < WINDOW ? n - i : WINDOW, err))
			return -1;
	return 0;
}

/* ---- data files ---- */

static void add_files(struct table *t)
{
	size_t n;
	const struct iceberg_file *all = iceberg_files(t->iceberg, &n);

	t->files = xcalloc(n + 1, sizeof(*t->files));
	for (size_t i = 0; i < n; i++)
		if (all[i].content == ICEBERG_DATA)
			t->files[t->n++] =
				(struct file){ .path = all[i].path, .entry = &all[i] };
	if (t->n)
		qsort(t->files, t->n, sizeof(*t->files), file_by_path);
}

/* Files that other programs wrote have no field ids at all. */
static bool has_ids(const struct field *f, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (f[i].id >= 0 || has_ids(f[i].children, f[i].n_children))
			return true;
	return false;
}

static int project(const struct table *t, struct file *f, struct error *err)
{
	struct project_sides s = { .constants = f->entry->constants,
				   .n_constants = f->entry->n_constants };
	struct field *from = parquet_columns_mut(f->parquet, &s.n_from);

	if (!has_ids(from, s.n_from) &&
	    iceberg_map_names(t->iceberg, from, s.n_from, err))
		return -1;
	s.from = from;
	s.to = iceberg_columns(t->iceberg, &s.n_to);
	return projection_new(&f->projection, &s, err);
}

static int check_rows(const struct file *f, struct error *err)
{
	int64_t rows = 0;

	for (size_t i = 0; i < parquet_groups(f->parquet); i++)
		rows += parquet_rows(f->parquet, i);
	if (rows == f->entry->rows)
		return 0;
	return error_set(err, ERR_FORMAT, "%lld rows, %lld in the manifest",
			 (long long)rows, (long long)f->entry->rows);
}

static int open_one(void *ctx, size_t i, struct error *err)
{
	struct table *t = ctx;
	struct file *f = &t->files[i];

	if (locations_open(t->locations, f->path, f->entry->size, &f->object, err) ||
	    file_open_parquet(f, t->budget, err))
		return -1;
	if (check_rows(f, err) || project(t, f, err))
		return error_wrap(err, "%s", f->path);
	return 0;
}

struct deleting {
	struct table *t;
	const struct deletes *deletes;
};

static int delete_of(void *ctx, size_t i, struct error *err)
{
	struct deleting *d = ctx;

	return deletes_apply(d->deletes, d->t, &d->t->files[i], err);
}

static int apply_deletes(struct table *t, struct error *err)
{
	struct deletes *deletes = NULL;
	struct deleting d = { .t = t };
	int rc = deletes_read(&deletes, t, err);

	d.deletes = deletes;
	if (!rc && deletes)
		rc = parallel_run(PARALLEL_MAX, t->n, delete_of, &d, err);
	deletes_free(deletes);
	return rc;
}

int iceberg_open_files(struct table *t, const struct table_conf *conf, struct error *err)
{
	cleanup_content struct content c = { 0 };

	if (conf->n != 1)
		return error_set(
			err, ERR_INVALID,
			"%s: an Iceberg table cannot be combined with other files",
			conf->uris[0]);
	if (read_metadata(t, conf, &c, err))
		return -1;
	if (iceberg_open(&t->iceberg, (struct bytes){ c.bytes.data, c.len },
			 conf->snapshot, t->budget, err))
		return error_wrap(err, "%s", conf->uris[0]);
	if (read_manifests(t, err))
		return -1;
	add_files(t);
	if (files_keep(t, conf, err))
		return -1;
	return parallel_run(PARALLEL_MAX, t->n, open_one, t, err) || apply_deletes(t, err)
		       ? -1
		       : 0;
}
