/* s3_upload.c - upload files to a bucket, several parts at once (s3_upload.h). */
#include "store/s3_upload.h"

#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/thread.h"
#include "base/xmalloc.h"
#include "crypto/digest.h"
#include "net/uri.h"
#include "store/s3_list.h"
#include "store/s3_object.h"
#include "store/s3_put.h"
#include "store/upload.h"
#include "store/upload_log.h"

/* A part is in memory while it is sent; all of them together have at most this much. */
#define PARTS_BYTES ((int64_t)24 * 1024 * 1024)

enum { MAX_OBJECTS = 1000 * 1000, CONNECTIONS = 4 };

enum state { FILE_NEW, FILE_OPENING, FILE_OPEN, FILE_DONE };

struct file {
	const struct put_file *local;
	const char *key;
	int64_t part_size;
	enum state state;
	size_t next, left; /* the next part; parts not done */
	struct s3_multipart multipart;
	bool sent;
};

struct remote { /* an object in the bucket */
	int64_t size;
	char etag[S3_ETAG_SIZE];
};

struct upload {
	const struct put_conf *conf;
	struct s3_bucket *bucket;
	const char *scheme, *bucket_name;
	struct arena arena;    /* one thread only, or under the lock */
	struct map remotes;    /* struct remote by key */
	struct upload_log log; /* our unfinished multipart uploads */
	struct file *files;
	int64_t part_max;
	pthread_mutex_t lock; /* guards what follows, and the files' states */
	pthread_cond_t changed;
	size_t first;
	struct error err; /* the first failure */
	bool failed;
};

/* ---- objects in the bucket ---- */

static int on_remote(void *ctx, const struct s3_entry *e, struct error *err)
{
	struct upload *up = ctx;
	struct remote *r;

	if (up->remotes.n == MAX_OBJECTS)
		return error_set(err, ERR_LIMIT, "the bucket has more than %d objects",
				 MAX_OBJECTS);
	r = arena_alloc(&up->arena, sizeof(*r));
	r->size = e->size;
	snprintf(r->etag, sizeof(r->etag), "%.*s", (int)sizeof(r->etag) - 1, e->etag);
	map_put(&up->remotes, e->key, r);
	return 0;
}

/* Without the right to list, everything is sent. */
static int list_remotes(struct upload *up, const char *prefix, struct error *err)
{
	const struct store_conf *store = up->conf->store;
	struct error why = { 0 };

	if (!s3_list(up->bucket, prefix, on_remote, up, &why))
		return 0;
	if (why.code != 403 || why.kind != ERR_DENIED) {
		*err = why;
		return -1;
	}
	if (store->say)
		store->say(store->ctx,
			   "no permission to list the bucket: sending all files");
	return 0;
}

/* ---- one file ---- */

static size_t parts_of(const struct file *f)
{
	int64_t size = f->local->size;

	return size <= f->part_size ? 1
				    : (size_t)((size + f->part_size - 1) / f->part_size);
}

static int64_t size_of(const struct file *f, size_t part)
{
	int64_t left = f->local->size - (int64_t)part * f->part_size;

	return left < f->part_size ? left : f->part_size;
}

static int read_part(const struct file *f, size_t part, char *data, struct error *err)
{
	cleanup_fd int fd = -1;

	return put_file_open(f->local, &fd, err) ||
			       put_file_read(f->local, fd, (int64_t)part * f->part_size,
					     data, (size_t)size_of(f, part), err)
		       ? -1
		       : 0;
}

/* Does the bucket have the same file? Reads the file once. */
static int is_unchanged(struct upload *up, struct file *f, char *data, bool *ret,
			struct error *err)
{
	const struct remote *r = map_get(&up->remotes, f->key);
	struct s3_multipart *m = &f->multipart;
	char hex[DIGEST_HEX_SIZE], want[64];
	int parts = r && r->size == f->local->size ? s3_etag_parts(r->etag) : -1;

	*ret = false;
	if (parts < 0 || (size_t)parts != (m->n == 1 ? 0 : m->n))
		return 0;
	for (size_t i = 0; i < m->n; i++) {
		if (stop_requested())
			return error_set(err, ERR_STOPPED, "stopped");
		if (read_part(f, i, data, err))
			return -1;
		snprintf(m->parts[i].md5, S3_MD5_SIZE, "%s",
			 digest_hex_of(DIGEST_MD5, data, (size_t)size_of(f, i), hex));
	}
	if (parts)
		s3_multipart_etag(m->parts, m->n, want);
	else
		snprintf(want, sizeof(want), "%s", m->parts[0].md5);
	*ret = !strcasecmp(want, r->etag);
	return 0;
}

