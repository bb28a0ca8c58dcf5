#include "store/upload.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/map.h"
#include "base/relpath.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/thread.h"
#include "base/xmalloc.h"
#include "net/digest.h"
#include "net/uri.h"
#include "store/begun.h"
#include "store/hf_put.h"
#include "store/s3_object.h"
#include "store/s3_put.h"
#include "store/target.h"

/* A part is in memory while it is sent; all of them together are not to be more. */
#define PARTS_BYTES ((int64_t)24 * 1024 * 1024)

enum { MAX_FILES = 1000 * 1000, MAX_DEPTH = 64, TICK_MS = 100 };

enum state { FILE_NEW, FILE_OPENING, FILE_OPEN, FILE_DONE };

struct file {
	const char *path; /* below the folder, for people and the key */
	const char *name; /* for messages; to open, where there is no folder */
	int root;         /* the folder; -1: none */
	const char *key;
	int64_t size, part_size;
	struct timespec changed;
	enum state state;
	size_t next, left; /* part to be taken; parts that are not done */
	struct s3_upload u;
	bool sent;
};

struct remote { /* what the place has */
	int64_t size;
	char etag[S3_ETAG_SIZE];
};

struct upload {
	const struct upload_conf *conf;
	struct s3_bucket *bucket;
	struct arena arena; /* while one thread is there, or under the lock */
	struct map there;   /* of struct remote, by key */
	struct begun begun; /* our uploads in parts */
	int root;           /* the folder that is sent; -1: it is one file */
	const char *name;   /* of the bucket */
	struct file *files;
	size_t n, cap;
	int64_t part_max, began_ms;
	pthread_mutex_t lock; /* of what follows, and of the files' states */
	pthread_cond_t changed;
	size_t first, running;
	struct upload_now now;
	struct error err; /* of the first that failed */
	bool failed;
};

static struct store_conf store_conf_of(const struct upload_conf *conf)
{
	return (struct store_conf){ .uri = conf->uri,
				    .env = conf->env,
				    .ctx = conf->ctx,
				    .http = conf->http,
				    .model = true,
				    .tries = conf->tries,
				    .say = conf->say };
}

/* ---- what there is to send ---- */

static int64_t part_size_of(int64_t size)
{
	int64_t part = S3_PART_MIN;

	while ((size + part - 1) / part > S3_PARTS_MAX)
		part *= 2;
	return part;
}

static int add_file(struct upload *up, const char *name, const char *path,
		    const char *key, const struct stat *st, struct error *err)
{
	struct file f = { .path = arena_strdup(&up->arena, path),
			  .name = arena_strdup(&up->arena, name),
			  .root = up->root,
			  .key = arena_strdup(&up->arena, key),
			  .size = st->st_size,
			  .part_size = part_size_of(st->st_size),
			  .changed = st->st_mtim };

	if (up->n == MAX_FILES)
		return error_set(err, ERR_LIMIT, "more than %d files", MAX_FILES);
	if (up->n == up->cap) {
		up->cap = up->cap ? 2 * up->cap : 64;
		up->files = xreallocarray(up->files, up->cap, sizeof(*up->files));
	}
	up->files[up->n++] = f;
	up->now.files++;
	up->now.bytes += f.size;
	if (f.part_size > up->part_max)
		up->part_max = f.part_size;
	return 0;
}

static void say(struct upload *up, const char *line)
{
	if (up->conf->say)
		up->conf->say(up->conf->ctx, line);
}

struct walk {
	struct upload *up;
	const char *prefix; /* of the keys: "", or it ends in '/' */
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
	struct stat st;

	if (target_reserved(path))
		return 0;
	if (lstat(name, &st))
		return error_errno(err, errno, "%s", name);
	if (S_ISDIR(st.st_mode))
		return walk(w, name, path, err);
	if (conf->filter && !filter_wants(conf->filter, path, false))
		return 0;
	if (!S_ISREG(st.st_mode)) {
		say(w->up, arena_printf(&arena, "%s is left out: it is %s", path,
					S_ISLNK(st.st_mode) ? "a link" : "no file"));
		return 0;
	}
	if (relpath_check(path, err))
		return error_wrap(err, "%s", dir);
	return add_file(w->up, name, path, arena_printf(&arena, "%s%s", w->prefix, path),
			&st, err);
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
		rc = error_set(err, ERR_LIMIT, "%s: folders in folders, more than %d",
			       dir, MAX_DEPTH);
	for (int i = 0; i < n; i++) {
		if (!rc)
			rc = walk_entry(w, dir, below, entries[i]->d_name, err);
		free(entries[i]);
	}
	free(entries);
	w->depth--;
	return rc;
}

