/* track.c - the queue of points and its thread (registry/track.h). */
#include "registry/track.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/str.h"
#include "base/thread.h"
#include "base/xmalloc.h"
#include "net/uri.h"
#include "registry/track_impl.h"

enum {
	BATCH = 200,    /* Azure takes no more, MLflow 1,000 */
	SEND_MS = 1000, /* between two batches that are not full */
	FIRST_PAUSE_MS = 500,
	LAST_PAUSE_MS = 30 * 1000,
	END_PAUSE_MS = 3 * 1000, /* the last, when the job waits */
	POLL_MS = 200,
	SAY_MS = 60 * 1000,
	CALL_MS = 15 * 1000,
	RUN_TIMES = 6, /* as long for a run while the server answers */
};

/* The points of one call. */
struct batch {
	struct batch *next;
	size_t n;
	struct track_point points[BATCH];
};

struct track {
	struct track_conf conf;
	struct registry session;
	struct arena arena;
	const char *experiment;
	/* Used by the thread only. */
	struct track_run run;
	int64_t pause, retry_at;
	bool failing;
	int64_t answered_ms; /* atomic */
	/* Guarded by the lock. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct batch *first, *last, *sending;
	size_t n_points, n_lost;
	struct map names; /* as they were reported, to char * as they are sent */
	int64_t reports, send_at, say_at;
	bool has_run, refused, ending, done, complete;
	enum track_outcome outcome;
};

/* ---- the URI ---- */

/* "SERVER/EXPERIMENT"; the experiment is decoded. */
static int split(struct arena *arena, const char *uri, const char **ret_server,
		 const char **ret_experiment, struct error *err)
{
	const char *text = str_slice(arena, uri, str_length_before(uri, '/'));
	const char *slash = strrchr(text, '/');
	const struct registry_kind *kind;
	const char *server;

	if (!slash || slash == text || slash[-1] == '/' || strpbrk(text, "@?#"))
		return error_set(err, ERR_INVALID,
				 "expected mlflow+https://HOST[:PORT]/EXPERIMENT, "
				 "percent-encoded, with credentials in the environment");
	server = str_slice(arena, text, (size_t)(slash - text));
	if (registry_find_kind(&kind, server, err))
		return -1;
	if (!kind->track)
		return error_set(err, ERR_UNSUPPORTED,
				 "'%s': this registry tracks no metrics; use "
				 "mlflow+https://HOST/EXPERIMENT",
				 uri_shown(arena, server));
	*ret_server = server;
	return uri_decode(ret_experiment, arena, slash + 1, err);
}

int track_check(const char *uri, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *server, *experiment;

	return split(&arena, uri, &server, &experiment, err);
}

/* ---- calls, in the thread ---- */

