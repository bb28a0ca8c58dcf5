#include "manager/runtimes.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/xmalloc.h"

enum { MAX_HELD = 32 };

struct held {
	uint64_t seen; /* read after a TrainJob of this version had been seen */
	int64_t at_ms; /* when reading it began */
	struct runtime_doc *doc;
};

struct runtime_doc *runtime_doc_new(cJSON *take_obj)
{
	struct runtime_doc *doc = xmalloc(sizeof(*doc));

	doc->obj = take_obj;
	atomic_init(&doc->refs, 1);
	return doc;
}

static struct runtime_doc *take(struct runtime_doc *doc)
{
	atomic_fetch_add(&doc->refs, 1);
	return doc;
}

void runtime_doc_drop(struct runtime_doc *doc)
{
	if (!doc || atomic_fetch_sub(&doc->refs, 1) > 1)
		return;
	cJSON_Delete((cJSON *)doc->obj);
	free(doc);
}

static void free_held(void *p)
{
	struct held *h = p;

	runtime_doc_drop(h->doc);
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

static struct runtime_doc *find(struct runtimes *r, const char *key,
				const struct runtime_query *q)
{
	const struct held *h;
	struct runtime_doc *ret = NULL;

	pthread_mutex_lock(&r->lock);
	h = map_get(&r->map, key);
	if (h && is_good(h, q))
		ret = take(h->doc);
	pthread_mutex_unlock(&r->lock);
	return ret;
}

/* Of two, the one that was read later. */
static void hold(struct runtimes *r, const char *key, const struct held *read)
{
	struct held *h = xcalloc(1, sizeof(*h)), *was;

	*h = (struct held){ read->seen, read->at_ms, take(read->doc) };
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

int runtimes_get(struct runtimes *r, const struct runtime_query *q,
		 struct runtime_doc **ret, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *key =
		arena_printf(&arena, "%s/%s", q->ref.ns ? q->ref.ns : "", q->ref.name);
	struct held read = { .seen = q->seen, .at_ms = clock_ms() };
	cJSON *obj = NULL;

	*ret = find(r, key, q);
	if (*ret)
		return 0;
	if (kube_get(q->kube, &q->ref, &obj, err))
		return -1;
	*ret = read.doc = runtime_doc_new(obj);
	hold(r, key, &read);
	return 0;
}
