/* upload.c - collect files and upload them by their scheme (upload.h). */
#include "store/upload.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/relpath.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/thread.h"
#include "base/xmalloc.h"
#include "crypto/digest.h"
#include "net/uri.h"
#include "store/put.h"
#include "store/scheme.h"
#include "store/target.h"

enum { MAX_FILES = 1000 * 1000, MAX_DEPTH = 64, TICK_MS = 100 };

struct upload {
	const struct upload_conf *conf;
	const struct scheme *scheme;
	struct arena arena;
	const char *dir; /* NULL: one file */
	int root;
	struct put_file *files;
	size_t n, cap;
	int64_t began_ms;
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t changed;
	bool ended;
	struct upload_progress now;
	struct error err;
	int rc;
};

/* ---- collect files ---- */

/* `root`: the directory that `path` is below; -1: it is at `name`. */
static int add_file(struct upload *up, int root, const char *name, const char *path,
		    const struct stat *st, struct error *err)
{
	if (up->n == MAX_FILES)
		return error_set(err, ERR_LIMIT, "more than %d files", MAX_FILES);
	if (up->n == up->cap) {
		up->cap = up->cap ? 2 * up->cap : 64;
		up->files = xreallocarray(up->files, up->cap, sizeof(*up->files));
	}
	up->files[up->n++] = (struct put_file){ .root = root,
						.path = arena_strdup(&up->arena, path),
						.name = arena_strdup(&up->arena, name),
						.size = st->st_size,
						.changed = st->st_mtim };
	up->now.files++;
	up->now.bytes += st->st_size;
	return 0;
}

static void say(struct upload *up, const char *line)
{
	if (up->conf->say)
		up->conf->say(up->conf->ctx, line);
}

struct walk {
	struct upload *up;
	int depth;
};

static int walk(struct walk *w, const char *dir, const char *below, struct error *err);

static int walk_entry(struct walk *w, const char *dir, const char *below,
		      const char *entry, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *name = path_join(&arena, dir, entry);
	const char *path = *below ? arena_printf(&arena, "%s/%s", below, entry) : entry;
	const struct upload_conf *conf = w->up->conf;
	struct stat st, to;
	bool link;

	if (target_reserved(path))
		return 0;
	if (lstat(name, &st))
		return error_errno(err, errno, "%s", name);
	link = conf->links && S_ISLNK(st.st_mode) && !stat(name, &to) &&
	       S_ISREG(to.st_mode);
	if (link)
		st = to;
	if (S_ISDIR(st.st_mode))
		return walk(w, name, path, err);
	if (conf->filter && !filter_wants(conf->filter, path, false))
		return 0;
	if (!S_ISREG(st.st_mode)) {
		say(w->up, arena_printf(&arena, "skipped %s: %s", path,
					S_ISLNK(st.st_mode) ? "a symbolic link"
							    : "not a regular file"));
		return 0;
	}
	if (relpath_check(path, err))
		return error_wrap(err, "%s", dir);
	return add_file(w->up, link ? -1 : w->up->root, name, path, &st, err);
}

static int is_entry(const struct dirent *e)
{
	return strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
}

static int walk(struct walk *w, const char *dir, const char *below, struct error *err)
{
	struct dirent **entries = NULL;
	int n = scandir(dir, &entries, is_entry, alphasort), rc = 0;

	if (n < 0)
		return error_errno(err, errno, "%s", dir);
	if (++w->depth > MAX_DEPTH)
		rc = error_set(err, ERR_LIMIT, "%s: more than %d nested directories", dir,
			       MAX_DEPTH);
	for (int i = 0; i < n; i++) {
		if (!rc)
			rc = walk_entry(w, dir, below, entries[i]->d_name, err);
		free(entries[i]);
	}
	free(entries);
	w->depth--;
	return rc;
}

/* ---- progress ---- */

static void on_started(void *ctx, unsigned connections)
{
	struct upload *up = ctx;

	pthread_mutex_lock(&up->lock);
	up->now.connections = connections;
	pthread_mutex_unlock(&up->lock);
}

