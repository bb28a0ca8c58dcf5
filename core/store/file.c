/*
 * file.c - file:///folder/or/file and pvc://claim/path: local files; see scheme.h.
 *
 * A claim is the directory of its name in PVC_ROOT (/mnt), where the pod mounts it. Links
 * to files are followed, links to folders are not (a loop never ends).
 *
 * A path is taken as it is; if nothing has that name, "%20" in it is decoded. Of a new
 * file or directory this is decided by its first existing parent.
 *
 * Files are put under another name, and renamed once they are whole; all are on disk when
 * the upload ends. They get the times of their sources, by which the
 * next upload knows them.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/random.h"
#include "base/relpath.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "net/uri.h"
#include "store/put.h"
#include "store/scheme.h"

enum { MAX_DEPTH = 64, COPY_BYTES = 256 * 1024 };

#define NEW ".kftrainer-new-"

struct store {
	struct arena arena;
	const char *root;
	int claim;         /* nothing outside this directory is opened; -1: any file is */
	const char *below; /* path in the claim; "." for all */
	const char *target;
	void (*say)(void *ctx, const char *line);
	void *ctx;
};

/*
 * Open a file or directory by its full path; in a claim, which others may write to, only
 * through links that stay inside.
 */
static int open_any(const struct store *s, const char *full, int flags)
{
	size_t len = strlen(s->root);
	cleanup_arena struct arena arena = { 0 };
	const char *path;

	if (s->claim < 0)
		return open(full, flags | O_CLOEXEC);
	path = full[len] ? path_join(&arena, s->below, full + len + 1) : s->below;
	return relpath_open(s->claim, path, flags, true);
}

struct walk {
	struct store *s;
	bool (*wanted)(void *ctx, const char *name, bool named);
	void *ctx;
	struct store_listing *list;
	int depth;
};

static struct store *new_store(const struct store_conf *conf, const char *path)
{
	struct store *s = xcalloc(1, sizeof(*s));

	s->claim = -1;
	s->root = arena_strdup(&s->arena, path);
	s->target = arena_strdup(&s->arena, conf->target);
	s->say = conf->say;
	s->ctx = conf->ctx;
	return s;
}

static bool has(struct arena *arena, const char *dir, const char *path)
{
	return file_exists(path_join(arena, dir, path));
}

/* Does the path, or its first parent that exists, exist only with its "%20" decoded? */
static bool is_encoded(struct arena *arena, const char *dir, const char *path)
{
	const char *decoded, *slash;

	for (; strchr(path, '%'); path = str_slice(arena, path, (size_t)(slash - path))) {
		if (has(arena, dir, path))
			return false;
		if (uri_decode(&decoded, arena, path, IGNORED))
			return false;
		if (has(arena, dir, decoded))
			return true;
		slash = strrchr(path, '/');
		if (!slash)
			return false;
	}
	return false;
}

/* The name of a file or directory below `dir` that a URI's path means. */
static const char *name_below(struct arena *arena, const char *dir, const char *path)
{
	const char *decoded;

	if (!is_encoded(arena, dir, path) || uri_decode(&decoded, arena, path, IGNORED))
		return path;
	return decoded;
}

static int file_open(struct store **ret, const struct store_conf *conf, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct uri u;

	if (uri_parse(&u, &arena, conf->uri, err))
		return -1;
	if (*u.host && !str_eq(u.host, "localhost"))
		return error_set(err, ERR_INVALID,
				 "file://%s/...: only local files are supported: write "
				 "file:///%s/...",
				 u.host, u.host);
	*ret = new_store(conf,
			 arena_printf(&arena, "/%s", name_below(&arena, "/", u.path)));
	return 0;
}

static void file_close(struct store *s)
{
	if (s->claim >= 0)
		close(s->claim);
	arena_clear(&s->arena);
	free(s);
}

/* The path below the claim. */
static int pvc_path(const char **ret, struct arena *arena, const char *uri,
		    const char *claim, const struct uri *u, struct error *err)
{
	const char *path = u->path;

	while (str_ends(path, "/"))
		path = str_slice(arena, path, strlen(path) - 1);
	*ret = name_below(arena, claim, path);
	if (*path && (relpath_check(path, err) || relpath_check(*ret, err)))
		return error_set(
			err, ERR_INVALID,
			"'%s': expected pvc://CLAIM or pvc://CLAIM/PATH, without '..'",
			uri_shown(arena, uri));
	return 0;
}

