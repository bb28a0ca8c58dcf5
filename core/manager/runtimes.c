#include "manager/runtimes.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/xmalloc.h"

enum { MAX_HELD = 32 };

struct held {
	uint64_t seen; /* read after a TrainJob of this version had been seen */
	int64_t at_ms; /* when reading it began */
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

static bool is_good(const struct held *h, const struct runtime_query *q)
{
	if (q->age_ms)
		return clock_ms() - h->at_ms <= q->age_ms;
	return q->of && q->of <= h->seen;
}

static cJSON *find(struct runtimes *r, const char *key, const struct runtime_query *q)
{
	const struct held *h;
	cJSON *ret = NULL;

	pthread_mutex_lock(&r->lock);
	h = map_get(&r->map, key);
	if (h && is_good(h, q))
		ret = json_dup(h->doc);
	pthread_mutex_unlock(&r->lock);
	return ret;
}

/* Of two, the one that was read later. */
static void hold(struct runtimes *r, const char *key, const struct held *read)
{
	struct held *h = xcalloc(1, sizeof(*h)), *was;

	*h = (struct held){ read->seen, read->at_ms, json_dup(read->doc) };
	pthread_mutex_lock(&r->lock);
	was = map_get(&r->map, key);
	if (was && (was->seen > h->seen || was->at_ms > h->at_ms)) {
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
	struct held read = { .seen = q->seen, .at_ms = clock_ms() };

	*ret = find(r, key, q);
	if (*ret)
		return 0;
	if (kube_get(q->kube, &q->ref, ret, err))
		return -1;
	read.doc = *ret;
	hold(r, key, &read);
	return 0;
}