static void on_progress(void *ctx, int64_t bytes, bool sent)
{
	struct upload *up = ctx;

	pthread_mutex_lock(&up->lock);
	up->now.bytes_done += bytes;
	up->now.bytes_sent += sent ? bytes : 0;
	pthread_mutex_unlock(&up->lock);
}

static void on_done(void *ctx, size_t i, bool sent)
{
	struct upload *up = ctx;
	const struct put_file *f = &up->files[i];

	pthread_mutex_lock(&up->lock);
	up->now.files_done++;
	if (up->conf->file)
		up->conf->file(up->conf->ctx, f->path, f->size, sent);
	pthread_mutex_unlock(&up->lock);
}

static void *put(void *ctx)
{
	struct upload *up = ctx;
	const struct upload_conf *conf = up->conf;
	const struct store_conf store = { .uri = conf->uri,
					  .env = conf->env,
					  .ctx = conf->ctx,
					  .http = conf->http,
					  .model = true,
					  .tries = conf->tries,
					  .say = conf->say };
	const struct put_conf work = { .store = &store,
				       .dir = up->dir,
				       .files = up->files,
				       .n = up->n,
				       .connections = conf->connections,
				       .background = conf->background,
				       .blind = conf->blind,
				       .progress = on_progress,
				       .done = on_done,
				       .started = on_started,
				       .ctx = up };

	up->rc = up->scheme->put(&work, &up->err);
	pthread_mutex_lock(&up->lock);
	up->ended = true;
	pthread_cond_broadcast(&up->changed);
	pthread_mutex_unlock(&up->lock);
	return NULL;
}

/* The scheme uploads in a thread; the caller's thread reports progress. */
static int send_all(struct upload *up, struct error *err)
{
	struct upload_progress now;
	pthread_t thread;

	if (thread_start(&thread, put, up, err))
		return -1;
	pthread_mutex_lock(&up->lock);
	while (!up->ended) {
		cond_wait_until(&up->changed, &up->lock, clock_ms() + TICK_MS);
		up->now.ms = clock_ms() - up->began_ms;
		now = up->now;
		pthread_mutex_unlock(&up->lock);
		if (up->conf->tick)
			up->conf->tick(up->conf->ctx, &now);
		pthread_mutex_lock(&up->lock);
	}
	pthread_mutex_unlock(&up->lock);
	pthread_join(thread, NULL);
	if (up->rc)
		*err = up->err;
	return up->rc;
}

/* ---- the run ---- */

static int find_scheme(struct upload *up, struct error *err)
{
	struct uri uri;

	if (uri_parse(&uri, &up->arena, up->conf->uri, err))
		return -1;
	if (!scheme_find(&up->scheme, up->conf->uri, IGNORED) && up->scheme->put)
		return 0;
	return error_set(err, ERR_UNSUPPORTED, "'%s': cannot upload there: use %s",
			 uri_shown(&up->arena, up->conf->uri),
			 scheme_list_put(&up->arena));
}

