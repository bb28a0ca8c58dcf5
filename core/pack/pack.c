/* Packs a directory into an archive; see pack.h. */
#include "pack/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/relpath.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "base/zstd.h"
#include "crypto/digest.h"
#include "pack/exclude.h"
#include "pack/tar.h"

enum {
	MAX_DEPTH = 100,
	PIECE = 64 * 1024,
	HEADER_MAX = 64 * 1024,
	MIB = 1024 * 1024,
};

struct packer {
	const char *dir;
	int root, fd;
	const struct pack_limits *limits;
	struct arena *arena;
	struct exclude exclude;
	struct tar_entry *entries;
	size_t n, cap;
	int64_t bytes;
	struct digest *digest;
	struct zstd_writer *zstd;
	struct pack_summary *summary;
	unsigned char *piece;
};

/* "DIR/path: ...", for messages. */
static int refuse(const struct packer *p, const char *path, struct error *err,
		  const char *why)
{
	return error_set(err, ERR_INVALID, "%s/%s: %s", p->dir, path, why);
}

static int fail(const struct packer *p, const char *path, struct error *err)
{
	return error_errno(err, errno, "%s%s%s", p->dir, *path ? "/" : "", path);
}

/* ---- files ---- */

/*
 * ".." after a name is unsafe, because the name may be a link. At the beginning it goes
 * up real directories.
 */
bool pack_link_stays(const char *target, int depth)
{
	bool named = false;

	if (!*target || *target == '/')
		return false;
	for (const char *p = target; *p; p += strspn(p, "/")) {
		size_t len = strcspn(p, "/");
		bool up = len == 2 && !memcmp(p, "..", 2);

		if (up && (named || --depth < 0))
			return false;
		if (!up && !(len == 1 && *p == '.'))
			named = true;
		p += len;
	}
	return true;
}

static void note_size(struct packer *p, const struct tar_entry *e)
{
	struct pack_summary *s = p->summary;
	int at = PACK_LARGEST;

	while (at > 0 && (!s->largest[at - 1].path || s->largest[at - 1].size < e->size))
		at--;
	if (at == PACK_LARGEST || e->type != TAR_FILE)
		return;
	memmove(&s->largest[at + 1], &s->largest[at],
		(size_t)(PACK_LARGEST - 1 - at) * sizeof(s->largest[0]));
	s->largest[at].path = e->path;
	s->largest[at].size = e->size;
}

static int add(struct packer *p, const struct tar_entry *e, struct error *err)
{
	if (p->n == p->cap) {
		p->cap = p->cap ? 2 * p->cap : 256;
		p->entries = xreallocarray(p->entries, p->cap, sizeof(*p->entries));
	}
	p->entries[p->n++] = *e;
	p->bytes += e->size;
	note_size(p, e);
	if ((int64_t)p->n > p->limits->entries)
		return error_set(
			err, ERR_LIMIT,
			"%s: more than %lld files; list what is not needed in " PACK_IGNORE_FILE,
			p->dir, (long long)p->limits->entries);
	if (p->bytes <= p->limits->bytes)
		return 0;
	return error_set(err, ERR_LIMIT,
			 "%s: more than %lld MiB, of which %s has %lld; list what "
			 "is not needed in " PACK_IGNORE_FILE,
			 p->dir, (long long)(p->limits->bytes / MIB),
			 p->summary->largest[0].path,
			 (long long)(p->summary->largest[0].size / MIB));
}

static int add_link(struct packer *p, const char *path, int depth, struct error *err)
{
	char target[TAR_MAX_PATH + 1];
	ssize_t n = readlinkat(p->root, path, target, sizeof(target) - 1);
	struct tar_entry e = { .path = path, .type = TAR_LINK };

	if (n < 0)
		return fail(p, path, err);
	target[n] = 0;
	if (!pack_link_stays(target, depth))
		return error_set(
			err, ERR_INVALID,
			"%s/%s: symbolic link to %.200s may leave the directory; "
			"copy the files in its place, or list it in " PACK_IGNORE_FILE
			" and let pods mount or download them",
			p->dir, path, target);
	e.target = arena_strdup(p->arena, target);
	return add(p, &e, err);
}

/* Record the first few, to report. */
static void note_left(struct packer *p, const char *path, bool is_dir,
		      enum exclude_reason why)
{
	struct pack_left *left;

	if (why == EXCLUDE_NOT || why == EXCLUDE_NO_MATCH)
		return;
	left = &p->summary->left[why];
	if (left->n < PACK_LEFT)
		left->paths[left->n] =
			is_dir ? arena_printf(p->arena, "%s/", path) : path;
	left->n++;
}

