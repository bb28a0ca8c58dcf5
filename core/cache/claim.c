/* claim.c - decides which head assigns rows (cache/claim.h). */
#include "cache/claim.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/xmalloc.h"
#include "crypto/bearer.h"

enum { SILENT_MS = 10 * 1000 };

struct claim {
	const struct cache_conf *conf;
	pthread_mutex_t lock; /* guards the members below */
	char *secret;         /* of the head that called last; NULL: none has */
	int64_t called_ms;    /* the time of that call */
};

struct claim *claim_new(const struct cache_conf *conf)
{
	struct claim *c = xcalloc(1, sizeof(*c));

	c->conf = conf;
	pthread_mutex_init(&c->lock, NULL);
	return c;
}

void claim_free(struct claim *c)
{
	pthread_mutex_destroy(&c->lock);
	free(c->secret);
	free(c);
}

static int not_head(struct error *err)
{
	return error_set(err, ERR_DENIED, "only the head may assign rows");
}

/* Under the lock: does the caller have the secret, or is it free to be set? */
static int check_secret(struct claim *c, const char *value, const char *secret,
			struct error *err)
{
	int64_t silent = clock_ms() - c->called_ms;
	bool same = c->secret && value && bearer_is(value, c->secret);

	if (!same && c->secret && silent < SILENT_MS)
		return secret ? error_set(
					err, ERR_DENIED,
					"another head assigns rows here; it called %" PRId64
					" ms ago",
					silent)
			      : not_head(err);
	if (!same && secret) {
		free(c->secret);
		c->secret = xstrdup(secret);
	}
	if (secret)
		c->called_ms = clock_ms();
	return 0;
}

int claim_check(struct claim *c, const char *value, bool puts, struct error *err)
{
	const struct cache_auth *file = &c->conf->head_auth;
	cleanup_arena struct arena arena = { 0 };
	const char *secret = bearer_token(&arena, value);
	int rc;

	if (file->judge ? file->judge(file->ctx, "", value, err) != 0
			: !secret && (!puts || c->conf->auth.judge))
		return not_head(err);
	if (file->judge)
		return 0;
	pthread_mutex_lock(&c->lock);
	rc = check_secret(c, value, secret, err);
	pthread_mutex_unlock(&c->lock);
	return rc;
}
