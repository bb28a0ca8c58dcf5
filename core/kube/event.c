/* event.c - records Events and sends them from a thread (kube/event.h). */
#include "kube/event.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/event.h"
#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/str.h"
#include "base/thread.h"
#include "base/xmalloc.h"

enum {
	MAX_SERIES = 2048,  /* in memory; the least recently used is evicted */
	MAX_WAITING = 1000, /* series to send; further events are dropped */
	MAX_TRIES = 5,
	MAX_MESSAGE = 1024,
	MAX_INSTANCE = 128,
	BURST = 25, /* new series per object */
	REFILL_MS = 300 * 1000,
	GAP_FIRST_MS = 1000, /* between two requests for a series */
	GAP_MOST_MS = 300 * 1000,
	BACKOFF_RESET_MS = 600 * 1000, /* without an event: resets the gap */
	NAME_ROOM = 253 - 17,
};

/* All events with the same object, type, reason and series: one Event. */
struct series {
	char *key;
	char *name;    /* the Event's; NULL: not created yet */
	int64_t stamp; /* suffix of the name, set at the first attempt; 0: not set */
	cJSON *doc;    /* to send; NULL: the Event is up to date */
	int64_t first, last, count;
	int64_t gap_ms, not_before_ms, due_ms;
	int tries;
	bool busy;           /* a request is in progress */
	struct series *next; /* in event_recorder.waiting */
};

struct bucket {
	double tokens;
	int64_t filled_ms;
};

struct event_recorder {
	struct event_recorder_conf conf;
	struct arena arena;
	const char *instance;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct map series, buckets; /* in order of use */
	struct series *waiting;     /* in order of arrival */
	struct series **waiting_end;
	size_t n_waiting;
	int64_t until;  /* when the sender wakes; -1: never; 0: it is awake */
	int64_t end_ms; /* >= 0: send pending events until then, and end */
	int64_t stamp;  /* nanoseconds; unique */
};

/* ---- the document ---------------------------------------------------------------- */

/* An Event without name, times and count, which the series has. */
static cJSON *document(const struct event_recorder *r, const cJSON *about,
		       const struct event *e)
{
	cleanup_arena struct arena arena = { 0 };
	cJSON *doc = event_new(about, r->conf.component, e->warning, e->reason,
			       str_at_most(&arena, e->message, MAX_MESSAGE));

	json_put_str(doc, r->instance, "reportingInstance");
	if (e->action)
		json_put_str(doc, e->action, "action");
	return doc;
}

/* A copy of a series' state, used by the sender without the lock. */
struct outgoing {
	cJSON *doc;
	const char *name; /* NULL: create it */
	int64_t first, last, count;
	int64_t stamp;
};

static const char *new_name(struct arena *arena, const struct outgoing *l)
{
	const char *object = json_str(l->doc, "involvedObject", "name");
	size_t len = object ? strnlen(object, NAME_ROOM) : 0;

	while (len > 0 && object[len] && strchr(".-", object[len - 1]))
		len--;
	return arena_printf(arena, "%.*s.%llx", (int)len, object ? object : "",
			    (long long)l->stamp);
}

static void complete(const struct outgoing *l, const char *name)
{
	meta_set_name(l->doc, name);
	event_set_first(l->doc, l->first);
	event_set_last(l->doc, l->last, l->count);
}

/* ---- under the lock -------------------------------------------------------------- */

static void series_free(struct series *s)
{
	free(s->key);
	free(s->name);
	cJSON_Delete(s->doc);
	free(s);
}

static void series_freep(void *s)
{
	series_free(s);
}

static void forget_series(struct event_recorder *r, struct series *s)
{
	map_del(&r->series, s->key);
	series_free(s);
}

static void make_room(struct event_recorder *r)
{
	map_each(e, &r->series) {
		struct series *s = e->value;

		if (r->series.n < MAX_SERIES)
			return;
		if (!s->doc && !s->busy)
			forget_series(r, s);
	}
}

/* client-go's EventSourceObjectSpamFilter. False: the object has too many new events. */
static bool take_token(struct event_recorder *r, const char *object)
{
	struct bucket *b = map_del(&r->buckets, object);
	int64_t now = clock_ms();

	if (!b) {
		if (r->buckets.n >= MAX_SERIES)
			free(map_del(&r->buckets, map_next(&r->buckets, NULL)->key));
		b = xmalloc(sizeof(*b));
		*b = (struct bucket){ .tokens = BURST, .filled_ms = now };
	}
	b->tokens += (double)(now - b->filled_ms) / REFILL_MS;
	b->tokens = b->tokens < BURST ? b->tokens : BURST;
	b->filled_ms = now;
	map_put(&r->buckets, object, b);
	if (b->tokens < 1)
		return false;
	b->tokens--;
	return true;
}