/* Compare names as bytes, regardless of the locale. */
static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int list_names(struct packer *p, const char *path, char ***ret, size_t *ret_n,
		      struct error *err)
{
	int fd = openat(p->root, *path ? path : ".",
			O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	size_t cap = 0;
	int rc;

	if (!d) {
		fail(p, path, err);
		if (fd >= 0)
			close(fd);
		return -1;
	}
	while ((e = dir_next(d))) {
		if (str_eq(e->d_name, ".") || str_eq(e->d_name, ".."))
			continue;
		if (*ret_n == cap) {
			cap = cap ? 2 * cap : 32;
			*ret = xreallocarray(*ret, cap, sizeof(**ret));
		}
		(*ret)[(*ret_n)++] = arena_strdup(p->arena, e->d_name);
	}
	rc = errno ? fail(p, path, err) : 0;
	closedir(d);
	if (*ret_n)
		qsort(*ret, *ret_n, sizeof(**ret), by_name);
	return rc;
}

/* Pack the current directory. `aside`: it is excluded except for includes below it. */
struct place {
	const char *path;
	int depth;
	bool aside;
};

static int walk(struct packer *p, const struct place *in, struct error *err);

static int add_one(struct packer *p, const struct place *in, const char *path,
		   struct error *err)
{
	struct tar_entry e = { .path = path };
	enum exclude_reason why;
	struct stat st;
	bool is_dir, enter;

