/* authenticator.c - token reviews: queue and cached verdicts (kube/authenticator.h). */
#include "kube/authenticator.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/str.h"
#include "base/thread.h"
#include "base/xmalloc.h"
#include "crypto/digest.h"

enum {
	MAX_WAITING = 64,
	MAX_PEERS = 256, /* more than MAX_WAITING */
	MAX_THREADS = 8,
	REFUSED_MS = 10 * 1000,
	FAILED_MS = 1000,
	WAIT_MS = 10 * 1000, /* longest wait in the queue */
};

/* The rank of a request in the queue; of a peer, from its last verdict. */
enum rank { RANK_KNOWN_TOKEN, RANK_ACCEPTED, RANK_NEW, RANK_REFUSED };

struct peer {
	enum rank rank;
	uint64_t turn; /* authenticator.turn at its last review */
	int waiting;   /* its requests in the queue */
};

enum state { ASKED, WAITING, REVIEWED };

/* A subject and token, under the digest of both. */
struct entry {
	char key[DIGEST_HEX_SIZE];
	enum state state;
	char *peer, *subject, *token; /* until the verdict; owned */
	int64_t since;                /* when it was queued */
	int64_t until;                /* when the verdict expires */
	int64_t accepted; /* clock_ms() of the last review, if it accepted; else 0 */
	enum authenticator_verdict verdict;
	enum error_kind kind; /* kind, code and text of the error, unless accepted */
	int code;
	char *text; /* the error's, or the accepted value; owned */
};

struct authenticator {
	struct authenticator_conf conf;
	pthread_t threads[MAX_THREADS];
	int n_threads;
	pthread_mutex_t lock; /* guards the following members */
	pthread_cond_t wanted, decided;
	bool stopping;
	void (*news)(void *arg);
	void *arg;
	struct map accepted, others; /* entries, the oldest first */
	struct map peers;            /* the least recently queued first */
	uint64_t turn;
	struct entry *queue[MAX_WAITING]; /* in order of arrival */
	int n_queue;
};

/* ---- entries and peers, under the lock ----------------------------------------- */

static void forget_request(struct entry *e)
{
	if (e->token)
		explicit_bzero(e->token, strlen(e->token));
	free(e->token);
	free(e->subject);
	free(e->peer);
	e->token = e->subject = e->peer = NULL;
}

static void entry_free(void *entry)
{
	struct entry *e = entry;

	forget_request(e);
	free(e->text);
	free(e);
}

/* Append to a cache; evict its oldest entries that are not in use. */
static void put_entry(struct authenticator *a, struct map *list, struct entry *e)
{
	map_put(list, e->key, e);
	map_each(old, list) {
		const struct entry *o = old->value;

		if (list->n <= a->conf.max)
			return;
		if (o != e && o->state == ASKED)
			entry_free(map_del(list, old->key));
	}
}

static struct entry *find_entry(struct authenticator *a, const char *key)
{
	struct entry *e = map_get(&a->accepted, key);

	return e ? e : map_get(&a->others, key);
}

/* Find or create a peer, now the most recent. Evicts the least recent idle peers. */
static struct peer *peer_of(struct authenticator *a, const char *name)
{
	struct peer *p = map_del(&a->peers, name);

	if (!p) {
		p = xcalloc(1, sizeof(*p));
		p->rank = RANK_NEW;
	}
	map_put(&a->peers, name, p);
	map_each(old, &a->peers) {
		if (a->peers.n <= MAX_PEERS)
			break;
		if (old->value != p && !((struct peer *)old->value)->waiting)
			free(map_del(&a->peers, old->key));
	}
	return p;
}

/* ---- the queue, under the lock ------------------------------------------------- */

static enum rank rank_of(const struct entry *e, const struct peer *p)
{
	return e->accepted ? RANK_KNOWN_TOKEN : p->rank;
}

static void set_verdict(struct entry *e, enum authenticator_verdict verdict,
			const struct error *err, const char *value, int64_t until)
{
	free(e->text);
	e->verdict = verdict;
	e->kind = err->kind;
	e->code = err->code;
	e->text = xstrdup(value ? value : err->msg);
	e->until = until;
	e->state = ASKED;
	forget_request(e);
}

static struct entry *take_from_queue(struct authenticator *a, int at)
{
	struct entry *e = a->queue[at];
	struct peer *p = map_get(&a->peers, e->peer);

	p->waiting--;
	a->n_queue--;
	memmove(&a->queue[at], &a->queue[at + 1],
		(size_t)(a->n_queue - at) * sizeof(*a->queue));
	return e;
}

static int too_many(struct error *err)
{
	error_set(err, ERR_BUSY,
		  "too many tokens are waiting for their review; try again later");
	err->code = 429;
	return -1;
}