/* Find out what must be sent; one thread for each file. */
static int open_file(struct upload *up, struct file *f, char *data, struct error *err)
{
	struct s3_multipart *m = &f->multipart;
	cleanup_arena struct arena arena = { 0 };
	const char *object, *unfinished;
	bool unchanged;

	*m = (struct s3_multipart){ .bucket = up->bucket,
				    .key = f->key,
				    .n = parts_of(f) };
	m->parts = xcalloc(m->n, sizeof(*m->parts));
	for (size_t i = 0; i < m->n; i++)
		m->parts[i].size = size_of(f, i);
	if (is_unchanged(up, f, data, &unchanged, err))
		return -1;
	f->left = unchanged ? 0 : m->n;
	if (unchanged || m->n == 1)
		return 0;
	object = arena_printf(&arena, "%s://%s/%s", up->scheme, up->bucket_name, f->key);
	unfinished = upload_log_find(&up->log, object);
	if (s3_multipart_begin(m, unfinished, &arena, err))
		return -1;
	if (!str_eq(m->id, unfinished))
		upload_log_add(&up->log, object, m->id);
	m->id = xstrdup(m->id);
	return 0;
}

static int send_part(struct file *f, size_t part, char *data, bool *ret_sent,
		     struct error *err)
{
	struct s3_multipart *m = &f->multipart;
	char hex[DIGEST_HEX_SIZE];
	size_t size = (size_t)f->local->size;

	if (read_part(f, part, data, err))
		return -1;
	*ret_sent = true;
	if (m->n > 1)
		return s3_multipart_put(m, (int)part + 1, data, ret_sent, err);
	return s3_put(m->bucket, f->key, data, size,
		      digest_hex_of(DIGEST_MD5, data, size, hex), err);
}

static void multipart_release(struct s3_multipart *m)
{
	free(m->parts);
	free((char *)m->id);
	m->parts = NULL;
	m->id = NULL;
}

/* ---- the threads ---- */

struct task {
	struct file *f;
	size_t part;
	bool open; /* no thread has opened it yet */
};

/* With the lock held. False: no work now (*ret_wait) or at all. */
static bool next_task(struct upload *up, struct task *ret, bool *ret_wait)
{
	size_t n = up->conf->n;

	*ret_wait = false;
	while (up->first < n) {
		const struct file *f = &up->files[up->first];

		if (f->state != FILE_DONE &&
		    !(f->state == FILE_OPEN && f->next == f->multipart.n))
			break;
		up->first++;
	}
	for (size_t i = up->first; i < n; i++) {
		struct file *f = &up->files[i];

		if (f->state == FILE_NEW) {
			f->state = FILE_OPENING;
			*ret = (struct task){ .f = f, .open = true };
			return true;
		}
		if (f->state == FILE_OPEN && f->next < f->multipart.n) {
			*ret = (struct task){ .f = f, .part = f->next++ };
			return true;
		}
		*ret_wait |= f->state == FILE_OPENING;
	}
	return false;
}

static void end_file(struct upload *up, struct file *f, bool sent)
{
	pthread_mutex_lock(&up->lock);
	f->state = FILE_DONE;
	f->sent = sent;
	multipart_release(&f->multipart);
	pthread_mutex_unlock(&up->lock);
	up->conf->done(up->conf->ctx, (size_t)(f - up->files), sent);
}

static void fail(struct upload *up, const struct file *f, const struct error *why)
{
	if (up->failed)
		return;
	up->failed = true;
	up->err = *why;
	if (why->kind != ERR_STOPPED && !strstr(why->msg, f->local->path))
		error_wrap(&up->err, "%s", f->local->path);
}

static int do_open(struct upload *up, struct file *f, char *data, struct error *err)
{
	if (open_file(up, f, data, err))
		return -1;
	if (!f->left) {
		up->conf->progress(up->conf->ctx, f->local->size, false);
		end_file(up, f, false);
		return 0;
	}
	pthread_mutex_lock(&up->lock);
	f->state = FILE_OPEN;
	pthread_mutex_unlock(&up->lock);
	return 0;
}

/* Call it without the lock, which it takes for changes. */
static int do_task(struct upload *up, const struct task *t, char *data, struct error *err)
{
	struct file *f = t->f;
	bool sent = false, last;

	if (t->open)
		return do_open(up, f, data, err);
	if (send_part(f, t->part, data, &sent, err))
		return -1;
	up->conf->progress(up->conf->ctx, size_of(f, t->part), sent);
	pthread_mutex_lock(&up->lock);
	last = --f->left == 0;
	pthread_mutex_unlock(&up->lock);
	if (!last)
		return 0;
	if (f->multipart.n > 1 && s3_multipart_complete(&f->multipart, err))
		return -1;
	end_file(up, f, true);
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
	pthread_mutex_unlock(&up->lock);
	free(data);
	return NULL;
}