static int pvc_open(struct store **ret, const struct store_conf *conf, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *root = conf->env(conf->ctx, "PVC_ROOT"), *path = NULL, *claim;
	struct store *s;
	struct uri u;

	if (uri_parse(&u, &arena, conf->uri, err))
		return -1;
	if (!*u.host || relpath_check(u.host, err))
		return error_set(err, ERR_INVALID, "'%s': expected pvc://CLAIM/PATH",
				 uri_shown(&arena, conf->uri));
	claim = path_join(&arena, root && *root ? root : "/mnt", u.host);
	if (pvc_path(&path, &arena, conf->uri, claim, &u, err))
		return -1;
	if (!file_exists(claim))
		return error_set(
			err, ERR_NOT_FOUND,
			"claim %s: no directory %s; mount the claim there in the "
			"initializer's container, or set PVC_ROOT (default /mnt)",
			u.host, claim);
	s = new_store(conf, *path ? path_join(&arena, claim, path) : claim);
	s->below = arena_strdup(&s->arena, *path ? path : ".");
	s->claim = open(claim, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (s->claim < 0) {
		error_errno(err, errno, "%s", claim);
		file_close(s);
		return -1;
	}
	*ret = s;
	return 0;
}

static void note(const struct store *s, const char *path, const char *why)
{
	cleanup_arena struct arena arena = { 0 };

	if (s->say)
		s->say(s->ctx, arena_printf(&arena, "skipped %s: %s", path, why));
}

/* Changes when the contents change: size and time. */
static const char *stamp(struct arena *arena, const struct stat *st)
{
	return arena_printf(arena, "\"%lld-%lld.%09ld\"", (long long)st->st_size,
			    (long long)st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
}

static int add_file(struct walk *w, const char *full, const char *path,
		    const struct stat *st, struct error *err)
{
	struct arena *arena = &w->list->arena;
	struct store_object o = { .size = st->st_size };

	if (w->wanted && !w->wanted(w->ctx, path, str_eq(full, w->s->root)))
		return 0;
	o.path = arena_strdup(arena, path);
	o.key = arena_strdup(arena, full);
	o.etag = stamp(arena, st);
	return store_listing_add(w->list, &o, err);
}

static int walk(struct walk *w, const char *full, const char *path, struct error *err);

/*
 * A link to nothing that can be read, or what was removed meanwhile. After another error,
 * such as one of NFS, it may be there: what was fetched of it before must stay.
 */
static int skip(const struct walk *w, const char *full, struct error *err)
{
	static const int ours[] = { EXDEV, ENOENT, ENOTDIR, ELOOP, EACCES };
	const int why = errno;

	for (size_t i = 0; i < N_ELEMENTS(ours); i++)
		if (why == ours[i]) {
			note(w->s, full,
			     why == EXDEV ? "symbolic link leaves the claim"
					  : strerror(why));
			return 0;
		}
	return error_errno(err, why, "%s", full);
}

/* A target within the source: what an earlier run copied there is not copied again. */
static bool is_target(const struct store *s, const struct stat *dir)
{
	struct stat st;

	return s->target && !stat(s->target, &st) && st.st_dev == dir->st_dev &&
	       st.st_ino == dir->st_ino;
}

static int visit(struct walk *w, const char *full, const char *path, struct error *err)
{
	cleanup_fd int fd = open_any(w->s, full, O_PATH);
	struct stat own, st;

	if (fd < 0 || lstat(full, &own) || fstat(fd, &st))
		return skip(w, full, err);
	if (S_ISREG(st.st_mode))
		return add_file(w, full, path, &st, err);
	if (S_ISDIR(own.st_mode) && !is_target(w->s, &own))
		return walk(w, full, path, err);
	note(w->s, full,
	     S_ISDIR(own.st_mode)  ? "it is the target"
	     : S_ISDIR(st.st_mode) ? "symbolic link to a directory"
				   : "not a regular file");
	return 0;
}

static int walk(struct walk *w, const char *full, const char *path, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct dirent **names = NULL;
	cleanup_fd int dir = -1;
	int n, rc = 0;

	dir = open_any(w->s, full, O_RDONLY | O_DIRECTORY);
	if (++w->depth > MAX_DEPTH)
		return error_set(err, ERR_LIMIT, "%s: more than %d nested directories",
				 full, MAX_DEPTH);
	if (dir < 0)
		return error_errno(err, errno, "%s", full);
	n = scandir(arena_printf(&arena, "/proc/self/fd/%d", dir), &names, NULL,
		    alphasort);
	if (n < 0)
		return error_errno(err, errno, "%s", full);
	for (int i = 0; i < n; i++) {
		const char *name = names[i]->d_name;

		/* NEW: half a file, whose upload was killed */
		if (!rc && !str_eq(name, ".") && !str_eq(name, "..") &&
		    !str_starts(name, NEW))
			rc = visit(w, path_join(&arena, full, name),
				   *path ? path_join(&arena, path, name) : name, err);
		free(names[i]);
	}
	free(names);
	w->depth--;
	return rc;
}

static int file_list(struct store *s,
		     bool (*wanted)(void *ctx, const char *name, bool named), void *ctx,
		     struct store_listing *ret, struct error *err)
{
	struct walk w = { .s = s, .wanted = wanted, .ctx = ctx, .list = ret };
	cleanup_fd int fd = open_any(s, s->root, O_PATH);
	struct stat st;

	if (fd < 0 && errno == EXDEV)
		return error_set(err, ERR_DENIED, "%s: a symbolic link leaves the claim",
				 s->root);
	if (fd < 0 || fstat(fd, &st))
		return error_errno(err, errno, "%s", s->root);
	if (S_ISREG(st.st_mode))
		return add_file(&w, s->root, path_base(s->root), &st, err);
	if (!S_ISDIR(st.st_mode))
		return error_set(err, ERR_INVALID, "%s: not a file or directory",
				 s->root);
	return walk(&w, s->root, "", err);
}

static int local_open(struct store *s, const struct store_object *o, int *ret_fd,
		      struct error *err)
{
	int fd = open_any(s, o->key, O_RDONLY | O_NONBLOCK), rc = 0;
	cleanup_arena struct arena arena = { 0 };
	struct stat st;

	if (fd < 0)
		return error_errno(err, errno, "%s", o->key);
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) ||
	    (o->etag && !str_eq(stamp(&arena, &st), o->etag)))
		rc = error_set(err, ERR_CONFLICT, "%s changed in the meantime", o->key);
	if (rc)
		close(fd);
	else
		*ret_fd = fd;
	return rc;
}

