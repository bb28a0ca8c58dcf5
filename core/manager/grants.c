/* Remembers grants by the digests of their keys: grants.h. */
#include "manager/grants.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/xmalloc.h"
#include "net/digest.h"

struct grant {
	int64_t until; /* clock_ms() */
	char value[];
};

void grants_init(struct grants *g, size_t max, int64_t ms)
{
	*g = (struct grants){ .max = max, .ms = ms };
	pthread_mutex_init(&g->lock, NULL);
}

void grants_release(struct grants *g)
{
	map_release(&g->map, free);
	pthread_mutex_destroy(&g->lock);
}

/* Under the lock. All hold equally long: the first expire first, or nearly so. */
static void drop(struct grants *g, size_t keep)
{
	int64_t now = clock_ms();

	map_each(e, &g->map) {
		if (g->map.n <= keep && ((const struct grant *)e->value)->until > now)
			return;
		free(map_del(&g->map, e->key));
	}
}

static const char *digest_of_key(const char *key, char hex[DIGEST_HEX_SIZE])
{
	return digest_hex_of(DIGEST_SHA256, key, strlen(key), hex);
}

const char *grants_find(struct grants *g, struct arena *arena, const char *key)
{
	char hex[DIGEST_HEX_SIZE];
	const struct grant *grant;
	const char *ret = NULL;

	digest_of_key(key, hex);
	pthread_mutex_lock(&g->lock);
	drop(g, g->max);
	grant = map_get(&g->map, hex);
	if (grant && grant->until > clock_ms())
		ret = arena_strdup(arena, grant->value);
	pthread_mutex_unlock(&g->lock);
	return ret;
}

void grants_add(struct grants *g, const char *key, const char *value, int64_t since)
{
	size_t size = strlen(value) + 1;
	struct grant *grant = xcalloc(1, sizeof(*grant) + size);
	char hex[DIGEST_HEX_SIZE];

	grant->until = since + g->ms;
	memcpy(grant->value, value, size);
	digest_of_key(key, hex);
	pthread_mutex_lock(&g->lock);
	free(map_del(&g->map, hex)); /* its place is behind those that are older */
	drop(g, g->max - 1);
	map_put(&g->map, hex, grant);
	pthread_mutex_unlock(&g->lock);
}
