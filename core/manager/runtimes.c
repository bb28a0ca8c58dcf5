/* runtimes.c - watch runtimes, read those not listed yet (manager/runtimes.h). */
#include "manager/runtimes.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "manager/outage.h"
#include "trainer/api.h"

enum { N_KINDS = 2 };
static const char *const kinds[N_KINDS] = { RUNTIME_KIND, CLUSTER_RUNTIME_KIND };

struct runtimes {
	struct informer *informers[N_KINDS];
	pthread_mutex_t
		lock; /* protects on_runtime and ctx, also during a call of on_runtime */
	void (*on_runtime)(void *ctx, const cJSON *runtime);
	void *ctx;
};

static bool notify(void *runtimes, const cJSON *runtime)
{
	struct runtimes *r = runtimes;

	pthread_mutex_lock(&r->lock);
	if (r->on_runtime)
		r->on_runtime(r->ctx, runtime);
	pthread_mutex_unlock(&r->lock);
	return true;
}

static void on_event(void *ctx, const cJSON *old, const cJSON *current)
{
	if (current)
		notify(ctx, current);
}

static void on_error(void *ctx, const struct error *err)
{
	if (!outage_logged(err))
		log_warn("cannot watch", LOG_STR("kind", "runtimes"), LOG_ERR(err));
}

int runtimes_start(struct runtimes **ret, struct kube *kube, struct error *err)
{
	struct runtimes *r = xcalloc(1, sizeof(*r));
	struct informer_conf conf = { .kube = kube,
				      .api_version = TRAINER_API_VERSION,
				      .on_event = on_event,
				      .ctx = r,
				      .optional = true,
				      .on_error = on_error };

	pthread_mutex_init(&r->lock, NULL);
	for (int i = 0; i < N_KINDS; i++) {
		conf.kind = kinds[i];
		if (informer_start(&r->informers[i], &conf, err)) {
			runtimes_stop(r);
			return error_wrap(err, "watch %s", kinds[i]);
		}
	}
	*ret = r;
	return 0;
}

void runtimes_stop(struct runtimes *r)
{
	if (!r)
		return;
	for (int i = 0; i < N_KINDS; i++)
		informer_stop(r->informers[i]);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

int runtimes_get(struct runtimes *r, struct kube *kube, const struct kube_ref *ref,
		 cJSON **ret, struct error *err)
{
	*ret = NULL;
	for (int i = 0; r && i < N_KINDS; i++)
		if (str_eq(ref->kind, kinds[i]))
			*ret = informer_get(r->informers[i], ref->ns, ref->name);
	if (*ret)
		return 0;
	if (!kube)
		return error_set(err, ERR_NOT_FOUND, "no such runtime in the cache");
	return kube_get(kube, ref, ret, err);
}

void runtimes_subscribe(struct runtimes *r,
			void (*on_runtime)(void *ctx, const cJSON *runtime), void *ctx)
{
	pthread_mutex_lock(&r->lock);
	r->on_runtime = on_runtime;
	r->ctx = ctx;
	pthread_mutex_unlock(&r->lock);
	for (int i = 0; on_runtime && i < N_KINDS; i++)
		informer_each(r->informers[i], notify, r);
}