static void give_up(struct authenticator *a, int at)
{
	struct error err = { 0 };

	too_many(&err);
	set_verdict(take_from_queue(a, at), AUTHENTICATOR_FAILED, &err, NULL,
		    clock_ms() + FAILED_MS);
	pthread_cond_broadcast(&a->decided);
}

/* The index of the lowest rank; of equals, the latest of the peer with the most. */
static int last_in_queue(const struct authenticator *a)
{
	const struct peer *worst = NULL;
	enum rank rank = RANK_KNOWN_TOKEN;
	int ret = 0;

	for (int i = 0; i < a->n_queue; i++) {
		const struct peer *p = map_get(&a->peers, a->queue[i]->peer);
		enum rank r = rank_of(a->queue[i], p);

		if (!worst || r > rank || (r == rank && p->waiting >= worst->waiting)) {
			worst = p;
			rank = r;
			ret = i;
		}
	}
	return ret;
}

/* True: the queue has a free slot; perhaps a request of lower rank was failed for it. */
static bool make_place(struct authenticator *a, enum rank rank, const struct peer *p)
{
	const struct peer *other;
	enum rank last;
	int at;

	if (a->n_queue < MAX_WAITING)
		return true;
	at = last_in_queue(a);
	other = map_get(&a->peers, a->queue[at]->peer);
	last = rank_of(a->queue[at], other);
	if (rank > last || (rank == last && p->waiting + 1 >= other->waiting))
		return false;
	give_up(a, at);
	return true;
}

static int enqueue(struct authenticator *a, const struct authenticator_request *r,
		   const char *key, struct error *err)
{
	const char *name = r->peer ? r->peer : "";
	struct entry *e = find_entry(a, key);
	struct peer *p = peer_of(a, name);

	if (!make_place(a, e && e->accepted ? RANK_KNOWN_TOKEN : p->rank, p))
		return too_many(err);
	if (!e) {
		e = xcalloc(1, sizeof(*e));
		memcpy(e->key, key, sizeof(e->key));
		e->state = WAITING;
		put_entry(a, &a->others, e);
	}
	e->state = WAITING;
	e->since = clock_ms();
	e->peer = xstrdup(name);
	e->subject = xstrdup(r->subject ? r->subject : "");
	e->token = xstrdup(r->token);
	p->waiting++;
	a->queue[a->n_queue++] = e;
	pthread_cond_signal(&a->wanted);
	return 0;
}

/* Fail expired requests; return the index of the next one to review, or -1. */
static int next_in_queue(struct authenticator *a)
{
	const struct peer *best = NULL;
	enum rank rank = RANK_REFUSED;
	int ret = -1;

	while (a->n_queue && a->queue[0]->since + WAIT_MS < clock_ms())
		give_up(a, 0);
	for (int i = 0; i < a->n_queue; i++) {
		const struct peer *p = map_get(&a->peers, a->queue[i]->peer);
		enum rank r = rank_of(a->queue[i], p);

		if (!best || r < rank || (r == rank && p->turn < best->turn)) {
			best = p;
			rank = r;
			ret = i;
		}
	}
	return ret;
}

/* ---- reviews ------------------------------------------------------------------- */

/* A review failed: an accepted verdict remains valid for stale_ms after its review. */
static void fail(struct authenticator *a, struct entry *e, const struct error *err)
{
	int64_t now = clock_ms();

	if (e->accepted && now - e->accepted < a->conf.stale_ms) {
		e->until = now + REFUSED_MS;
		e->state = ASKED;
		forget_request(e);
		return;
	}
	set_verdict(e, AUTHENTICATOR_FAILED, err, NULL, now + FAILED_MS);
}

/* The API server is not available: fail all queued requests at once. */
static void fail_all(struct authenticator *a, const struct error *err)
{
	if (err->kind != ERR_IO && err->kind != ERR_TIMEOUT && err->kind != ERR_BUSY)
		return;
	while (a->n_queue)
		fail(a, take_from_queue(a, 0), err);
}

static void decide(struct authenticator *a, struct entry *e, const char *value,
		   const struct error *why, int64_t since)
{
	struct peer *p = peer_of(a, e->peer);
	bool yes = value != NULL;
	int64_t now = clock_ms(), until = since + a->conf.accepted_ms;

	if (until < now + FAILED_MS) /* at least until waiting callers have read it */
		until = now + FAILED_MS;
	p->rank = yes ? RANK_ACCEPTED : RANK_REFUSED;
	e->accepted = yes ? since : 0;
	set_verdict(e, yes ? AUTHENTICATOR_ACCEPTED : AUTHENTICATOR_REFUSED, why, value,
		    yes ? until : now + REFUSED_MS);
	map_del(&a->accepted, e->key);
	map_del(&a->others, e->key);
	put_entry(a, yes ? &a->accepted : &a->others, e);
}

