/*
 * grants.h - what the API server allowed a bearer of a token, remembered for a while.
 *
 * Tokens are not kept: a grant's key is stored as its SHA-256. Denials are not
 * remembered. Any number of threads.
 */
#ifndef MANAGER_GRANTS_H
#define MANAGER_GRANTS_H

#include <pthread.h>

#include "base/arena.h"
#include "base/map.h"

struct grants {
	pthread_mutex_t lock;
	struct map map; /* the oldest first */
	size_t max;     /* more push out the oldest */
	int64_t ms;     /* so long one holds */
};

void grants_init(struct grants *g, size_t max, int64_t ms);
void grants_release(struct grants *g);

/* What was added with that key, in the arena; NULL: nothing, or it has expired. */
const char *grants_find(struct grants *g, struct arena *arena, const char *key);
/* `since`: clock_ms() of before the API server was asked. */
void grants_add(struct grants *g, const char *key, const char *value, int64_t since);

#endif
