/* Reads tables of local Parquet files: table.h. */
#include "cache/table.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"

enum { BATCH = 2 * 1024 * 1024 };

struct file {
	const char *path;
	int fd;
	struct parquet *parquet;
	int64_t rows;
};

struct table {
	struct budget *budget;
	struct file *files;
	size_t n;
	int64_t rows;
};

struct table_scan {
	const struct table *t;
	const bool *columns;
	int64_t batch_rows, rows; /* as asked for, and in this group */
	size_t file, group;       /* the current one, or the next to be begun */
	int64_t skip, left;       /* rows before the first one wanted, and those wanted */
	struct parquet_scan *scan; /* NULL: the group is not begun */
	struct block *chunks;      /* of its leaves; kept for the next group */
	size_t n_chunks;
};

static int read_at(const struct file *f, void *to, struct range at, struct error *err)
{
	for (uint64_t done = 0; done < at.len;) {
		ssize_t n = pread(f->fd, (char *)to + done, at.len - done,
				  (off_t)(at.offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_errno(err, errno, "%s", f->path);
		if (!n)
			return error_set(err, ERR_FORMAT,
					 "%s: became shorter while it was read", f->path);
		done += (uint64_t)n;
	}
	return 0;
}

/* ---- opening ---- */

static int open_parquet(struct file *f, uint64_t size, struct budget *budget,
			struct error *err)
{
	__attribute__((cleanup(block_free))) struct block footer = { 0 };
	uint8_t tail[PARQUET_TAIL] = { 0 };
	struct range at = { size - PARQUET_TAIL, PARQUET_TAIL };

	if (size >= PARQUET_TAIL && read_at(f, tail, at, err))
		return -1;
	if (parquet_tail(&at, tail, size, err) ||
	    block_reserve(&footer, budget, at.len, 1, err))
		return error_wrap(err, "%s", f->path);
	if (read_at(f, footer.data, at, err))
		return -1;
	if (parquet_open(&f->parquet, footer.data, at.len, size, budget, err))
		return error_wrap(err, "%s", f->path);
	return 0;
}

static int open_file(struct file *f, struct budget *budget, struct error *err)
{
	struct stat st;

	f->fd = open(f->path, O_RDONLY | O_CLOEXEC);
	if (f->fd < 0 || fstat(f->fd, &st))
		return error_errno(err, errno, "%s", f->path);
	if (!S_ISREG(st.st_mode))
		return error_set(err, ERR_INVALID, "%s: not a file", f->path);
	if (open_parquet(f, (uint64_t)st.st_size, budget, err))
		return -1;
	for (size_t i = 0; i < parquet_groups(f->parquet); i++)
		f->rows += parquet_rows(f->parquet, i);
	return 0;
}

static bool same_type(const struct field *a, const struct field *b)
{
	if (a->kind != b->kind || a->width != b->width || a->precision != b->precision ||
	    a->scale != b->scale || a->unit != b->unit || a->utc != b->utc ||
	    a->n_children != b->n_children)
		return false;
	for (size_t i = 0; i < a->n_children; i++)
		if (!same_type(&a->children[i], &b->children[i]))
			return false;
	return true;
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
		if (!same_type(&fa[i], &fb[i]))
			return error_set(err, ERR_INVALID,
					 "%s: column %s has another type than in %s",
					 b->path, fb[i].name, a->path);
	}
	return 0;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct file *)a)->path, ((const struct file *)b)->path);
}

static int open_files(struct table *t, struct error *err)
{
	qsort(t->files, t->n, sizeof(*t->files), by_path);
	for (size_t i = 0; i < t->n; i++) {
		struct file *f = &t->files[i];

		if (i && !by_path(f - 1, f))
			return error_set(err, ERR_INVALID, "%s: given twice", f->path);
		if (open_file(f, t->budget, err) ||
		    (i && check_columns(t->files, f, err)))
			return -1;
		if (__builtin_add_overflow(t->rows, f->rows, &t->rows))
			return error_set(err, ERR_LIMIT, "%s: too many rows", f->path);
	}
	return 0;
}

int table_open(struct table **ret, char *const *paths, size_t n, struct budget *budget,
	       struct error *err)
{
	cleanup_table struct table *t = xcalloc(1, sizeof(*t));