/* ---- writing ---- */

/* Opens a directory of the claim, and makes what is missing of it. */
static int make_in_claim(const struct store *s, const char *path)
{
	cleanup_arena struct arena arena = { 0 };
	int at = fcntl(s->claim, F_DUPFD_CLOEXEC, 3);

	for (size_t len = 0; at >= 0 && len < strlen(path);) {
		const char *name = path + len + (len > 0), *dir;
		int next;

		len = (size_t)(name - path) + strcspn(name, "/");
		dir = str_slice(&arena, path, len);
		next = relpath_open(s->claim, dir, O_DIRECTORY, true);
		if (next < 0 && errno == ENOENT &&
		    (!mkdirat(at, path_base(dir), 0777) || errno == EEXIST))
			next = relpath_open(s->claim, dir, O_DIRECTORY, true);
		close(at);
		at = next;
	}
	return at;
}

static int make_dir(const struct store *s, const char *below, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *full = *below ? path_join(&arena, s->root, below) : s->root;
	int fd;

	if (s->claim >= 0)
		fd = make_in_claim(s, *below ? path_join(&arena, s->below, below)
					     : s->below);
	else if (dir_make(full, 0777, err))
		return -1;
	else
		fd = open(full, O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? error_errno(err, errno, "%s", full) : fd;
}

/* Where a file is written; its full name is for errors. */
struct place {
	int dir;
	const char *name, *full;
};

static int copy(const struct put_file *f, int from, int to, const char *full,
		struct error *err)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, f->changed };
	cleanup_free char *data = xmalloc(COPY_BYTES);

	for (int64_t at = 0, n; at < f->size; at += n) {
		n = f->size - at < COPY_BYTES ? f->size - at : COPY_BYTES;
		if (put_file_read(f, from, at, data, (size_t)n, err) ||
		    file_write_fd(to, data, (size_t)n, full, err))
			return -1;
	}
	return futimens(to, times) ? error_errno(err, errno, "%s", full) : 0;
}

static bool is_copied(int dir, const char *name, const struct put_file *f)
{
	struct stat st;

	return !fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode) &&
	       st.st_size == f->size && st.st_mtim.tv_sec == f->changed.tv_sec &&
	       st.st_mtim.tv_nsec == f->changed.tv_nsec;
}

