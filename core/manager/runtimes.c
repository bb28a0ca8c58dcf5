#include "manager/runtimes.h"

#include "base/cleanup.h"
#include "base/xmalloc.h"

enum { MAX_HELD = 32 };

struct held {
	uint64_t seen; /* read after a TrainJob of this version had been seen */
	cJSON *doc;
};

static void free_held(void *p)
{
	struct held *h = p;

	cJSON_Delete(h->doc);
	free(h);
}

void runtimes_init(struct runtimes *r)
{
	*r = (struct runtimes){ 0 };
	pthread_mutex_init(&r->lock, NULL);
}

void runtimes_release(struct runtimes *r)
{
	map_release(&r->map, free_held);
	pthread_mutex_destroy(&r->lock);
}

static cJSON *find(struct runtimes *r, const char *key, uint64_t of)
{
	const struct held *h;
	cJSON *ret = NULL;

	pthread_mutex_lock(&r->lock);
	h = map_get(&r->map, key);
	if (h && of && of <= h->seen)
		ret = json_dup(h->doc);
	pthread_mutex_unlock(&r->lock);
	return ret;
}

static void hold(struct runtimes *r, const char *key, uint64_t seen, const cJSON *doc)
{
	struct held *h = xcalloc(1, sizeof(*h)), *was;

	*h = (struct held){ seen, json_dup(doc) };
	pthread_mutex_lock(&r->lock);
	was = map_get(&r->map, key);
	if (was && was->seen >= seen) {
		was = h;
	} else {
		if (!was && r->map.n >= MAX_HELD)
			map_release(&r->map, free_held);
		was = map_put(&r->map, key, h);
	}
	pthread_mutex_unlock(&r->lock);
	if (was)
		free_held(was);
}

int runtimes_get(struct runtimes *r, const struct runtime_query *q, cJSON **ret,
		 struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *key =
		arena_printf(&arena, "%s/%s", q->ref.ns ? q->ref.ns : "", q->ref.name);

	*ret = find(r, key, q->of);
	if (*ret)
		return 0;
	if (kube_get(q->kube, &q->ref, ret, err))
		return -1;
	hold(r, key, q->seen, *ret);
	return 0;
}
