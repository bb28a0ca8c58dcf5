/*
 * token_cache.h - credentials that expire, fetched once for many threads.
 *
 * They are renewed 5 minutes before they expire, and when a server refuses them, but not
 * more than once in 30 s for that. A key that is still valid is used if its renewal fails.
 */
#ifndef CLOUD_TOKEN_CACHE_H
#define CLOUD_TOKEN_CACHE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct token_cache {
	/*
	 * Fetch them. *ret_expires: seconds since 1970, or 0 for never. On failure, keep
	 * what was fetched before. Called under the lock.
	 */
	int (*renew)(void *ctx, int64_t *ret_expires, struct error *err);
	void *ctx;
	pthread_mutex_t lock; /* of what follows, and of what renew() fills in */
	bool filled;
	int64_t renewed_ms, expires;
};

void token_cache_init(struct token_cache *c,
		      int (*renew)(void *ctx, int64_t *ret_expires, struct error *err),
		      void *ctx);
void token_cache_release(struct token_cache *c);

/* 0: the lock is held until token_cache_unlock(), for reading them. */
MUST_CHECK int token_cache_lock(struct token_cache *c, bool refused, struct error *err);
void token_cache_unlock(struct token_cache *c);

#endif