	if (fstatat(p->root, path, &st, AT_SYMLINK_NOFOLLOW))
		return fail(p, path, err);
	is_dir = S_ISDIR(st.st_mode);
	why = exclude_ask(&p->exclude, p->root, path, is_dir, in->aside, &enter);
	note_left(p, path, is_dir, why);
	if (why != EXCLUDE_NOT && !enter)
		return 0;
	if (relpath_check(path, err))
		return error_wrap(err, "%s", p->dir);
	if (S_ISLNK(st.st_mode))
		return add_link(p, path, in->depth, err);
	if (is_dir) {
		const struct place folder = { path, in->depth + 1, enter };

		e.type = TAR_FOLDER;
		return add(p, &e, err) || walk(p, &folder, err) ? -1 : 0;
	}
	if (!S_ISREG(st.st_mode))
		return refuse(
			p, path, err,
			"sockets, devices and FIFOs cannot be packed; list it in " PACK_IGNORE_FILE);
	e.executable = st.st_mode & 0111;
	e.size = st.st_size;
	return add(p, &e, err);
}

static int walk(struct packer *p, const struct place *in, struct error *err)
{
	cleanup_free char **names = NULL;
	struct exclude_mark mark;
	size_t n = 0;

	if (in->depth > MAX_DEPTH)
		return error_set(err, ERR_LIMIT, "%s/%s: more than %d nested directories",
				 p->dir, in->path, MAX_DEPTH);
	if (exclude_enter(&p->exclude, p->root, in->path, &mark, err))
		return error_wrap(err, "%s", p->dir);
	if (list_names(p, in->path, &names, &n, err))
		return -1;
	for (size_t i = 0; i < n; i++) {
		const char *below =
			*in->path ? arena_printf(p->arena, "%s/%s", in->path, names[i])
				  : names[i];

		if (add_one(p, in, below, err))
			return -1;
	}
	exclude_exit(&p->exclude, &mark);
	return 0;
}

/* ---- the archive ---- */

static int write_out(void *ctx, const void *data, size_t len, struct error *err)
{
	struct packer *p = ctx;

	digest_add(p->digest, data, len);
	p->summary->size += (int64_t)len;
	return file_write_fd(p->fd, data, len, "the archive", err);
}

static int64_t total_size(const struct packer *p)
{
	int64_t sum = TAR_END_SIZE;

	for (size_t i = 0; i < p->n; i++)
		sum += tar_header_size(&p->entries[i]) + p->entries[i].size +
		       tar_padding(p->entries[i].size);
	return sum;
}

/* Compress well if the result may fit into a ConfigMap. */
static int level_for(int64_t size)
{
	return size <= 16 * MIB ? 19 : size <= 256 * MIB ? 9 : 3;
}

static int write_file(struct packer *p, const struct tar_entry *e, struct error *err)
{
	static const char changed[] = "changed while it was read; submit again";
	cleanup_fd int fd =
		openat(p->root, e->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	int64_t left = e->size;
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return fail(p, e->path, err);
	if (!S_ISREG(st.st_mode) || st.st_size != e->size)
		return refuse(p, e->path, err, changed);
	while (left > 0) {
		size_t want = left < PIECE ? (size_t)left : PIECE;
		ssize_t n = read(fd, p->piece, want);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail(p, e->path, err);
		if (!n)
			return refuse(p, e->path, err, changed);
		if (zstd_write(p->zstd, p->piece, (size_t)n, err))
			return -1;
		left -= n;
	}
	memset(p->piece, 0, TAR_BLOCK);
	return zstd_write(p->zstd, p->piece, (size_t)tar_padding(e->size), err);
}

static int write_entries(struct packer *p, struct error *err)
{
	cleanup_buf struct buf header = { .max = HEADER_MAX };

	for (size_t i = 0; i < p->n; i++) {
		const struct tar_entry *e = &p->entries[i];

		buf_clear(&header);
		tar_header(&header, e);
		if (zstd_write(p->zstd, header.data, header.len, err) ||
		    (e->type == TAR_FILE && write_file(p, e, err)))
			return -1;
	}
	memset(p->piece, 0, TAR_END_SIZE);
	return zstd_write(p->zstd, p->piece, TAR_END_SIZE, err) ||
			       zstd_finish(p->zstd, err)
		       ? -1
		       : 0;
}

static int write_archive(struct packer *p, struct error *err)
{
	const struct zstd_sink to = { write_out, p };
	int64_t size = total_size(p);

	if (zstd_writer_new(&p->zstd, level_for(size), size, &to, err) ||
	    write_entries(p, err))
		return -1;
	digest_end_hex(p->digest, p->summary->digest);
	p->summary->entries = (int64_t)p->n;
	p->summary->bytes = p->bytes;
	return 0;
}

static int refuse_empty(const struct packer *p, struct error *err)
{
	for (int why = EXCLUDE_KEY; why < EXCLUDE_REASONS; why++)
		if (p->summary->left[why].n)
			return error_set(
				err, ERR_INVALID,
				"%s: no files to pack: all are excluded (%.100s, ...); "
				"add what is needed with --include",
				p->dir, p->summary->left[why].paths[0]);
	return error_set(err, ERR_INVALID, "%s: no files to pack", p->dir);
}

static int list_one(struct packer *p, const char *name, struct error *err)
{
	struct tar_entry e = { .path = name };
	struct stat st;

	if (fstatat(p->root, name, &st, 0))
		return fail(p, name, err);
	if (!S_ISREG(st.st_mode))
		return refuse(p, name, err, "not a file");
	e.executable = st.st_mode & 0111;
	e.size = st.st_size;
	return relpath_check(name, err) || add(p, &e, err) ? -1 : 0;
}

/* Fill p->entries. */
static int list(struct packer *p, const struct pack_opts *opts, struct error *err)
{
	const char *missing;

	if (p->root < 0)
		return fail(p, "", err);
	if (opts->only)
		return list_one(p, opts->only, err);
	if (exclude_begin(&p->exclude, p->dir, &opts->includes, err) ||
	    walk(p, &(struct place){ .path = "" }, err))
		return -1;
	missing = exclude_missing(&p->exclude);
	if (missing)
		return error_set(err, ERR_INVALID,
				 "--include %.200s: no such file in %.200s; pass its "
				 "path relative to that directory",
				 missing, p->dir);
	return p->n ? 0 : refuse_empty(p, err);
}

int pack_list(const char *dir, const struct pack_opts *opts, struct arena *arena,
	      struct tar_entry **ret, size_t *ret_n, struct error *err)
{
	struct pack_summary summary = { 0 };
	cleanup_fd int root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct packer p = {
		.dir = dir,
		.root = root,
		.limits = &opts->limits,
		.arena = arena,
		.summary = &summary,
	};
	int rc = list(&p, opts, err);

	exclude_release(&p.exclude);
	if (!rc) {
		*ret_n = p.n;
		*ret = arena_alloc(arena, p.n * sizeof(**ret));
		memcpy(*ret, p.entries, p.n * sizeof(**ret));
	}
	free(p.entries);
	return rc;
}

int pack_folder(const char *dir, int fd, const struct pack_opts *opts,
		struct arena *arena, struct pack_summary *ret, struct error *err)
{
	struct pack_summary summary = { 0 };
	cleanup_free unsigned char *piece = xmalloc(PIECE);
	cleanup_digest struct digest *digest = digest_new(DIGEST_SHA256);
	cleanup_fd int root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct packer p = {
		.dir = dir,
		.root = root,
		.fd = fd,
		.limits = &opts->limits,
		.arena = arena,
		.digest = digest,
		.summary = &summary,
		.piece = piece,
	};
	int rc = list(&p, opts, err) || write_archive(&p, err) ? -1 : 0;

	zstd_writer_free(p.zstd);
	exclude_release(&p.exclude);
	free(p.entries);
	if (!rc)
		*ret = summary;
	return rc;
}