/* Called with the lock, which is released during conf.review(). */
static void review(struct authenticator *a, struct entry *e)
{
	const struct authenticator_request r = { e->peer, e->subject, e->token };
	cleanup_arena struct arena arena = { 0 };
	struct error why = { 0 }, err = { 0 };
	const char *value = NULL;
	int64_t since = clock_ms();
	void (*news)(void *arg);
	int rc;

	((struct peer *)map_get(&a->peers, e->peer))->turn = ++a->turn;
	e->state = REVIEWED;
	pthread_mutex_unlock(&a->lock);
	rc = a->conf.review(a->conf.ctx, &arena, &r, &value, &why, &err);
	pthread_mutex_lock(&a->lock);
	if (rc) {
		fail(a, e, &err);
		fail_all(a, &err);
	} else {
		decide(a, e, value, &why, since);
	}
	pthread_cond_broadcast(&a->decided);
	news = a->news;
	if (news)
		news(a->arg);
}

static void *run(void *ctx)
{
	struct authenticator *a = ctx;

	pthread_mutex_lock(&a->lock);
	while (!a->stopping) {
		int at = next_in_queue(a);

		if (at < 0)
			cond_wait_until(&a->wanted, &a->lock, -1);
		else
			review(a, take_from_queue(a, at));
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

/* ---- callers ------------------------------------------------------------------- */

static void key_of(const struct authenticator_request *r, char key[DIGEST_HEX_SIZE])
{
	cleanup_digest struct digest *d = digest_new(DIGEST_SHA256);
	const char *subject = r->subject ? r->subject : "";

	digest_add(d, subject, strlen(subject) + 1);
	digest_add(d, r->token, strlen(r->token));
	digest_end_hex(d, key);
}

/* Under the lock. */
static enum authenticator_verdict judge(struct authenticator *a, struct arena *arena,
					const struct authenticator_request *r,
					const char *key, const char **ret_value,
					struct error *err)
{
	const struct entry *e = find_entry(a, key);

	if (e && e->state == ASKED && clock_ms() < e->until) {
		if (e->verdict == AUTHENTICATOR_ACCEPTED)
			*ret_value = arena_strdup(arena, e->text);
		else
			error_set(err, e->kind, "%s", e->text);
		err->code = e->code;
		return e->verdict;
	}
	if (e && e->state != ASKED)
		return AUTHENTICATOR_PENDING;
	return enqueue(a, r, key, err) ? AUTHENTICATOR_FAILED : AUTHENTICATOR_PENDING;
}

static enum authenticator_verdict get_verdict(struct authenticator *a,
					      struct arena *arena,
					      const struct authenticator_request *r,
					      bool wait, const char **ret_value,
					      struct error *err)
{
	enum authenticator_verdict ret;
	char key[DIGEST_HEX_SIZE];

	key_of(r, key);
	pthread_mutex_lock(&a->lock);
	for (;;) {
		ret = judge(a, arena, r, key, ret_value, err);
		if (!wait || ret != AUTHENTICATOR_PENDING)
			break;
		cond_wait_until(&a->decided, &a->lock, -1);
	}
	pthread_mutex_unlock(&a->lock);
	return ret;
}

enum authenticator_verdict authenticator_poll(struct authenticator *a,
					      struct arena *arena,
					      const struct authenticator_request *r,
					      const char **ret_value, struct error *err)
{
	return get_verdict(a, arena, r, false, ret_value, err);
}

enum authenticator_verdict authenticator_wait(struct authenticator *a,
					      struct arena *arena,
					      const struct authenticator_request *r,
					      const char **ret_value, struct error *err)
{
	return get_verdict(a, arena, r, true, ret_value, err);
}

void authenticator_watch(struct authenticator *a, void (*news)(void *arg), void *arg)
{
	pthread_mutex_lock(&a->lock);
	a->news = news;
	a->arg = arg;
	pthread_mutex_unlock(&a->lock);
}

int authenticator_new(struct authenticator **ret, const struct authenticator_conf *conf,
		      struct error *err)
{
	struct authenticator *a = xcalloc(1, sizeof(*a));
	int threads = conf->threads ? conf->threads : 1;

	a->conf = *conf;
	pthread_mutex_init(&a->lock, NULL);
	cond_init(&a->wanted);
	cond_init(&a->decided);
	for (; a->n_threads < threads && a->n_threads < MAX_THREADS; a->n_threads++)
		if (thread_start(&a->threads[a->n_threads], run, a, err)) {
			authenticator_free(a);
			return -1;
		}
	*ret = a;
	return 0;
}

void authenticator_free(struct authenticator *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->stopping = true;
	pthread_cond_broadcast(&a->wanted);
	pthread_mutex_unlock(&a->lock);
	for (int i = 0; i < a->n_threads; i++)
		pthread_join(a->threads[i], NULL);
	map_release(&a->accepted, entry_free);
	map_release(&a->others, entry_free);
	map_release(&a->peers, free);
	pthread_cond_destroy(&a->decided);
	pthread_cond_destroy(&a->wanted);
	pthread_mutex_destroy(&a->lock);
	free(a);
}
