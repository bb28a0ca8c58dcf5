/*
 * token_cache.h - share expiring credentials among threads, and renew them.
 *
 * They are renewed 5 minutes before they expire and, at most once in 30 s, when a server
 * refuses them: also those that never expire, because their file may have been replaced. If
 * a renewal fails, credentials that are still valid are used.
 */
#ifndef CLOUD_TOKEN_CACHE_H
#define CLOUD_TOKEN_CACHE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct token_cache {
	/*
	 * Fetches the credentials. *ret_expires: seconds since 1970, or 0 for never. Must
	 * keep the previous ones on failure. Called with the lock held.
	 */
	int (*renew)(void *ctx, int64_t *ret_expires, struct error *err);
	void *ctx;
	pthread_mutex_t lock; /* guards what follows, and the credentials */
	bool filled;
	int64_t renewed_ms, expires;
};

void token_cache_init(struct token_cache *c,
		      int (*renew)(void *ctx, int64_t *ret_expires, struct error *err),
		      void *ctx);
void token_cache_release(struct token_cache *c);

/*
 * Renew if necessary. 0: the lock is held, so that the caller can read the credentials
 * until token_cache_unlock().
 */
MUST_CHECK int token_cache_lock(struct token_cache *c, bool refused, struct error *err);
void token_cache_unlock(struct token_cache *c);

#endif