/* ---- what the place has ---- */

static int on_there(void *ctx, const struct s3_entry *e, struct error *err)
{
	struct upload *up = ctx;
	struct remote *r;

	if (up->there.n == MAX_FILES)
		return error_set(err, ERR_LIMIT, "more than %d objects at the place",
				 MAX_FILES);
	r = arena_alloc(&up->arena, sizeof(*r));
	r->size = e->size;
	snprintf(r->etag, sizeof(r->etag), "%.*s", (int)sizeof(r->etag) - 1, e->etag);
	map_put(&up->there, e->key, r);
	return 0;
}

/* Who may write and not list sends all. */
static int look_there(struct upload *up, const char *prefix, struct error *err)
{
	struct error why = { 0 };

	if (!s3_list(up->bucket, prefix, on_there, up, &why))
		return 0;
	if (why.code == 403 && why.kind == ERR_DENIED) {
		say(up, "what is there may not be listed: all is sent");
		return 0;
	}
	*err = why;
	return -1;
}

/* ---- one file ---- */

static size_t parts_of(const struct file *f)
{
	return f->size <= f->part_size
		       ? 1
		       : (size_t)((f->size + f->part_size - 1) / f->part_size);
}

static int64_t size_of(const struct file *f, size_t part)
{
	int64_t at = (int64_t)part * f->part_size;

	return f->size - at < f->part_size ? f->size - at : f->part_size;
}

