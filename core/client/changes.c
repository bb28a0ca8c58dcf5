/* changes.c - a queue of informers' events with one reader (client/changes.h). */
#include "client/changes.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/stop.h"
#include "base/thread.h"
#include "base/xmalloc.h"
#include "kube/permission.h"

enum { MAX_WATCHES = 4, RETRY_MS = 2000, RESYNC_MS = 1000 };

struct watch {
	struct changes *changes;
	struct informer *informer;
	struct arena arena; /* the strings of the informer's conf */
	/* guarded by changes->lock */
	bool answered;      /* an answer was received */
	int64_t refused_ms; /* the first refusal after that; 0: none */
};

struct changes {
	struct kube *kube;
	void (*wake)(void *ctx);
	void *ctx;
	struct watch watches[MAX_WATCHES];
	size_t n_watches;
	bool synced;          /* CHANGE_SYNCED has been returned */
	int event;            /* an eventfd, readable while changes may be queued */
	pthread_mutex_t lock; /* guards the members below */
	pthread_cond_t room;
	int64_t retry_ms; /* when to make the informers retry; 0: never */
	struct change *first, **last;
	size_t n;
	bool lost, closed;
	struct error fatal;
};

void change_release(struct change *change)
{
	cJSON_Delete(change->obj);
	change->obj = NULL;
}

int changes_new(struct changes **ret, struct kube *k, void (*wake)(void *ctx), void *ctx,
		struct error *err)
{
	struct changes *c;
	int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (event < 0)
		return error_errno(err, errno, "eventfd");
	c = xcalloc(1, sizeof(*c));
	c->kube = k;
	c->wake = wake;
	c->ctx = ctx;
	c->event = event;
	c->last = &c->first;
	pthread_mutex_init(&c->lock, NULL);
	cond_init(&c->room);
	*ret = c;
	return 0;
}

static void signal_event(struct changes *c)
{
	static const uint64_t one = 1;
	ssize_t unused = write(c->event, &one, sizeof(one));

	(void)unused;
	if (c->wake)
		c->wake(c->ctx);
}

/* The caller holds c->lock. Waits while the queue is full, until it is closed. */
static void push(struct changes *c, enum change_kind kind, const cJSON *obj,
		 const struct error *err)
{
	struct change *change;

	while (c->n >= CHANGES_MAX && !c->closed)
		cond_wait_until(&c->room, &c->lock, -1);
	if (c->closed)
		return;
	change = xcalloc(1, sizeof(*change));
	change->kind = kind;
	change->obj = json_dup(obj);
	if (err)
		change->err = *err;
	*c->last = change;
	c->last = &change->next;
	c->n++;
}

/* Called in an informer's thread, as the next two functions. */
static void on_event(void *ctx, const cJSON *before, const cJSON *is)
{
	enum change_kind kind = !before ? CHANGE_ADDED
				: !is   ? CHANGE_DELETED
					: CHANGE_MODIFIED;
	struct changes *c = ((struct watch *)ctx)->changes;

	pthread_mutex_lock(&c->lock);
	push(c, kind, is ? is : before, NULL);
	pthread_mutex_unlock(&c->lock);
	signal_event(c);
}

/* The first answer after CHANGE_LOST queues CHANGE_FOUND, even if no object changed. */
static void on_answer(void *ctx)
{
	struct watch *w = ctx;
	struct changes *c = w->changes;
	bool found;

	pthread_mutex_lock(&c->lock);
	w->answered = true;
	w->refused_ms = 0;
	found = c->lost;
	c->lost = false;
	if (found)
		push(c, CHANGE_FOUND, NULL, NULL);
	pthread_mutex_unlock(&c->lock);
	if (found)
		signal_event(c);
}

/* Errors that a retry cannot fix. */
static bool is_fatal(const struct error *err)
{
	return err->kind == ERR_DENIED || err->kind == ERR_NOT_FOUND ||
	       err->kind == ERR_UNSUPPORTED || err->kind == ERR_INVALID;
}

bool changes_refused(int64_t *since_ms, bool refused)
{
	int64_t now = clock_ms();

	if (!refused)
		*since_ms = 0;
	else if (!*since_ms)
		*since_ms = now;
	return refused && now - *since_ms >= CHANGES_REFUSED_MS;
}

/*
 * Is this the refusal of an API server that has just started? Until it has read the rights and
 * the CRDs, it denies what it served before.
 */
static bool is_starting(struct watch *w, const struct error *err)
{
	bool refused =
		w->answered && (err->kind == ERR_DENIED || err->kind == ERR_NOT_FOUND);

	return !changes_refused(&w->refused_ms, refused) && refused;
}

static void on_error(void *ctx, const struct error *err)
{
	struct watch *w = ctx;
	struct changes *c = w->changes;

	if (err->kind == ERR_STOPPED || err->kind == ERR_FORMAT || err->kind == ERR_LIMIT)
		return; /* a shutdown; an object that cannot be parsed */
	pthread_mutex_lock(&c->lock);
	if (is_starting(w, err)) {
		if (!c->retry_ms)
			c->retry_ms = clock_ms() + RETRY_MS;
	} else if (is_fatal(err)) {
		if (!c->fatal.kind)
			c->fatal = *err;
	} else if (!c->lost) {
		c->lost = true;
		push(c, CHANGE_LOST, NULL, err);
	}
	pthread_mutex_unlock(&c->lock);
	signal_event(c);
}

