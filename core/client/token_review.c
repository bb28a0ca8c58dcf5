/* Asks the API server whether a token is valid: token_review.h. */
#include "client/token_review.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "base/thread.h"
#include "base/xmalloc.h"
#include "client/permission.h"
#include "net/bearer.h"
#include "net/digest.h"

enum {
	MAX_TOKENS = 1024,
	MAX_WAITING = 64,
	VALID_MS = 60 * 1000,
	REFUSED_MS = 10 * 1000,
	FAILED_MS = 1000,
	STALE_MS = 10 * 60 * 1000,
	SAME_MS = 60 * 1000, /* before the same trouble is logged again */
	MAX_TEXT = 300,
};

#define PATH "/apis/authentication.k8s.io/v1/tokenreviews"

struct verdict {
	enum error_kind kind; /* ERR_NONE: it may call */
	char text[MAX_TEXT];
};

/* A token, by its hash. */
struct entry {
	unsigned char hash[DIGEST_MAX];
	char *token;   /* while it waits; owned */
	int64_t until; /* 0: empty, or its first review is to come */
	int64_t valid; /* when it was accepted; 0: it was not, the last time */
	struct verdict verdict;
};

struct token_review {
	struct token_review_conf conf;
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t wanted;
	bool stopping;
	void (*news)(void *arg);
	void *arg;
	struct log_last said;
	struct entry entries[MAX_TOKENS];
	struct entry *queue[MAX_WAITING]; /* the first one is under review */
	int n_queue;
};

static void drop_token(struct entry *e)
{
	if (e->token)
		explicit_bzero(e->token, strlen(e->token));
	free(e->token);
	e->token = NULL;
}

/* ---- one review ---- */

static bool in_groups(const struct token_review *t, const cJSON *groups)
{
	for (const char *const *g = t->conf.groups; *g; g++)
		if (json_has_str(groups, *g))
			return true;
	return false;
}

static void refuse(struct verdict *v, enum error_kind kind, const char *text)
{
	struct error err = { 0 };

	error_set(&err, kind, "%.250s", text);
	v->kind = kind;
	memcpy(v->text, err.msg, sizeof(v->text) - 1);
	v->text[sizeof(v->text) - 1] = 0;
}

/* The API server's words, unless they have the token in them. */
static void refuse_invalid(struct verdict *v, const char *why, const char *token)
{
	cleanup_arena struct arena arena = { 0 };

	if (!why || strstr(why, token))
		why = "invalid or expired";
	refuse(v, ERR_INVALID,
	       arena_printf(&arena, "the bearer token is refused: %s", why));
}

static void read_status(const struct token_review *t, struct verdict *v, const cJSON *doc,
			const char *token)
{
	const char *user = json_str(doc, "status", "user", "username");
	const char *audience = t->conf.audience;
	cleanup_arena struct arena arena = { 0 };

	*v = (struct verdict){ 0 };
	if (!json_bool(doc, false, "status", "authenticated"))
		refuse_invalid(v, json_str(doc, "status", "error"), token);
	else if (audience &&
		 !json_has_str(json_get(doc, "status", "audiences"), audience))
		refuse(v, ERR_INVALID,
		       arena_printf(&arena,
				    "the bearer token is refused: its audience is not "
				    "%.100s",
				    audience));
	else if (!in_groups(t, json_get(doc, "status", "user", "groups")))
		refuse(v, ERR_DENIED,
		       arena_printf(
			       &arena,
			       "%.100s is in none of the groups that can read: %.100s%s",
			       user ? user : "the token's user", t->conf.groups[0],
			       t->conf.groups[1] ? ", ..." : ""));
}

/* -1: the API server cannot be asked; v says why. */
static int review(struct token_review *t, struct verdict *v, const char *token)
{
	cleanup_json cJSON *doc = cJSON_CreateObject(), *answer = NULL;
	cleanup_arena struct arena arena = { 0 };
	struct error err = { 0 };

	json_put_str(doc, "authentication.k8s.io/v1", "apiVersion");
	json_put_str(doc, "TokenReview", "kind");
	json_put_str(doc, token, "spec", "token");
	if (t->conf.audience)
		cJSON_AddItemToArray(json_list(doc, "spec", "audiences"),
				     cJSON_CreateString(t->conf.audience));
	if (!kube_call(t->conf.kube, "POST", PATH, doc, &answer, &err) && answer) {
		read_status(t, v, answer, token);
		return 0;
	}
	if (err.kind)
		permission_explain(&err);
	refuse(v, ERR_BUSY,
	       arena_printf(&arena, "the API server cannot review tokens: %s",
			    err.kind ? err.msg : "its response is not a TokenReview"));
	return -1;
}

/* ---- the thread ---- */

static int64_t kept_ms(enum error_kind kind)
{
	if (kind == ERR_BUSY)
		return FAILED_MS;
	return kind ? REFUSED_MS : VALID_MS;
}