	t->budget = budget;
	t->n = n;
	t->files = xcalloc(n + 1, sizeof(*t->files));
	for (size_t i = 0; i < n; i++)
		t->files[i] = (struct file){ .path = paths[i], .fd = -1 };
	if (open_files(t, err))
		return -1;
	*ret = STEAL(t);
	return 0;
}

void table_free(struct table *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n; i++) {
		parquet_free(t->files[i].parquet);
		cleanup_fdp(&t->files[i].fd);
	}
	free(t->files);
	free(t);
}

int64_t table_rows(const struct table *t)
{
	return t->rows;
}

const struct field *table_columns(const struct table *t, size_t *ret_n)
{
	return parquet_columns(t->files[0].parquet, ret_n);
}

struct rows table_shard(int64_t n, int64_t rank, int64_t world)
{
	int64_t each = n / world, larger = n % world;
	int64_t first = rank * each + (rank < larger ? rank : larger);

	return (struct rows){ first, first + each + (rank < larger) };
}

/* ---- reading ---- */

struct table_scan *table_scan_new(const struct table *t, struct rows rows,
				  const bool *columns, int64_t batch_rows)
{
	struct table_scan *s = xcalloc(1, sizeof(*s));

	s->t = t;
	s->columns = columns;
	s->batch_rows = batch_rows;
	s->skip = rows.first;
	s->left = rows.end - rows.first;
	return s;
}

void table_scan_free(struct table_scan *s)
{
	if (!s)
		return;
	parquet_scan_free(s->scan);
	for (size_t i = 0; i < s->n_chunks; i++)
		block_free(&s->chunks[i]);
	free(s->chunks);
	free(s);
}

static int give_chunk(struct table_scan *s, const struct file *f, size_t leaf,
		      struct error *err)
{
	struct range at = parquet_chunk(f->parquet, s->group, leaf);
	struct block *b = &s->chunks[leaf];

	if (block_reserve(b, s->t->budget, at.len, 1, err))
		return error_wrap(err, "%s", f->path);
	if (read_at(f, b->data, at, err))
		return -1;
	parquet_scan_give(s->scan, leaf, (struct bytes){ b->data, at.len });
	return 0;
}

static int begin_group(struct table_scan *s, const struct file *f, struct error *err)
{
	size_t n = parquet_leaves(f->parquet);

	s->rows = s->batch_rows ? s->batch_rows
				: parquet_batch_rows(f->parquet, s->group, BATCH);
	if (!s->chunks) {
		s->chunks = xcalloc(n + 1, sizeof(*s->chunks));
		s->n_chunks = n;
	}
	s->scan = parquet_scan_new(f->parquet, s->group, s->columns, s->t->budget);
	for (size_t i = 0; i < n; i++)
		if (parquet_wants(s->scan, i) && give_chunk(s, f, i, err))
			return -1;
	if (parquet_skip(s->scan, s->skip, err))
		return error_wrap(err, "%s", f->path);
	s->skip = 0;
	return 0;
}

/* To the group with the next row; NULL: there is none. */
static const struct file *find_group(struct table_scan *s)
{
	for (; s->file < s->t->n; s->file++, s->group = 0) {
		const struct file *f = &s->t->files[s->file];

		for (; s->group < parquet_groups(f->parquet); s->group++) {
			int64_t rows = parquet_rows(f->parquet, s->group);

			if (s->skip < rows)
				return f;
			s->skip -= rows;
		}
	}
	return NULL;
}

int table_next(struct table_scan *s, struct batch *ret, struct error *err)
{
	*ret = (struct batch){ 0 };
	while (s->left) {
		const struct file *f = s->scan ? &s->t->files[s->file] : find_group(s);

		if (!f)
			break;
		if (!s->scan && begin_group(s, f, err))
			return -1;
		if (parquet_next(s->scan, ret, s->left < s->rows ? s->left : s->rows,
				 err))
			return error_wrap(err, "%s", f->path);
		if (ret->n) {
			s->left -= ret->n;
			return 0;
		}
		parquet_scan_free(STEAL(s->scan));
		s->group++;
	}
	return 0;
}