static int find_files(struct upload *up, const char *what, struct error *err)
{
	struct walk w = { .up = up };
	struct stat st;

	if (stat(what, &st) || !(S_ISDIR(st.st_mode) || S_ISREG(st.st_mode)))
		return error_set(err, ERR_NOT_FOUND,
				 "%s: no such file or directory to upload", what);
	if (S_ISREG(st.st_mode))
		return add_file(up, up->root, what,
				up->conf->shown_name ? up->conf->shown_name
						     : path_base(what),
				&st, err);
	up->dir = what;
	up->root = open(what, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (up->root < 0)
		return error_errno(err, errno, "%s", what);
	if (walk(&w, what, "", err))
		return -1;
	if (!up->n)
		return error_set(err, ERR_NOT_FOUND, "%s: no files to upload", what);
	return 0;
}

int upload_run(const struct upload_conf *conf, const char *what,
	       struct upload_progress *ret, struct error *err)
{
	struct upload up = { .conf = conf, .began_ms = clock_ms(), .root = -1 };
	int rc;

	pthread_mutex_init(&up.lock, NULL);
	cond_init(&up.changed);
	rc = find_scheme(&up, err) || find_files(&up, what, err) || send_all(&up, err)
		     ? -1
		     : 0;
	up.now.ms = clock_ms() - up.began_ms;
	*ret = up.now;
	free(up.files);
	if (up.root >= 0)
		close(up.root);
	arena_clear(&up.arena);
	pthread_cond_destroy(&up.changed);
	pthread_mutex_destroy(&up.lock);
	return rc;
}

/* ---- the digest of all files ---- */

enum { READ_BYTES = 1024 * 1024 };

static int digest_file(const struct put_file *f, struct digest *sum, char *block,
		       struct error *err)
{
	int fd = -1, rc = put_file_open(f, &fd, err);
	size_t n;

	for (int64_t at = 0; !rc && at < f->size; at += (int64_t)n) {
		n = f->size - at < READ_BYTES ? (size_t)(f->size - at) : READ_BYTES;
		rc = stop_requested() ? error_set(err, ERR_STOPPED, "stopped")
				      : put_file_read(f, fd, at, block, n, err);
		if (!rc)
			digest_add(sum, block, n);
	}
	if (fd >= 0)
		close(fd);
	return rc;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct put_file *)a)->path,
		      ((const struct put_file *)b)->path);
}

typedef int digest_each(void *ctx, const char *path, int64_t size, const char *hex,
			struct error *err);

static int digest_files(struct upload *up, digest_each *each, void *ctx,
			struct error *err)
{
	cleanup_digest struct digest *one = digest_new(DIGEST_SHA256);
	cleanup_free char *block = xmalloc(READ_BYTES);
	char hex[DIGEST_HEX_SIZE];

	qsort(up->files, up->n, sizeof(*up->files), by_path);
	for (size_t i = 0; i < up->n; i++) {
		const struct put_file *f = &up->files[i];

		if (digest_file(f, one, block, err))
			return error_wrap(err, "%s", f->path);
		if (each(ctx, f->path, f->size, digest_end_hex(one, hex), err))
			return -1;
	}
	return 0;
}

static int add_digest(void *ctx, const char *path, int64_t size, const char *hex,
		      struct error *err)
{
	struct digest *all = ctx;

	digest_add(all, hex, strlen(hex));
	digest_add(all, "  ", 2);
	digest_add(all, path, strlen(path));
	digest_add(all, "\n", 1);
	return 0;
}

static void release(struct upload *up)
{
	free(up->files);
	if (up->root >= 0)
		close(up->root);
	arena_clear(&up->arena);
}

int upload_list(const struct upload_conf *conf, const char *what, digest_each *each,
		void *ctx, struct error *err)
{
	struct upload up = { .conf = conf, .root = -1 };
	int rc = find_files(&up, what, err) || digest_files(&up, each, ctx, err) ? -1 : 0;

	release(&up);
	return rc;
}

int upload_digest(const struct upload_conf *conf, const char *what, struct arena *arena,
		  const char **ret_hex, const char **ret_largest, struct error *err)
{
	struct upload_conf quiet = { .filter = conf->filter };
	struct upload up = { .conf = &quiet, .root = -1 };
	cleanup_digest struct digest *all = digest_new(DIGEST_SHA256);
	const struct put_file *largest = NULL;
	char hex[DIGEST_HEX_SIZE];
	int rc = find_files(&up, what, err) || digest_files(&up, add_digest, all, err)
			 ? -1
			 : 0;

	for (size_t i = 0; i < up.n; i++)
		if (!largest || up.files[i].size > largest->size)
			largest = &up.files[i];
	if (!rc) {
		*ret_hex = arena_strdup(arena, digest_end_hex(all, hex));
		*ret_largest = arena_strdup(arena, largest->path);
	}
	release(&up);
	return rc;
}