/* What was accepted stays so for a while when the API server cannot be asked. */
static void settle(struct entry *e, const struct verdict *v)
{
	int64_t now = clock_ms();

	drop_token(e);
	if (v->kind == ERR_BUSY && e->valid && now - e->valid < STALE_MS) {
		e->until = now + REFUSED_MS;
		return;
	}
	e->verdict = *v;
	e->valid = v->kind ? 0 : now;
	e->until = now + kept_ms(v->kind);
}

static void settle_first(struct token_review *t, const struct verdict *v, int n)
{
	for (int i = 0; i < n; i++)
		settle(t->queue[i], v);
	t->n_queue -= n;
	memmove(t->queue, t->queue + n, (size_t)t->n_queue * sizeof(*t->queue));
	if (t->news)
		t->news(t->arg);
}

static void *run(void *ctx)
{
	struct token_review *t = ctx;

	pthread_mutex_lock(&t->lock);
	while (!t->stopping) {
		struct verdict v = { 0 };
		const char *token;
		int rc;

		if (!t->n_queue) {
			cond_wait_until(&t->wanted, &t->lock, -1);
			continue;
		}
		token = t->queue[0]->token;
		pthread_mutex_unlock(&t->lock);
		rc = review(t, &v, token);
		pthread_mutex_lock(&t->lock);
		if (rc && log_is_news(&t->said, v.text, SAME_MS))
			log_warn(v.text);
		/* Whoever waits for an API server that is away waits no longer. */
		settle_first(t, &v, rc ? t->n_queue : 1);
	}
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

/* ---- callers ---- */

static struct entry *find(struct token_review *t, const unsigned char *hash)
{
	for (int i = 0; i < MAX_TOKENS; i++) {
		struct entry *e = &t->entries[i];

		if ((e->until || e->token) && !memcmp(e->hash, hash, DIGEST_MAX))
			return e;
	}
	return NULL;
}

/* In place of the verdict that ends first: more than MAX_WAITING do not wait. */
static struct entry *replace(struct token_review *t, const unsigned char *hash)
{
	struct entry *oldest = NULL;

	for (int i = 0; i < MAX_TOKENS; i++) {
		struct entry *e = &t->entries[i];

		if (!e->token && (!oldest || e->until < oldest->until))
			oldest = e;
	}
	*oldest = (struct entry){ 0 };
	memcpy(oldest->hash, hash, DIGEST_MAX);
	return oldest;
}

/* Under the lock. */
static int judge(struct token_review *t, const char *token, struct error *err)
{
	unsigned char hash[DIGEST_MAX];
	struct entry *e;

	digest_of(DIGEST_SHA256, token, strlen(token), hash);
	e = find(t, hash);
	if (e && e->token)
		return 1;
	if (e && clock_ms() < e->until)
		return e->verdict.kind
			       ? error_set(err, e->verdict.kind, "%s", e->verdict.text)
			       : 0;
	if (t->n_queue == MAX_WAITING)
		return error_set(
			err, ERR_BUSY,
			"%d tokens are waiting for their review; try again later",
			MAX_WAITING);
	if (!e)
		e = replace(t, hash);
	e->token = xstrdup(token);
	t->queue[t->n_queue++] = e;
	pthread_cond_signal(&t->wanted);
	return 1;
}

int token_review_judge(struct token_review *t, const char *authorization,
		       struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *token = bearer_token(&arena, authorization);
	int rc;

	if (!token)
		return error_set(err, ERR_INVALID,
				 "a bearer token is required: send the header "
				 "authorization");
	pthread_mutex_lock(&t->lock);
	rc = judge(t, token, err);
	pthread_mutex_unlock(&t->lock);
	return rc;
}

void token_review_watch(struct token_review *t, void (*news)(void *arg), void *arg)
{
	pthread_mutex_lock(&t->lock);
	t->news = news;
	t->arg = arg;
	pthread_mutex_unlock(&t->lock);
}

int token_review_new(struct token_review **ret, const struct token_review_conf *conf,
		     struct error *err)
{
	struct token_review *t = xcalloc(1, sizeof(*t));

	t->conf = *conf;
	pthread_mutex_init(&t->lock, NULL);
	cond_init(&t->wanted);
	if (thread_start(&t->thread, run, t, err)) {
		free(t);
		return -1;
	}
	*ret = t;
	return 0;
}

void token_review_free(struct token_review *t)
{
	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	t->stopping = true;
	pthread_cond_signal(&t->wanted);
	pthread_mutex_unlock(&t->lock);
	pthread_join(t->thread, NULL);
	for (int i = 0; i < MAX_TOKENS; i++)
		drop_token(&t->entries[i]);
	pthread_cond_destroy(&t->wanted);
	pthread_mutex_destroy(&t->lock);
	free(t);
}