int changes_watch(struct changes *c, const struct kube_ref *ref,
		  const char *label_selector, bool (*transform)(cJSON *obj),
		  struct error *err)
{
	struct informer_conf conf = { .kube = c->kube,
				      .transform = transform,
				      .on_event = on_event,
				      .on_error = on_error,
				      .on_answer = on_answer };
	struct watch *w;

	if (c->n_watches == MAX_WATCHES)
		return error_set(err, ERR_LIMIT, "more than %d watches", MAX_WATCHES);
	w = &c->watches[c->n_watches];
	w->changes = c;
	conf.ctx = w;
	conf.api_version = arena_strdup(&w->arena, ref->api_version);
	conf.kind = arena_strdup(&w->arena, ref->kind);
	conf.ns = arena_strdup(&w->arena, ref->ns);
	conf.select.label_selector = arena_strdup(&w->arena, label_selector);
	if (ref->name)
		conf.select.field_selector =
			arena_printf(&w->arena, "metadata.name=%s", ref->name);
	if (informer_start(&w->informer, &conf, err))
		return -1;
	c->n_watches++;
	c->synced = false;
	return 0;
}

/* Have all informers delivered their first list, with CHANGE_SYNCED still to return? */
static bool now_synced(struct changes *c)
{
	if (c->synced || !c->n_watches)
		return false;
	for (size_t i = 0; i < c->n_watches; i++)
		if (!informer_synced(c->watches[i].informer))
			return false;
	return true;
}

/* 1: *ret is the next change; 0: none yet; -1: a permanent failure. */
static int next_change(struct changes *c, struct change *ret, struct error *err)
{
	bool synced = now_synced(c); /* before the queue is read, which then has all */
	struct change *change;
	uint64_t drained;
	ssize_t unused = read(c->event, &drained, sizeof(drained));

	(void)unused;
	pthread_mutex_lock(&c->lock);
	if (c->fatal.kind) {
		*err = c->fatal;
		pthread_mutex_unlock(&c->lock);
		return permission_explain(err);
	}
	change = c->first;
	if (change) {
		c->first = change->next;
		if (!c->first)
			c->last = &c->first;
		c->n--;
		pthread_cond_broadcast(&c->room);
	}
	if (c->lost && !c->retry_ms)
		c->retry_ms = clock_ms() + RETRY_MS;
	pthread_mutex_unlock(&c->lock);
	if (change) {
		*ret = *change;
		free(change);
		return 1;
	}
	if (!synced)
		return 0;
	c->synced = true;
	*ret = (struct change){ .kind = CHANGE_SYNCED };
	return 1;
}

/* Informers back off up to 30 s, too long for a person: make them retry earlier. */
static void retry_informers(struct changes *c)
{
	bool due;

	pthread_mutex_lock(&c->lock);
	due = c->retry_ms && clock_ms() >= c->retry_ms;
	if (due)
		c->retry_ms = 0;
	pthread_mutex_unlock(&c->lock);
	if (!due)
		return;
	for (size_t i = 0; i < c->n_watches; i++)
		informer_retry_now(c->watches[i].informer);
}

static void wait_event(struct changes *c, int64_t ms)
{
	struct pollfd fds[] = { { .fd = c->event, .events = POLLIN },
				{ .fd = stop_fd(), .events = POLLIN } };

	if (poll(fds, fds[1].fd >= 0 ? 2 : 1, (int)ms) < 0 && errno != EINTR)
		clock_sleep_ms(ms);
}

int changes_next(struct changes *c, int64_t ms, struct change *ret, struct error *err)
{
	int64_t until = clock_ms() + ms;

	for (;;) {
		int64_t left = ms < 0 ? RESYNC_MS : until - clock_ms();
		int rc;

		if (stop_requested())
			return error_set(err, ERR_STOPPED, "stopped");
		*ret = (struct change){ 0 };
		retry_informers(c);
		rc = next_change(c, ret, err);
		if (rc || left <= 0)
			return rc;
		/* No descriptor becomes readable when all informers are synced: poll. */
		if (!c->synced && left > 10)
			left = 10;
		wait_event(c, left < RESYNC_MS ? left : RESYNC_MS);
	}
}

void changes_free(struct changes *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	c->closed = true;
	pthread_cond_broadcast(&c->room);
	pthread_mutex_unlock(&c->lock);
	for (size_t i = 0; i < c->n_watches; i++)
		informer_stop(c->watches[i].informer);
	for (size_t i = 0; i < MAX_WATCHES; i++)
		arena_clear(&c->watches[i].arena);
	for (struct change *at = c->first, *next; at; at = next) {
		next = at->next;
		change_release(at);
		free(at);
	}
	close(c->event);
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->room);
	free(c);
}