/* Find or create a series, now the most recently used. NULL: the object has too many. */
static struct series *series_of(struct event_recorder *r, const char *key,
				const char *object)
{
	struct series *s = map_del(&r->series, key);

	if (!s) {
		if (!take_token(r, object))
			return NULL;
		make_room(r);
		s = xcalloc(1, sizeof(*s));
		s->key = xstrdup(key);
		s->first = clock_now();
	}
	map_put(&r->series, key, s);
	return s;
}

static void append(struct event_recorder *r, struct series *s)
{
	s->next = NULL;
	*r->waiting_end = s;
	r->waiting_end = &s->next;
	r->n_waiting++;
	if (r->until < 0 || s->due_ms < r->until)
		pthread_cond_signal(&r->wake);
}

/* Pass the complete Event to on_event. */
static void hand_over(struct event_recorder *r, struct series *s, cJSON *take_doc)
{
	const struct outgoing l = { .doc = take_doc,
				    .first = s->first,
				    .last = s->last,
				    .count = s->count,
				    .stamp = s->name ? 0 : ++r->stamp };
	cleanup_arena struct arena arena = { 0 };

	if (!s->name)
		s->name = xstrdup(new_name(&arena, &l));
	complete(&l, s->name);
	r->conf.on_event(r->conf.ctx, l.doc);
	cJSON_Delete(take_doc);
}

static void take_document(struct event_recorder *r, struct series *s, cJSON *take_doc)
{
	bool waits = s->doc != NULL;
	int64_t now = clock_ms();

	s->last = clock_now();
	s->count++;
	if (r->conf.on_event) {
		hand_over(r, s, take_doc);
		return;
	}
	cJSON_Delete(s->doc);
	s->doc = take_doc;
	if (waits)
		return;
	if (now - s->not_before_ms > BACKOFF_RESET_MS)
		s->gap_ms = 0;
	s->due_ms = now > s->not_before_ms ? now : s->not_before_ms;
	append(r, s);
}

/* A series that is due, or NULL; *ret_until: when the next one is, -1: never. */
static struct series *next_due(struct event_recorder *r, int64_t *ret_until)
{
	struct series *first = NULL;
	int64_t now = clock_ms();

	*ret_until = -1;
	for (struct series *s = r->waiting; s; s = s->next) {
		if (s->busy || (first && s->due_ms >= *ret_until))
			continue;
		first = s;
		*ret_until = s->due_ms;
		if (s->due_ms <= now)
			return s;
	}
	return r->end_ms >= 0 ? first : NULL;
}

static void unlink_waiting(struct event_recorder *r, struct series *s)
{
	struct series **at = &r->waiting;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	if (!s->next)
		r->waiting_end = at;
	r->n_waiting--;
}

/* ---- sending --------------------------------------------------------------------- */

static int patch(struct event_recorder *r, const struct outgoing *l, const char *name,
		 struct error *err)
{
	struct kube_ref ref = { "v1", "Event", meta_namespace(l->doc), name };
	cleanup_json cJSON *changes = cJSON_CreateObject();

	json_put_str(changes, json_str(l->doc, "message"), "message");
	event_set_last(changes, l->last, l->count);
	return kube_merge_patch(r->conf.kube, &ref, changes, &kube_plain, NULL, err);
}

static int create(struct event_recorder *r, const struct outgoing *l, const char *name,
		  struct error *err)
{
	const struct kube_write how = { .exists_ok = true };

	complete(l, name);
	return kube_create(r->conf.kube, l->doc, &how, NULL, err);
}

static int deliver(struct event_recorder *r, const struct outgoing *l, char **ret_name,
		   struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *name = l->name ? l->name : new_name(&arena, l);
	int rc = l->name ? patch(r, l, name, err) : create(r, l, name, err);

	/* The Event has expired, or a create without a response has succeeded. */
	if (rc && l->name && err->kind == ERR_NOT_FOUND)
		rc = create(r, l, name, err);
	else if (rc && !l->name && err->kind == ERR_EXISTS)
		rc = patch(r, l, name, err);
	if (!rc && !l->name)
		*ret_name = xstrdup(name);
	return rc;
}

static bool is_worth_a_retry(const struct error *err)
{
	return err->kind == ERR_BUSY || err->kind == ERR_IO || err->kind == ERR_TIMEOUT ||
	       err->kind == ERR_STOPPED;
}