static int put_one(const struct place *p, const struct put_file *f, bool *ret_sent,
		   bool sync, struct error *err)
{
	char temporary[RANDOM_KEY_SIZE + sizeof(NEW)], chance[RANDOM_KEY_SIZE];
	cleanup_fd int from = -1, to = -1;
	int rc;

	*ret_sent = !is_copied(p->dir, p->name, f);
	if (!*ret_sent)
		return 0;
	if (random_key(chance, err) || put_file_open(f, &from, err))
		return -1;
	snprintf(temporary, sizeof(temporary), NEW "%.16s", chance);
	to = openat(p->dir, temporary,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (to < 0)
		return error_errno(err, errno, "%s", p->full);
	rc = copy(f, from, to, p->full, err);
	if (!rc && sync && fdatasync(to))
		rc = error_errno(err, errno, "%s", p->full);
	rc = rc || file_close_written(&to, p->full, err) ? -1 : 0;
	if (!rc && renameat(p->dir, temporary, p->dir, p->name))
		rc = error_errno(err, errno, "%s", p->full);
	if (rc)
		unlinkat(p->dir, temporary, 0);
	return rc;
}

static int put_in(struct store *s, const struct put_conf *conf, size_t i,
		  struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const struct put_file *f = &conf->files[i];
	const char *path = f->path,
		   *below = strchr(path, '/') ? path_dir(&arena, path) : "";
	cleanup_fd int dir = make_dir(s, below, err);
	const struct place p = { dir, path_base(path), path_join(&arena, s->root, path) };
	bool sent = false;

	if (dir < 0 || put_one(&p, f, &sent, false, err))
		return -1;
	conf->progress(conf->ctx, f->size, sent);
	conf->done(conf->ctx, i, sent);
	return 0;
}

/* For a single file, make the root its directory. */
static void cut_root(struct store *s, const char **ret_name)
{
	*ret_name = path_base(s->root);
	s->root = path_dir(&s->arena, s->root);
	s->below = strchr(s->below ? s->below : "", '/') ? path_dir(&s->arena, s->below)
							 : ".";
}

static int put_single(struct store *s, const struct put_conf *conf, struct error *err)
{
	struct place p = { .full = s->root };
	cleanup_fd int dir = -1;
	bool sent = false;

	cut_root(s, &p.name);
	p.dir = dir = make_dir(s, "", err);
	if (dir < 0 || put_one(&p, conf->files, &sent, true, err))
		return -1;
	conf->progress(conf->ctx, conf->files->size, sent);
	conf->done(conf->ctx, 0, sent);
	return 0;
}

static int put_all(struct store *s, const struct put_conf *conf, struct error *err)
{
	cleanup_fd int dir = -1;

	conf->started(conf->ctx, 1);
	if (!conf->dir)
		return put_single(s, conf, err);
	for (size_t i = 0; i < conf->n; i++)
		if (put_in(s, conf, i, err))
			return -1;
	dir = make_dir(s, "", err);
	if (dir < 0)
		return -1;
	return syncfs(dir) ? error_errno(err, errno, "%s", s->root) : 0;
}

static int file_put(const struct put_conf *conf, struct error *err)
{
	struct store *s = NULL;
	int rc = file_open(&s, conf->store, err);

	if (rc)
		return rc;
	rc = put_all(s, conf, err);
	file_close(s);
	return rc;
}

static int pvc_put(const struct put_conf *conf, struct error *err)
{
	struct store *s = NULL;
	int rc = pvc_open(&s, conf->store, err);

	if (rc)
		return rc;
	rc = put_all(s, conf, err);
	file_close(s);
	return rc;
}

static int file_remove(struct store *s, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_fd int dir = -1;
	const char *name;

	cut_root(s, &name);
	dir = open_any(s, s->root, O_DIRECTORY);
	if (dir < 0)
		return errno == ENOENT ? 0 : error_errno(err, errno, "%s", s->root);
	return dir_remove(arena_printf(&arena, "/proc/self/fd/%d/%s", dir, name), err);
}

const struct scheme scheme_file = {
	.name = "file",
	.open = file_open,
	.list = file_list,
	.local_open = local_open,
	.close = file_close,
	.put = file_put,
	.remove = file_remove,
};

const struct scheme scheme_pvc = {
	.name = "pvc",
	.open = pvc_open,
	.list = file_list,
	.local_open = local_open,
	.close = file_close,
	.put = pvc_put,
	.remove = file_remove,
};
