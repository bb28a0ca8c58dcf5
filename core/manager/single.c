/* single.c - passes over one TrainJob, without threads (manager/single.h). */
#include "manager/single.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/xmalloc.h"
#include "kube/informer.h"
#include "manager/job_memory.h"
#include "manager/names.h"
#include "manager/pods.h"
#include "manager/reconcile.h"
#include "trainer/api.h"

struct single {
	struct arena arena;
	struct kube *kube;
	const char *key; /* "ns/name" */
	struct job_memories notes;
	struct event_recorder *events;
	struct pod_facts *pods;
	struct reconciler *reconciler;
};

static cJSON *find_trainjob(void *ctx, const char *ns, const char *name)
{
	const struct single *s = ctx;
	const struct kube_ref ref = { TRAINER_API_VERSION, TRAINJOB_KIND, ns, name };
	cJSON *ret = NULL;

	return kube_get(s->kube, &ref, &ret, IGNORED) ? NULL : ret;
}

int single_new(struct single **ret, const struct single_conf *conf, struct error *err)
{
	const struct event_recorder_conf events = { .component = MANAGER_COMPONENT,
						    .on_event = conf->on_event,
						    .ctx = conf->ctx };
	struct single *s = xcalloc(1, sizeof(*s));
	struct reconciler_conf how = {
		.kube = conf->kube,
		.notes = &s->notes,
		.local = true,
		.status_server = conf->status_server_url != NULL,
		.status_server_url = conf->status_server_url,
		.status_server_ca = conf->status_server_ca,
	};

	job_memories_init(&s->notes);
	s->kube = conf->kube;
	s->key = informer_key(&s->arena, conf->ns, conf->name);
	if (event_recorder_new(&s->events, &events, err)) {
		single_free(s);
		return -1;
	}
	how.events = s->events;
	how.pods = s->pods = pod_facts_new(s->events, find_trainjob, s);
	s->reconciler = reconciler_new(&how);
	*ret = s;
	return 0;
}

void single_free(struct single *s)
{
	if (!s)
		return;
	reconciler_free(s->reconciler);
	job_memories_release(&s->notes);
	pod_facts_free(s->pods);
	event_recorder_free(s->events, 0);
	arena_clear(&s->arena);
	free(s);
}

int single_pass(struct single *s, int64_t *ret_after_ms, struct error *err)
{
	return reconcile_trainjob(s->reconciler, s->key, ret_after_ms, err);
}

void single_pod(struct single *s, const cJSON *old, const cJSON *now)
{
	pod_facts_event(s->pods, old, now);
}
