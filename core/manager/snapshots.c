/* snapshots.c - cache the texts of the latest snapshots (manager/snapshots.h). */
#include "manager/snapshots.h"

#include <stdlib.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"

enum { MAX_HELD = 32 };

void snapshots_init(struct snapshots *s)
{
	*s = (struct snapshots){ 0 };
	pthread_mutex_init(&s->lock, NULL);
}

void snapshots_release(struct snapshots *s)
{
	map_release(&s->map, free);
	pthread_mutex_destroy(&s->lock);
}

static cJSON *find(struct snapshots *s, const char *key, const cJSON *tj)
{
	const char *text;
	cJSON *ret;

	pthread_mutex_lock(&s->lock);
	text = map_get(&s->map, key);
	ret = text ? snapshot_of_text(tj, text) : NULL;
	pthread_mutex_unlock(&s->lock);
	return ret;
}

/* Evicts one entry for each new one: a user's many runtimes do not empty the cache. */
static void hold(struct snapshots *s, const char *key, const char *text)
{
	pthread_mutex_lock(&s->lock);
	if (s->map.n >= MAX_HELD)
		free(map_del(&s->map, map_next(&s->map, NULL)->key));
	free(map_put(&s->map, key, xstrdup(text)));
	pthread_mutex_unlock(&s->lock);
}

int snapshots_make(struct snapshots *s, cJSON **ret, const cJSON *tj,
		   const cJSON *runtime, struct error *err)
{
	const char *uid = meta_uid(runtime), *version = meta_version(runtime);
	cleanup_arena struct arena arena = { 0 };
	const char *key;

	if (!uid || !version)
		return snapshot_make(ret, tj, runtime, err);
	key = arena_printf(&arena, "%s %s", uid, version);
	*ret = find(s, key, tj);
	if (*ret)
		return 0;
	if (snapshot_make(ret, tj, runtime, err))
		return -1;
	hold(s, key, snapshot_text(*ret));
	return 0;
}

void snapshots_digest(const char *text, char ret[DIGEST_HEX_SIZE])
{
	cleanup_digest struct digest *d = digest_new(DIGEST_SHA256);

	digest_add(d, text ? text : "", text ? strlen(text) : 0);
	digest_end_hex(d, ret);
}

void snapshots_hold(struct snapshots *s, const char *text, char ret[DIGEST_HEX_SIZE])
{
	snapshots_digest(text, ret);
	hold(s, ret, text);
}

cJSON *snapshots_of_digest(struct snapshots *s, const cJSON *tj, const char *digest)
{
	const struct map_entry *e = NULL;
	char other[DIGEST_HEX_SIZE];
	cJSON *ret = NULL;

	pthread_mutex_lock(&s->lock);
	while (!ret && *digest && (e = map_next(&s->map, e))) {
		snapshots_digest(e->value, other);
		if (str_eq(other, digest))
			ret = snapshot_of_text(tj, e->value);
	}
	pthread_mutex_unlock(&s->lock);
	return ret;
}