__attribute__((format(printf, 2, 3))) static void say(struct track *t, const char *fmt,
						      ...)
{
	char text[1200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (t->conf.registry.say)
		t->conf.registry.say(t->conf.registry.ctx, text);
}

static void finish(struct track *t, bool complete)
{
	pthread_mutex_lock(&t->lock);
	t->done = true;
	t->complete = complete;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
}

static int open_run(struct track *t, struct registry *r, struct error *err)
{
	struct track_run run = { 0 };

	if (r->kind->track->open(r, &t->conf, t->experiment, &run, err))
		return -1;
	pthread_mutex_lock(&t->lock);
	t->run = run;
	t->has_run = true;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
	return 0;
}

/* The oldest batch, which nothing is added to from then on; NULL: none. */
static struct batch *take(struct track *t)
{
	struct batch *b;

	pthread_mutex_lock(&t->lock);
	b = t->sending ? t->sending : t->first;
	if (b && !t->sending) {
		t->sending = b;
		t->first = b->next;
		t->last = t->first ? t->last : NULL;
		for (size_t i = 0; i < b->n; i++)
			if (b->points[i].step < 0)
				b->points[i].step = t->run.step - 1 - b->points[i].step;
	}
	pthread_mutex_unlock(&t->lock);
	return b;
}

static void sent(struct track *t)
{
	pthread_mutex_lock(&t->lock);
	t->n_points -= t->sending->n;
	free(t->sending);
	t->sending = NULL;
	t->send_at = clock_ms() + (t->first && t->first->n == BATCH ? 0 : SEND_MS);
	pthread_mutex_unlock(&t->lock);
}

static int send_batch(struct track *t, struct registry *r, const struct batch *b,
		      struct error *err)
{
	if (r->kind->track->send(r, &t->run, b->points, b->n, err)) {
		if (err->kind != ERR_INVALID)
			return -1;
		say(t, "%zu points are refused and dropped: %s", b->n, err->msg);
	}
	sent(t);
	return 0;
}

static int step(struct track *t, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct registry r = t->session;
	const struct batch *b;

	r.arena = &arena;
	if (!t->has_run)
		return open_run(t, &r, err);
	b = take(t);
	if (b)
		return send_batch(t, &r, b, err);
	if (r.kind->track->end(&r, &t->run, t->outcome, err))
		return -1;
	finish(t, true);
	return 0;
}

/* ---- the thread ---- */

static void failed(struct track *t, const struct error *err)
{
	int64_t now = clock_ms(), longest;
	size_t waiting;
	bool due, ending;

	pthread_mutex_lock(&t->lock);
	ending = t->ending;
	longest = ending ? END_PAUSE_MS : LAST_PAUSE_MS;
	t->refused =
		err->kind != ERR_BUSY && err->kind != ERR_IO && err->kind != ERR_TIMEOUT;
	t->pause = t->pause < longest ? t->pause : longest;
	t->retry_at = now + t->pause;
	waiting = t->n_points;
	due = !t->failing || now >= t->say_at;
	if (due)
		t->say_at = now + SAY_MS;
	pthread_cond_broadcast(&t->changed);
	pthread_mutex_unlock(&t->lock);
	t->pause *= 2;
	t->failing = true;
	if (due)
		say(t,
		    ending ? "%s; the job's end and %zu points wait"
			   : "%s; the job goes on, and %zu points wait",
		    err->msg, waiting);
}

static void succeeded(struct track *t)
{
	if (t->failing)
		say(t, "%s: tracking goes on", t->session.shown);
	t->failing = false;
	t->pause = FIRST_PAUSE_MS;
	pthread_mutex_lock(&t->lock);
	t->refused = false;
	pthread_mutex_unlock(&t->lock);
}

/* When the next call is due; < 0: only after a change. The caller holds the lock. */
static int64_t due(const struct track *t)
{
	if (t->failing)
		return t->retry_at;
	if (!t->has_run || t->ending || t->n_points >= BATCH)
		return 0;
	return t->n_points ? t->send_at : -1;
}

static void await_work(struct track *t)
{
	pthread_mutex_lock(&t->lock);
	while (due(t) < 0 || due(t) > clock_ms())
		cond_wait_until(&t->changed, &t->lock, due(t));
	pthread_mutex_unlock(&t->lock);
}

static void *work(void *ctx)
{
	struct track *t = ctx;

	while (!t->done) {
		struct error err = { 0 };

		await_work(t);
		if (!step(t, &err)) {
			succeeded(t);
		} else if (err.kind == ERR_NOT_FOUND) {
			say(t, "%s; nothing more is tracked", err.msg);
			finish(t, false);
		} else {
			failed(t, &err);
		}
	}
	return NULL;
}

int track_start(struct track **ret, const struct track_conf *conf, struct error *err)
{
	struct track *t = xcalloc(1, sizeof(*t));
	pthread_t thread;

	t->conf = *conf;
	t->pause = FIRST_PAUSE_MS;
	pthread_mutex_init(&t->lock, NULL);
	cond_init(&t->changed);
	if (split(&t->arena, conf->registry.uri, &t->conf.registry.uri, &t->experiment,
		  err))
		return -1;
	t->conf.registry.tries = 1;
	t->conf.registry.timeout_ms = CALL_MS;
	t->session = (struct registry){ .conf = &t->conf.registry,
					.arena = &t->arena,
					.answered_ms = &t->answered_ms };
	if (registry_open(&t->session, err) || thread_start(&thread, work, t, err))
		return -1;
	*ret = t;
	return 0;
}

/* ---- other threads ---- */

/* Is a slow server given more time for its run? The caller holds the lock. */
static bool may_have_run(const struct track *t, int64_t since, int64_t ms)
{
	int64_t now = clock_ms();
	int64_t answered = __atomic_load_n(&t->answered_ms, __ATOMIC_RELAXED);

	return !t->has_run && !t->refused && !t->done &&
	       now - (answered > since ? answered : since) < ms &&
	       now - since < RUN_TIMES * ms;
}

bool track_run(struct track *t, int64_t ms, bool (*stop)(void), char ret[TRACK_ID_SIZE])
{
	int64_t since = clock_ms();
	bool has_run;

	pthread_mutex_lock(&t->lock);
	while (may_have_run(t, since, ms) && !(stop && stop()))
		cond_wait_until(&t->changed, &t->lock, clock_ms() + POLL_MS);
	has_run = t->has_run;
	memcpy(ret, t->run.id, TRACK_ID_SIZE);
	pthread_mutex_unlock(&t->lock);
	return has_run;
}

/* The name to send, which remains; NULL: there are too many. */
static const char *intern(struct track *t, const char *name)
{
	char *known = map_get(&t->names, name);

	if (known || t->names.n >= TRACK_NAMES || strlen(name) > REGISTRY_MAX_NAME)
		return known;
	known = t->session.kind->track->name(name);
	map_put(&t->names, name, known);
	return known;
}

static struct batch *room(struct track *t)
{
	struct batch *b = t->last;

	if (b && b->n < BATCH)
		return b;
	b = xcalloc(1, sizeof(*b));
	if (t->last)
		t->last->next = b;
	else
		t->first = b;
	t->last = b;
	return b;
}

/* The caller holds the lock. */
static void add(struct track *t, const struct track_point *p)
{
	const char *name = intern(t, p->name);
	struct batch *b;

	if (!name || t->n_points >= TRACK_POINTS) {
		t->n_lost++;
		return;
	}
	b = room(t);
	b->points[b->n] = *p;
	b->points[b->n].name = name;
	if (p->step < 0)
		b->points[b->n].step = -1 - t->reports;
	b->n++;
	t->n_points++;
}

void track_add(struct track *t, const struct track_point *points, size_t n)
{
	pthread_mutex_lock(&t->lock);
	if (!t->done) {
		for (size_t i = 0; i < n; i++)
			add(t, &points[i]);
		t->reports++;
		pthread_cond_broadcast(&t->changed);
	}
	pthread_mutex_unlock(&t->lock);
}

/* The caller holds the lock. */
static bool is_worth_waiting(const struct track *t, int64_t since,
			     const struct track_patience *p)
{
	bool hopeless = t->refused && t->retry_at;

	return !t->done && !(hopeless && !t->has_run) &&
	       clock_ms() - since < (t->has_run && !hopeless ? p->away_ms : p->ms) &&
	       !(p->stop && p->stop());
}

bool track_end(struct track *t, enum track_outcome outcome,
	       const struct track_patience *patience)
{
	int64_t since = clock_ms();
	size_t lost;
	bool complete;

	pthread_mutex_lock(&t->lock);
	t->outcome = outcome;
	t->ending = true;
	t->retry_at = 0;
	if (t->has_run)
		t->say_at = 0;
	pthread_cond_broadcast(&t->changed);
	while (is_worth_waiting(t, since, patience))
		cond_wait_until(&t->changed, &t->lock, clock_ms() + POLL_MS);
	complete = t->complete && !t->n_lost;
	lost = t->n_points + t->n_lost;
	pthread_mutex_unlock(&t->lock);
	if (!complete)
		say(t, "%s: not sent: %s%zu points%s%s", t->session.shown,
		    t->complete ? "" : "the job's end, ", lost,
		    t->conf.kept ? "; kept in " : "", t->conf.kept ? t->conf.kept : "");
	return complete;
}