/* Few threads if parts are large, unless the caller sets their number. */
static unsigned connections(const struct upload *up)
{
	unsigned n = up->conf->connections;

	if (n)
		return n < UPLOAD_MAX_CONNECTIONS ? n : UPLOAD_MAX_CONNECTIONS;
	n = up->part_max < PARTS_BYTES ? (unsigned)(PARTS_BYTES / up->part_max) : 1;
	return n < CONNECTIONS ? n : CONNECTIONS;
}

static int send_all(struct upload *up, struct error *err)
{
	unsigned want = connections(up), started = 0;
	pthread_t threads[UPLOAD_MAX_CONNECTIONS];

	for (; started < want; started++) {
		if (thread_start(&threads[started], work, up, err))
			break;
		if (up->conf->background && started)
			pthread_setschedparam(threads[started], SCHED_IDLE,
					      &(struct sched_param){ 0 });
	}
	up->conf->started(up->conf->ctx, started);
	for (unsigned i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	if (!started)
		return -1;
	if (up->failed)
		*err = up->err;
	return up->failed ? -1 : 0;
}

/* ---- the run ---- */

static void add_files(struct upload *up, const char *prefix)
{
	const struct put_conf *conf = up->conf;

	up->files = xcalloc(conf->n, sizeof(*up->files));
	up->part_max = S3_PART_MIN;
	for (size_t i = 0; i < conf->n; i++) {
		struct file *f = &up->files[i];
		const char *path = conf->dir ? conf->files[i].path : "";

		f->local = &conf->files[i];
		f->key = arena_printf(&up->arena, "%s%s", prefix, path);
		f->part_size = S3_PART_MIN;
		while (parts_of(f) > S3_PARTS_MAX)
			f->part_size *= 2;
		if (f->part_size > up->part_max)
			up->part_max = f->part_size;
	}
}

static int upload_files(struct upload *up, struct error *err)
{
	const struct put_conf *conf = up->conf;
	const char *prefix;
	struct uri uri;

	if (uri_parse(&uri, &up->arena, conf->store->uri, err) ||
	    s3_bucket_open(&up->bucket, conf->store, err))
		return -1;
	up->scheme = uri.scheme;
	up->bucket_name = uri.host;
	prefix = s3_bucket_key(up->bucket);
	if (!conf->dir && (!*prefix || str_ends(prefix, "/")))
		return error_set(err, ERR_INVALID,
				 "%s: no object name: expected %s://BUCKET/KEY",
				 uri_shown(&up->arena, conf->store->uri), uri.scheme);
	if (conf->dir && *prefix && !str_ends(prefix, "/"))
		prefix = arena_printf(&up->arena, "%s/", prefix);
	add_files(up, prefix);
	if (!conf->blind && list_remotes(up, prefix, err))
		return -1;
	if (conf->dir)
		upload_log_open(&up->log, conf->dir);
	return send_all(up, err);
}

/* Can the next run go on: stopped, or a server that does not answer? */
static bool is_resumable(const struct error *err)
{
	return err->kind == ERR_STOPPED || err->kind == ERR_BUSY || err->kind == ERR_IO ||
	       err->kind == ERR_TIMEOUT;
}

/* Abort uploads that no run will resume: their parts cost money. */
static void end_unfinished(struct upload *up, int rc, const struct error *err)
{
	bool keep = rc && up->log.ids.n;

	for (size_t i = 0; rc && up->files && i < up->conf->n; i++) {
		const struct s3_multipart *m = &up->files[i].multipart;
		bool resumable = up->log.fd >= 0 && is_resumable(err);

		if (m->id && (resumable || s3_multipart_abort(m, IGNORED)))
			keep = true;
	}
	upload_log_close(&up->log, !keep);
}

int s3_upload(const struct put_conf *conf, struct error *err)
{
	struct upload up = { .conf = conf, .log = { .state = -1, .fd = -1 } };
	int rc;

	pthread_mutex_init(&up.lock, NULL);
	cond_init(&up.changed);
	rc = upload_files(&up, err);
	end_unfinished(&up, rc, err);
	for (size_t i = 0; up.files && i < conf->n; i++)
		multipart_release(&up.files[i].multipart);
	free(up.files);
	map_release(&up.remotes, NULL);
	s3_bucket_close(up.bucket);
	arena_clear(&up.arena);
	pthread_cond_destroy(&up.changed);
	pthread_mutex_destroy(&up.lock);
	return rc;
}