/* Record the result of a request; under the lock. True: the event is given up. */
static bool record_result(struct event_recorder *r, struct series *s, cJSON *take_doc,
			  int rc, const struct error *err)
{
	cleanup_json cJSON *doc = take_doc;
	int64_t now = clock_ms();

	s->busy = false;
	if (rc == 0) {
		s->gap_ms = !s->gap_ms                    ? GAP_FIRST_MS
			    : s->gap_ms * 2 < GAP_MOST_MS ? s->gap_ms * 2
							  : GAP_MOST_MS;
		s->not_before_ms = s->due_ms = now + s->gap_ms;
		s->tries = 0;
		return false;
	}
	if (is_worth_a_retry(err) && ++s->tries < MAX_TRIES) {
		s->due_ms = now + (int64_t)s->tries * GAP_FIRST_MS;
		if (!s->doc) {
			s->doc = STEAL(doc);
			append(r, s);
		}
		return false;
	}
	s->tries = 0;
	if (!s->name && !s->doc)
		forget_series(r, s);
	return true;
}

/* Send a series; called with the lock, which is released during the request. */
static void send_one(struct event_recorder *r, struct series *s)
{
	struct outgoing l = { .doc = STEAL(s->doc), .name = s->name };
	struct error err = { 0 };
	char *name = NULL;
	bool dropped;
	int rc;

	l.first = s->first;
	l.last = s->last;
	l.count = s->count;
	if (!s->stamp)
		s->stamp = ++r->stamp;
	l.stamp = s->stamp;
	unlink_waiting(r, s);
	s->busy = true;
	pthread_mutex_unlock(&r->lock);
	rc = deliver(r, &l, &name, &err);
	pthread_mutex_lock(&r->lock);
	if (name) {
		free(s->name);
		s->name = name;
	}
	dropped = record_result(r, s, l.doc, rc, &err);
	if (!dropped || !r->conf.on_drop)
		return;
	pthread_mutex_unlock(&r->lock);
	r->conf.on_drop(r->conf.ctx, &err);
	pthread_mutex_lock(&r->lock);
}

static void *keep_sending(void *ctx)
{
	struct event_recorder *r = ctx;

	pthread_mutex_lock(&r->lock);
	for (;;) {
		struct series *s = next_due(r, &r->until);

		if (r->end_ms >= 0 && (!s || clock_ms() >= r->end_ms))
			break;
		if (!s)
			cond_wait_until(&r->wake, &r->lock, r->until);
		r->until = 0;
		if (s)
			send_one(r, s);
	}
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

/* ---- event.h --------------------------------------------------------------------- */

static void release(struct event_recorder *r)
{
	map_release(&r->series, series_freep);
	map_release(&r->buckets, free);
	pthread_cond_destroy(&r->wake);
	pthread_mutex_destroy(&r->lock);
	arena_clear(&r->arena);
	free(r);
}

int event_recorder_new(struct event_recorder **ret,
		       const struct event_recorder_conf *conf, struct error *err)
{
	struct event_recorder *r = xcalloc(1, sizeof(*r));
	char host[256] = "";
	struct timespec now;

	gethostname(host, sizeof(host) - 1);
	clock_gettime(CLOCK_REALTIME, &now);
	r->conf = *conf;
	r->waiting_end = &r->waiting;
	r->conf.component = arena_strdup(&r->arena, conf->component);
	r->instance = str_at_most(&r->arena,
				  arena_printf(&r->arena, "%s-%s", conf->component, host),
				  MAX_INSTANCE);
	r->stamp = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	r->end_ms = -1;
	pthread_mutex_init(&r->lock, NULL);
	cond_init(&r->wake);
	if (!conf->on_event && thread_start(&r->thread, keep_sending, r, err)) {
		release(r);
		return -1;
	}
	*ret = r;
	return 0;
}

void event_recorder_free(struct event_recorder *r, int64_t ms)
{
	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	r->end_ms = clock_ms() + ms;
	pthread_cond_broadcast(&r->wake);
	pthread_mutex_unlock(&r->lock);
	if (!r->conf.on_event)
		pthread_join(r->thread, NULL);
	release(r);
}

void event_record(struct event_recorder *r, const cJSON *about, const struct event *e)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *doc = document(r, about, e);
	const char *uid = meta_uid(about), *name = meta_name(about);
	const char *object =
		arena_printf(&arena, "%s/%s/%s/%s", meta_kind(about), meta_namespace(doc),
			     name ? name : "", uid ? uid : "");
	const char *series =
		str_at_most(&arena, e->series ? e->series : e->message, MAX_MESSAGE);
	const char *key = arena_printf(&arena, "%s\n%d\n%s\n%s", object, e->warning,
				       e->reason, series);
	struct series *s;

	pthread_mutex_lock(&r->lock);
	s = r->n_waiting < MAX_WAITING ? series_of(r, key, object) : NULL;
	if (s)
		take_document(r, s, STEAL(doc));
	pthread_mutex_unlock(&r->lock);
}
