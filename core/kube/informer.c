/* informer.c - the list-and-watch loop and the store of one kind (kube/informer.h). */
#include "kube/informer.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/thread.h"
#include "base/xmalloc.h"

/* The first two are those of client-go's Reflector. */
enum {
	DELAY_FIRST_MS = 800,
	DELAY_MOST_MS = 30 * 1000,
	BACKOFF_RESET_MS = 60 * 1000, /* without a failure: resets the delay */
	SHORT_MS = 1000, /* a watch that ends sooner, without an event, is a failure */
	UNSERVED_MS = 30 * 1000,
};

struct object {
	unsigned round; /* of the last list that contained it */
	char data[];    /* resourceVersion, NUL, JSON, NUL */
};

struct informer {
	struct informer_conf conf;
	pthread_t thread;
	pthread_mutex_t lock;
	struct map objects; /* key -> struct object; only the thread writes */
	/* Used by the thread only. */
	char *version; /* resourceVersion to watch from; NULL: list */
	unsigned round;
	int64_t delay_ms, failed_ms;
	bool heard;   /* the current watch had an event */
	bool expired; /* 410 Gone, and no successful watch since */
	bool stop;
	atomic_bool synced, unserved;
	int wake_fd, synced_fd, stop_fd;
};

/* ---- the store ------------------------------------------------------------------- */

const char *informer_key(struct arena *arena, const char *ns, const char *name)
{
	return ns && *ns ? arena_printf(arena, "%s/%s", ns, name)
			 : arena_strdup(arena, name);
}

static const char *text_of(const struct object *o)
{
	return o->data + strlen(o->data) + 1;
}

static struct object *object_new(struct informer *inf, const char *version,
				 const char *text)
{
	size_t vlen = strlen(version) + 1, tlen = strlen(text) + 1;
	struct object *o = xmalloc(sizeof(*o) + vlen + tlen);

	o->round = inf->round;
	memcpy(o->data, version, vlen);
	memcpy(o->data + vlen, text, tlen);
	return o;
}

/* Replace the object of a key; `o` NULL: delete it. Returns the old one, the caller's. */
static struct object *exchange(struct informer *inf, const char *key, struct object *o)
{
	struct object *old;

	pthread_mutex_lock(&inf->lock);
	old = o ? map_put(&inf->objects, key, o) : map_del(&inf->objects, key);
	pthread_mutex_unlock(&inf->lock);
	return old;
}

static void notify_handler(struct informer *inf, const cJSON *old, const cJSON *current)
{
	const char *old_uid = meta_uid(old), *uid = meta_uid(current);

	if (old_uid && uid && !str_eq(old_uid, uid)) {
		inf->conf.on_event(inf->conf.ctx, old, NULL);
		old = NULL;
	}
	if (old || current)
		inf->conf.on_event(inf->conf.ctx, old, current);
}

static bool transform(struct informer *inf, cJSON *obj)
{
	if (inf->conf.transform)
		return inf->conf.transform(obj);
	meta_drop_managed_fields(obj);
	return true;
}

static void drop(struct informer *inf, const char *key)
{
	cleanup_free struct object *old = exchange(inf, key, NULL);
	cleanup_json cJSON *stored = NULL;

	if (!old || !inf->conf.on_event)
		return;
	stored = json_reread(text_of(old));
	notify_handler(inf, stored, NULL);
}

static void put(struct informer *inf, const char *key, cJSON *obj)
{
	cleanup_free struct object *old = NULL;
	cleanup_free char *text = NULL, *version = NULL;
	cleanup_json cJSON *stored = NULL;
	struct object *o = map_get(&inf->objects, key);

	version = xstrdup(meta_version(obj) ? meta_version(obj) : "");
	if (o && *version && str_eq(o->data, version)) {
		o->round = inf->round;
		return;
	}
	if (!transform(inf, obj)) {
		drop(inf, key);
		return;
	}
	text = json_text(obj);
	old = exchange(inf, key, object_new(inf, version, text));
	if (!inf->conf.on_event)
		return;
	stored = old ? json_reread(text_of(old)) : NULL;
	notify_handler(inf, stored, obj);
}

/* ---- list and watch -------------------------------------------------------------- */

static struct kube_ref ref_of(const struct informer *inf)
{
	return (struct kube_ref){ .api_version = inf->conf.api_version,
				  .kind = inf->conf.kind,
				  .ns = inf->conf.ns };
}

static bool stopping(struct informer *inf)
{
	return __atomic_load_n(&inf->stop, __ATOMIC_ACQUIRE) || stop_requested();
}

static void set_version(struct informer *inf, const char *version)
{
	char *copy = version && *version ? xstrdup(version) : NULL;

	free(inf->version);
	inf->version = copy;
}

static void raise_fd(int fd)
{
	static const uint64_t one = 1;

	/* EAGAIN: the counter is at its maximum, and so the fd is readable. */
	if (write(fd, &one, sizeof(one)) < 0)
		return;
}

