/* one_job.c - passes over one TrainJob, without threads (manager/one_job.h). */
#include "manager/one_job.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/xmalloc.h"
#include "kube/informer.h"
#include "manager/job_memory.h"
#include "manager/names.h"
#include "manager/pods.h"
#include "manager/reconcile.h"
#include "trainer/api.h"

struct one_job {
	struct arena arena;
	struct kube *kube;
	const char *key; /* "ns/name" */
	struct job_memories memories;
	struct event_recorder *events;
	struct pod_facts *pods;
	struct reconciler *reconciler;
};

static cJSON *find_trainjob(void *ctx, const char *ns, const char *name)
{
	const struct one_job *s = ctx;
	const struct kube_ref ref = { TRAINER_API_VERSION, TRAINJOB_KIND, ns, name };
	cJSON *ret = NULL;

	return kube_get(s->kube, &ref, &ret, IGNORED) ? NULL : ret;
}

int one_job_new(struct one_job **ret, const struct one_job_conf *conf, struct error *err)
{
	const struct event_recorder_conf events = { .component = MANAGER_COMPONENT,
						    .on_event = conf->on_event,
						    .ctx = conf->ctx };
	struct one_job *s = xcalloc(1, sizeof(*s));
	struct reconciler_conf how = {
		.kube = conf->kube,
		.memories = &s->memories,
		.local = true,
		.keep_finished = true,
		.status_server = conf->status_server_url != NULL,
		.status_server_url = conf->status_server_url,
		.status_server_ca = conf->status_server_ca,
	};

	job_memories_init(&s->memories);
	s->kube = conf->kube;
	s->key = informer_key(&s->arena, conf->ns, conf->name);
	if (event_recorder_new(&s->events, &events, err)) {
		one_job_free(s);
		return -1;
	}
	how.events = s->events;
	how.pods = s->pods = pod_facts_new(s->events, find_trainjob, s);
	s->reconciler = reconciler_new(&how);
	*ret = s;
	return 0;
}

void one_job_free(struct one_job *s)
{
	if (!s)
		return;
	reconciler_free(s->reconciler);
	job_memories_release(&s->memories);
	pod_facts_free(s->pods);
	event_recorder_free(s->events, 0);
	arena_clear(&s->arena);
	free(s);
}

int one_job_pass(struct one_job *s, int64_t *ret_after_ms, struct error *err)
{
	return reconcile_trainjob(s->reconciler, s->key, ret_after_ms, err);
}

void one_job_pod_changed(struct one_job *s, const cJSON *old, const cJSON *now)
{
	pod_facts_event(s->pods, old, now);
}
