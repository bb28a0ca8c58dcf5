/* Decides when to renew credentials; see token_cache.h. */
#include "cloud/token_cache.h"

#include "base/clock.h"

enum { EARLY_S = 5 * 60, RETRY_MS = 1000, REFUSED_MS = 30 * 1000 };

void token_cache_init(struct token_cache *c,
		      int (*renew)(void *ctx, int64_t *ret_expires, struct error *err),
		      void *ctx)
{
	*c = (struct token_cache){ .renew = renew, .ctx = ctx };
	pthread_mutex_init(&c->lock, NULL);
}

void token_cache_release(struct token_cache *c)
{
	pthread_mutex_destroy(&c->lock);
}

static bool is_due(const struct token_cache *c, bool refused)
{
	int64_t age_ms = clock_ms() - c->renewed_ms;

	if (!c->filled)
		return true;
	if (c->expires && clock_now() >= c->expires - EARLY_S)
		return age_ms > RETRY_MS;
	return refused && age_ms > REFUSED_MS;
}

static int renew(struct token_cache *c, struct error *err)
{
	int64_t expires = 0;

	c->renewed_ms = clock_ms();
	if (c->renew(c->ctx, &expires, err))
		return c->filled && (!c->expires || clock_now() < c->expires) ? 0 : -1;
	c->expires = expires;
	c->filled = true;
	return 0;
}

int token_cache_lock(struct token_cache *c, bool refused, struct error *err)
{
	pthread_mutex_lock(&c->lock);
	if (!is_due(c, refused) || !renew(c, err))
		return 0;
	pthread_mutex_unlock(&c->lock);
	return -1;
}

void token_cache_unlock(struct token_cache *c)
{
	pthread_mutex_unlock(&c->lock);
}