static void set_served(struct informer *inf, bool current)
{
	if (atomic_exchange(&inf->unserved, !current) == current && inf->conf.on_served)
		inf->conf.on_served(inf->conf.ctx, current);
}

static void set_synced(struct informer *inf)
{
	if (!atomic_exchange(&inf->synced, true))
		raise_fd(inf->synced_fd);
}

static int on_item(void *ctx, cJSON *take_obj, struct error *err)
{
	struct informer *inf = ctx;
	cleanup_json cJSON *obj = take_obj;
	cleanup_arena struct arena arena = { 0 };

	if (stopping(inf))
		return error_set(err, ERR_STOPPED, "stopped");
	if (meta_name(obj))
		put(inf, informer_key(&arena, meta_namespace(obj), meta_name(obj)), obj);
	return 0;
}

/* Skip an unreadable object; its stored version remains until the next list. */
static void on_problem(void *ctx, const struct error *err)
{
	const struct informer *inf = ctx;

	if (inf->conf.on_error)
		inf->conf.on_error(inf->conf.ctx, err);
}

static void on_answer(void *ctx)
{
	const struct informer *inf = ctx;

	if (inf->conf.on_answer)
		inf->conf.on_answer(inf->conf.ctx);
}

/* Delete the objects that the list of this round did not contain. */
static void sweep(struct informer *inf)
{
	map_each(e, &inf->objects)
		if (((const struct object *)e->value)->round != inf->round)
			drop(inf, e->key);
}

static void on_restart(void *ctx)
{
	struct informer *inf = ctx;

	inf->round++;
}

static int list(struct informer *inf, struct error *err)
{
	struct kube_ref ref = ref_of(inf);
	struct kube_sink sink = { on_item,    inf,        on_problem,
				  on_restart, &inf->stop, &inf->stop_fd };
	cleanup_free char *version = NULL;

	inf->round++;
	if (kube_list(inf->conf.kube, &ref, &inf->conf.select, &sink, &version, err))
		return -1;
	if (!version || !*version)
		return error_set(err, ERR_FORMAT, "list %s: no resourceVersion",
				 ref.kind);
	on_answer(inf);
	sweep(inf);
	set_version(inf, version);
	set_served(inf, true);
	set_synced(inf);
	return 0;
}

static int on_watch(void *ctx, const char *type, cJSON *take_obj, struct error *err)
{
	struct informer *inf = ctx;
	cleanup_json cJSON *obj = take_obj;
	cleanup_arena struct arena arena = { 0 };
	const char *key;

	if (stopping(inf))
		return error_set(err, ERR_STOPPED, "stopped");
	inf->heard = true;
	if (meta_version(obj))
		set_version(inf, meta_version(obj));
	if (!meta_name(obj) || str_eq(type, "BOOKMARK"))
		return 0;
	key = informer_key(&arena, meta_namespace(obj), meta_name(obj));
	if (str_eq(type, "DELETED"))
		drop(inf, key);
	else
		put(inf, key, obj);
	return 0;
}

static int watch(struct informer *inf, struct error *err)
{
	struct kube_ref ref = ref_of(inf);
	cleanup_free char *from = xstrdup(inf->version);
	struct kube_watch_opts opts = { .select = inf->conf.select,
					.version = from,
					.cancel = &inf->stop,
					.cancel_fd = &inf->stop_fd,
					.on_event = on_watch,
					.on_unreadable = on_problem,
					.on_answer = on_answer,
					.ctx = inf };

	return kube_watch(inf->conf.kube, &ref, &opts, err);
}

/* ---- the thread ------------------------------------------------------------------ */

static int64_t next_delay(struct informer *inf)
{
	int64_t now = clock_ms(), ms;

	if (!inf->delay_ms || now - inf->failed_ms > BACKOFF_RESET_MS + inf->delay_ms)
		inf->delay_ms = DELAY_FIRST_MS;
	inf->failed_ms = now;
	ms = inf->delay_ms;
	inf->delay_ms = ms * 2 < DELAY_MOST_MS ? ms * 2 : DELAY_MOST_MS;
	return ms + clock_dice(ms);
}

static void wait_ms(struct informer *inf, int64_t ms)
{
	struct pollfd fds[] = { { .fd = inf->wake_fd, .events = POLLIN },
				{ .fd = stop_fd(), .events = POLLIN } };
	uint64_t count;

	if (poll(fds, 2, (int)ms) > 0 && fds[0].revents &&
	    read(inf->wake_fd, &count, sizeof(count)) < 0)
		return; /* cannot fail: no other thread reads it */
}

/* Empty the store of a kind that is not served. Returns the delay until the next list. */
static int64_t wait_for_kind(struct informer *inf)
{
	set_version(inf, NULL);
	inf->round++;
	set_served(inf, false);
	sweep(inf);
	set_synced(inf);
	return inf->conf.ask_ms ? inf->conf.ask_ms : UNSERVED_MS;
}

/* The delay before a new list: none after a first 410, else the back-off. */
static int64_t relist_delay(struct informer *inf, const struct error *err)
{
	bool again = inf->expired || err->code != 410;

	set_version(inf, NULL);
	inf->expired = true;
	if (err->code != 410)
		on_problem(inf, err);
	return again ? next_delay(inf) : 0;
}