static int read_part(const struct file *f, size_t part, char *data, struct error *err)
{
	cleanup_fd int fd = f->root < 0 ? open(f->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
					: relpath_open(f->root, f->path, O_RDONLY, false);
	int64_t at = (int64_t)part * f->part_size, left = size_of(f, part);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return error_errno(err, errno, "%s", f->name);
	if (st.st_size != f->size || st.st_mtim.tv_sec != f->changed.tv_sec ||
	    st.st_mtim.tv_nsec != f->changed.tv_nsec)
		return error_set(err, ERR_CONFLICT,
				 "%s has changed while it was sent: export when nobody "
				 "writes to it any more",
				 f->name);
	while (left) {
		ssize_t n = pread(fd, data, (size_t)left, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? error_errno(err, errno, "%s", f->name)
				     : error_set(err, ERR_CONFLICT,
						 "%s has become shorter", f->name);
		data += n;
		at += n;
		left -= n;
	}
	return 0;
}

/* Is it there already? For that it is read, once. */
static int is_there(struct upload *up, struct file *f, char *data, bool *ret,
		    struct error *err)
{
	const struct remote *r = map_get(&up->there, f->key);
	char hex[DIGEST_HEX_SIZE], want[64];
	int parts = r && r->size == f->size ? s3_etag_parts(r->etag) : -1;

	*ret = false;
	if (parts < 0 || (size_t)parts != (f->u.n == 1 ? 0 : f->u.n))
		return 0;
	for (size_t i = 0; i < f->u.n; i++) {
		if (stop_requested())
			return error_set(err, ERR_STOPPED, "stopped");
		if (read_part(f, i, data, err))
			return -1;
		snprintf(f->u.parts[i].md5, S3_MD5_SIZE, "%s",
			 digest_hex_of(DIGEST_MD5, data, (size_t)size_of(f, i), hex));
	}
	if (parts)
		s3_parts_etag(f->u.parts, f->u.n, want);
	else
		snprintf(want, sizeof(want), "%s", f->u.parts[0].md5);
	*ret = !strcasecmp(want, r->etag);
	return 0;
}

/* Find out what is to be done; one thread a file. */
static int open_file(struct upload *up, struct file *f, char *data, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *object, *was;
	bool there;

	f->u = (struct s3_upload){ .bucket = up->bucket,
				   .key = f->key,
				   .n = parts_of(f) };
	f->u.parts = xcalloc(f->u.n, sizeof(*f->u.parts));
	for (size_t i = 0; i < f->u.n; i++)
		f->u.parts[i].size = size_of(f, i);
	if (is_there(up, f, data, &there, err))
		return -1;
	f->left = there ? 0 : f->u.n;
	if (there || f->u.n == 1)
		return 0;
	object = arena_printf(&arena, "s3://%s/%s", up->name, f->key);
	was = begun_find(&up->begun, object);
	if (s3_parts_begin(&f->u, was, &arena, err))
		return -1;
	if (!str_eq(f->u.id, was))
		begun_add(&up->begun, object, f->u.id);
	f->u.id = xstrdup(f->u.id);
	return 0;
}

static int send_part(struct file *f, size_t part, char *data, bool *ret_sent,
		     struct error *err)
{
	char hex[DIGEST_HEX_SIZE];

	if (read_part(f, part, data, err))
		return -1;
	*ret_sent = true;
	if (f->u.n > 1)
		return s3_parts_put(&f->u, (int)part + 1, data, ret_sent, err);
	return s3_put(f->u.bucket, f->key, data, (size_t)f->size,
		      digest_hex_of(DIGEST_MD5, data, (size_t)f->size, hex), err);
}

/* ---- the threads ---- */

struct task {
	struct file *f;
	size_t part;
	bool open; /* first of all */
};

/* Under the lock. False: there is nothing, now or ever (*ret_wait). */
static bool next_task(struct upload *up, struct task *ret, bool *ret_wait)
{
	*ret_wait = false;
	while (up->first < up->n) {
		struct file *f = &up->files[up->first];

		if (f->state != FILE_DONE &&
		    !(f->state == FILE_OPEN && f->next == f->u.n))
			break;
		up->first++;
	}
	for (size_t i = up->first; i < up->n; i++) {
		struct file *f = &up->files[i];

		if (f->state == FILE_NEW) {
			f->state = FILE_OPENING;
			*ret = (struct task){ .f = f, .open = true };
			return true;
		}
		if (f->state == FILE_OPEN && f->next < f->u.n) {
			*ret = (struct task){ .f = f, .part = f->next++ };
			return true;
		}
		*ret_wait |= f->state == FILE_OPENING;
	}
	return false;
}

static void end_file(struct upload *up, struct file *f)
{
	f->state = FILE_DONE;
	up->now.files_done++;
	free(f->u.parts);
	if (f->u.n > 1)
		free((char *)f->u.id);
	f->u.parts = NULL;
	f->u.id = NULL;
	if (up->conf->file)
		up->conf->file(up->conf->ctx, f->path, f->size, f->sent);
}

static void fail(struct upload *up, const struct file *f, const struct error *why)
{
	if (up->failed)
		return;
	up->failed = true;
	up->err = *why;
	if (why->kind != ERR_STOPPED && !strstr(why->msg, f->path))
		error_wrap(&up->err, "%s", f->path);
}

/* Takes the lock for what it changes. */
static int do_task(struct upload *up, const struct task *t, char *data, struct error *err)
{
	struct file *f = t->f;
	bool sent = false, last;

	if (t->open) {
		if (open_file(up, f, data, err))
			return -1;
		pthread_mutex_lock(&up->lock);
		f->state = FILE_OPEN;
		if (!f->left) {
			up->now.bytes_done += f->size;
			end_file(up, f);
		}
		pthread_mutex_unlock(&up->lock);
		return 0;
	}
	if (send_part(f, t->part, data, &sent, err))
		return -1;
	pthread_mutex_lock(&up->lock);
	up->now.bytes_done += size_of(f, t->part);
	up->now.bytes_sent += sent ? size_of(f, t->part) : 0;
	f->sent |= sent;
	last = --f->left == 0;
	pthread_mutex_unlock(&up->lock);
	if (!last)
		return 0;
	if (f->u.n > 1 && s3_parts_end(&f->u, err))
		return -1;
	pthread_mutex_lock(&up->lock);
	f->sent = true;
	end_file(up, f);
	pthread_mutex_unlock(&up->lock);
	return 0;
}

static void *work(void *ctx)
{
	struct upload *up = ctx;
	char *data = xmalloc((size_t)up->part_max);
	struct task t;
	bool wait;

	pthread_mutex_lock(&up->lock);
	while (!up->failed) {
		struct error err = { 0 };
		int rc;

		if (!next_task(up, &t, &wait)) {
			if (!wait)
				break;
			cond_wait_until(&up->changed, &up->lock, -1);
			continue;
		}
		pthread_mutex_unlock(&up->lock);
		rc = do_task(up, &t, data, &err);
		pthread_mutex_lock(&up->lock);
		if (rc)
			fail(up, t.f, &err);
		pthread_cond_broadcast(&up->changed);
	}
	up->running--;
	pthread_cond_broadcast(&up->changed);
	pthread_mutex_unlock(&up->lock);
	free(data);
	return NULL;
}

static int run_threads(struct upload *up, void *(*body)(void *ctx), unsigned n,
		       struct error *err)
{
	pthread_t threads[UPLOAD_MAX_CONNECTIONS];
	unsigned started = 0;
	struct upload_now now;

	pthread_mutex_lock(&up->lock);
	while (started < n && !thread_start(&threads[started], body, up, err))
		started++;
	up->running = up->now.connections = started;
	while (up->running) {
		cond_wait_until(&up->changed, &up->lock, clock_ms() + TICK_MS);
		up->now.ms = clock_ms() - up->began_ms;
		now = up->now;
		pthread_mutex_unlock(&up->lock);
		if (up->conf->tick)
			up->conf->tick(up->conf->ctx, &now);
		pthread_mutex_lock(&up->lock);
	}
	pthread_mutex_unlock(&up->lock);
	for (unsigned i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	if (!started)
		return -1;
	if (up->failed)
		*err = up->err;
	return up->failed ? -1 : 0;
}

/* ---- to a hub ---- */

static void on_put(void *ctx, size_t i, bool sent)
{
	struct upload *up = ctx;
	struct file *f = &up->files[i];

	pthread_mutex_lock(&up->lock);
	f->sent = sent;
	up->now.bytes_done += f->size;
	up->now.bytes_sent += sent ? f->size : 0;
	end_file(up, f);
	pthread_mutex_unlock(&up->lock);
}

/* One thread: the hub takes files in their order. */
static void *work_hub(void *ctx)
{
	struct upload *up = ctx;
	struct hf_put_file *files = xcalloc(up->n, sizeof(*files));
	const struct store_conf store = store_conf_of(up->conf);
	const struct hf_put_conf conf = {
		.store = &store, .files = files, .n = up->n, .done = on_put, .ctx = up
	};
	struct error err = { 0 };

	for (size_t i = 0; i < up->n; i++)
		files[i] = (struct hf_put_file){ .path = up->files[i].path,
						 .name = up->files[i].name,
						 .root = up->files[i].root,
						 .size = up->files[i].size };
	if (hf_put(&conf, &err)) {
		pthread_mutex_lock(&up->lock);
		up->failed = true;
		up->err = err;
		pthread_mutex_unlock(&up->lock);
	}
	pthread_mutex_lock(&up->lock);
	up->running--;
	pthread_cond_broadcast(&up->changed);
	pthread_mutex_unlock(&up->lock);
	free(files);
	return NULL;
}

/* ---- all of it ---- */

/* Few where parts are large, if nobody says how many. */
static unsigned connections(const struct upload *up)
{
	unsigned n = up->conf->connections;
	int64_t part = S3_PART_MIN;

	if (n)
		return n < UPLOAD_MAX_CONNECTIONS ? n : UPLOAD_MAX_CONNECTIONS;
	for (size_t i = 0; i < up->n; i++)
		if (up->files[i].part_size > part)
			part = up->files[i].part_size;
	n = part < PARTS_BYTES ? (unsigned)(PARTS_BYTES / part) : 1;
	return n < UPLOAD_CONNECTIONS ? n : UPLOAD_CONNECTIONS;
}

static int open_place(struct upload *up, struct error *err)
{
	const struct store_conf store = store_conf_of(up->conf);
	struct uri uri;

	if (uri_parse(&uri, &up->arena, up->conf->uri, err))
		return -1;
	up->name = uri.host;
	if (!strcmp(uri.scheme, "s3"))
		return s3_bucket_open(&up->bucket, &store, NULL, err);
	if (strcmp(uri.scheme, "hf"))
		return error_set(err, ERR_UNSUPPORTED,
				 "'%s': uploads go to s3:// and hf://",
				 uri_shown(&up->arena, up->conf->uri));
	return 0;
}

static int upload_one(struct upload *up, const char *file, struct error *err)
{
	const char *key;
	struct stat st;

	if (open_place(up, err))
		return -1;
	key = up->bucket ? s3_bucket_key(up->bucket) : "";
	if (!*key || str_ends(key, "/"))
		return error_set(err, ERR_INVALID,
				 "s3://BUCKET/KEY is wanted: there is no name for the "
				 "object");
	if (stat(file, &st))
		return error_errno(err, errno, "%s", file);
	if (!S_ISREG(st.st_mode))
		return error_set(err, ERR_INVALID, "%s is no file", file);
	if (add_file(up, file, path_base(file), key, &st, err) ||
	    look_there(up, key, err))
		return -1;
	return run_threads(up, work, connections(up), err);
}

static int upload_all(struct upload *up, const char *folder, struct error *err)
{
	struct walk w = { .up = up };
	const char *key;
	struct stat st;

	if (!stat(folder, &st) && S_ISREG(st.st_mode))
		return upload_one(up, folder, err);
	if (stat(folder, &st) || !S_ISDIR(st.st_mode))
		return error_set(err, ERR_NOT_FOUND,
				 "%s: there is no such folder here, and no file, to send",
				 folder);
	if (open_place(up, err))
		return -1;
	key = up->bucket ? s3_bucket_key(up->bucket) : "";
	w.prefix =
		!*key || str_ends(key, "/") ? key : arena_printf(&up->arena, "%s/", key);
	up->root = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (up->root < 0)
		return error_errno(err, errno, "%s", folder);
	if (walk(&w, folder, "", err))
		return -1;
	if (!up->n)
		return error_set(err, ERR_NOT_FOUND, "%s: there is no file to send",
				 folder);
	if (!up->bucket)
		return run_threads(up, work_hub, 1, err);
	if (look_there(up, w.prefix, err))
		return -1;
	begun_open(&up->begun, folder);
	return run_threads(up, work, connections(up), err);
}

/* The same may well go on later: it was stopped, or the server is away. */
static bool may_go_on(const struct error *err)
{
	return err->kind == ERR_STOPPED || err->kind == ERR_BUSY || err->kind == ERR_IO ||
	       err->kind == ERR_TIMEOUT;
}

/* What nobody will go on with is not left to be paid for. */
static void end_begun(struct upload *up, int rc, const struct error *err)
{
	bool keep = rc && up->begun.ids.n;
	struct error ignored = { 0 };

	for (size_t i = 0; rc && i < up->n; i++) {
		const struct file *f = &up->files[i];
		bool later = up->begun.fd >= 0 && may_go_on(err);

		if (f->u.id && (later || s3_parts_abort(&f->u, &ignored)))
			keep = true;
	}
	begun_close(&up->begun, !keep);
}

static int run(const struct upload_conf *conf, const char *what,
	       int (*all)(struct upload *up, const char *what, struct error *err),
	       struct upload_now *ret, struct error *err)
{
	struct upload up = { .conf = conf,
			     .began_ms = clock_ms(),
			     .begun = { .state = -1, .fd = -1 },
			     .root = -1 };
	int rc;

	pthread_mutex_init(&up.lock, NULL);
	cond_init(&up.changed);
	rc = all(&up, what, err);
	end_begun(&up, rc, err);
	up.now.ms = clock_ms() - up.began_ms;
	*ret = up.now;
	for (size_t i = 0; i < up.n; i++) {
		free(up.files[i].u.parts);
		free((char *)up.files[i].u.id);
	}
	free(up.files);
	if (up.root >= 0)
		close(up.root);
	map_release(&up.there, NULL);
	s3_bucket_close(up.bucket);
	arena_clear(&up.arena);
	pthread_cond_destroy(&up.changed);
	pthread_mutex_destroy(&up.lock);
	return rc;
}

int upload_folder(const struct upload_conf *conf, const char *folder,
		  struct upload_now *ret, struct error *err)
{
	return run(conf, folder, upload_all, ret, err);
}

int store_put(const struct upload_conf *conf, const char *file, struct upload_now *ret,
	      struct error *err)
{
	return run(conf, file, upload_one, ret, err);
}