/* One list or one watch. Returns the delay before the next, in ms. */
static int64_t step(struct informer *inf)
{
	struct error err = { 0 };
	int64_t start = clock_ms();
	bool listing = !inf->version, good;
	int rc;

	inf->heard = false;
	rc = listing ? list(inf, &err) : watch(inf, &err);
	good = listing ? rc == 0 : inf->heard || clock_ms() - start >= SHORT_MS;
	if (!listing && good)
		inf->expired = false;
	if (inf->heard)
		inf->delay_ms = 0;
	if (rc == 0)
		return good ? 0 : next_delay(inf);
	if (stopping(inf))
		return 0;
	if (err.kind == ERR_EXPIRED)
		return relist_delay(inf, &err);
	if (err.kind == ERR_NOT_FOUND && inf->conf.optional)
		return wait_for_kind(inf);
	on_problem(inf, &err);
	return next_delay(inf);
}

static void *keep_watching(void *ctx)
{
	struct informer *inf = ctx;

	while (!stopping(inf)) {
		int64_t ms = step(inf);

		if (ms > 0)
			wait_ms(inf, ms);
	}
	return NULL;
}

static void release(struct informer *inf)
{
	map_release(&inf->objects, free);
	pthread_mutex_destroy(&inf->lock);
	if (inf->wake_fd >= 0)
		close(inf->wake_fd);
	if (inf->synced_fd >= 0)
		close(inf->synced_fd);
	if (inf->stop_fd >= 0)
		close(inf->stop_fd);
	free(inf->version);
	free(inf);
}

int informer_start(struct informer **ret, const struct informer_conf *conf,
		   struct error *err)
{
	struct informer *inf = xcalloc(1, sizeof(*inf));
	int rc = 0;

	inf->conf = *conf;
	pthread_mutex_init(&inf->lock, NULL);
	inf->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	inf->synced_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	inf->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (inf->wake_fd < 0 || inf->synced_fd < 0 || inf->stop_fd < 0)
		rc = error_errno(err, errno, "eventfd");
	*ret = inf;
	if (rc || thread_start(&inf->thread, keep_watching, inf, err)) {
		*ret = NULL;
		release(inf);
		return -1;
	}
	return 0;
}

void informer_stop(struct informer *inf)
{
	if (!inf)
		return;
	__atomic_store_n(&inf->stop, true, __ATOMIC_RELEASE);
	raise_fd(inf->wake_fd);
	raise_fd(inf->stop_fd);
	pthread_join(inf->thread, NULL);
	release(inf);
}

void informer_retry_now(struct informer *inf)
{
	raise_fd(inf->wake_fd);
}

/* ---- readers --------------------------------------------------------------------- */

bool informer_served(struct informer *inf)
{
	return !inf->unserved;
}

bool informer_synced(struct informer *inf)
{
	return inf->synced;
}

int informer_wait(struct informer *inf, int64_t ms, struct error *err)
{
	struct pollfd fds[] = { { .fd = inf->synced_fd, .events = POLLIN },
				{ .fd = stop_fd(), .events = POLLIN } };
	int64_t left = ms < INT32_MAX ? ms : INT32_MAX, until = clock_ms() + left;

	for (; !informer_synced(inf) && !stop_requested() && left >= 0;
	     left = until - clock_ms())
		poll(fds, 2, (int)left);
	if (informer_synced(inf))
		return 0;
	if (stop_requested())
		return error_set(err, ERR_STOPPED, "stopped");
	return error_set(err, ERR_TIMEOUT, "%s: not listed in time", inf->conf.kind);
}

cJSON *informer_get(struct informer *inf, const char *ns, const char *name)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_free char *text = NULL;
	const char *key = informer_key(&arena, ns, name);
	const struct object *o;

	pthread_mutex_lock(&inf->lock);
	o = map_get(&inf->objects, key);
	text = o ? xstrdup(text_of(o)) : NULL;
	pthread_mutex_unlock(&inf->lock);
	return text ? json_reread(text) : NULL;
}

size_t informer_count(struct informer *inf)
{
	size_t n;

	pthread_mutex_lock(&inf->lock);
	n = inf->objects.n;
	pthread_mutex_unlock(&inf->lock);
	return n;
}

void informer_each(struct informer *inf, bool (*visit)(void *ctx, const cJSON *obj),
		   void *ctx)
{
	cleanup_arena struct arena arena = { 0 };
	size_t n = 0;
	char **keys;

	pthread_mutex_lock(&inf->lock);
	keys = arena_alloc(&arena, (inf->objects.n + 1) * sizeof(*keys));
	map_each(e, &inf->objects)
		keys[n++] = arena_strdup(&arena, e->key);
	pthread_mutex_unlock(&inf->lock);
	for (size_t i = 0; i < n; i++) {
		cleanup_json cJSON *obj = informer_get(inf, NULL, keys[i]);

		if (obj && !visit(ctx, obj))
			return;
	}
}
