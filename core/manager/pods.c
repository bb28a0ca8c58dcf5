/* pods.c - turn changes of pods into events on their TrainJob (manager/pods.h). */
#include "manager/pods.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "kube/informer.h"
#include "trainer/api.h"
#include "trainer/jobfacts.h"
#include "trainer/trainjob.h"
#include "trainer/trainjob_status.h"

enum { MAX_JOBS = 10000 };

struct pod_facts {
	struct event_recorder *events;
	cJSON *(*trainjob)(void *ctx, const char *ns, const char *name);
	void *ctx;
	pthread_mutex_t lock;
	struct map jobs; /* "ns/name" -> struct job_facts, if there are any facts */
};

struct pod_facts *pod_facts_new(struct event_recorder *events,
				cJSON *(*trainjob)(void *ctx, const char *ns,
						   const char *name),
				void *ctx)
{
	struct pod_facts *p = xcalloc(1, sizeof(*p));

	p->events = events;
	p->trainjob = trainjob;
	p->ctx = ctx;
	pthread_mutex_init(&p->lock, NULL);
	return p;
}

void pod_facts_free(struct pod_facts *p)
{
	if (!p)
		return;
	map_release(&p->jobs, job_facts_free);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

/* The job's facts, created if needed. Call under the lock. NULL: more than MAX_JOBS. */
static struct job_facts *job_of(struct pod_facts *p, const char *key)
{
	struct job_facts *j = map_get(&p->jobs, key);

	if (!j && p->jobs.n < MAX_JOBS) {
		j = job_facts_new();
		map_put(&p->jobs, key, j);
	}
	return j;
}

/* The context of on_fact(): the TrainJob that gets the events. */
struct about {
	struct pod_facts *facts;
	const cJSON *tj;
};

static void on_fact(void *ctx, enum pod_cause cause, const char *message)
{
	const struct about *a = ctx;
	const struct event e = { .warning = !pod_causes[cause].normal,
				 .reason = pod_causes[cause].reason,
				 .series = pod_causes[cause].reason,
				 .message = message };

	event_record(a->facts->events, a->tj, &e);
}

static void record_change(struct pod_facts *p, const char *key,
			  const struct pod_change *c, const cJSON *tj, bool gone)
{
	struct about about = { p, tj };
	const struct fact_sink to = { on_fact, &about };
	struct job_facts *j;

	pthread_mutex_lock(&p->lock);
	j = tj ? job_of(p, key) : map_get(&p->jobs, key);
	if (j)
		job_facts_change(j, c, tj ? &to : NULL);
	if (j && gone)
		job_facts_deleted(j, c->pod);
	if (j && gone && job_facts_is_empty(j))
		job_facts_free(map_del(&p->jobs, key));
	pthread_mutex_unlock(&p->lock);
}

void pod_facts_event(struct pod_facts *p, const cJSON *old, const cJSON *current)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *tj = NULL;
	struct pod_change change;
	const char *ns, *name;

	pod_change_of(&change, old, current);
	ns = meta_namespace(change.pod);
	name = meta_label(change.pod, POD_JOBSET_LABEL);
	if (!name)
		return;
	if (pod_change_has_new(&change))
		tj = p->trainjob(p->ctx, ns, name);
	/* A local run records its own events. */
	if (tj && (status_finished(tj_status(tj)) ||
		   meta_annotation(tj, LOCAL_RUN_ANNOTATION))) {
		cJSON_Delete(tj);
		tj = NULL;
	}
	record_change(p, informer_key(&arena, ns, name), &change, tj, !current);
}

void pod_facts_forget(struct pod_facts *p, const char *ns, const char *trainjob)
{
	cleanup_arena struct arena arena = { 0 };
	struct job_facts *j;

	pthread_mutex_lock(&p->lock);
	j = map_del(&p->jobs, informer_key(&arena, ns, trainjob));
	pthread_mutex_unlock(&p->lock);
	job_facts_free(j);
}

/* ---- who failed first -------------------------------------------------------------- */

struct search {
	struct pod_facts *facts;
	const char *key, *job, *since; /* older pods belong to a deleted TrainJob */
};

static int on_failed_pod(void *ctx, cJSON *take_pod, struct error *err)
{
	const struct search *s = ctx;
	cleanup_json cJSON *pod = take_pod;
	struct job_facts *j;

	if (!meta_name(pod) || !pod_is_of_jobset(pod, s->job) ||
	    !str_eq(meta_label(pod, POD_JOBSET_LABEL), s->job) || !meta_created(pod) ||
	    (s->since && strcmp(meta_created(pod), s->since) < 0))
		return 0;
	pthread_mutex_lock(&s->facts->lock);
	j = job_of(s->facts, s->key);
	if (j)
		job_facts_add_failed(j, pod);
	pthread_mutex_unlock(&s->facts->lock);
	return 0;
}

/*
 * Adds the failed pods in the API server. The watch may lag behind that of JobSets, be
 * denied, or have just started. A failed list is ignored.
 */
static void add_failed_pods(struct kube *k, const char *ns, struct search *s)
{
	cleanup_arena struct arena arena = { 0 };
	const struct kube_ref pods = { "v1", "Pod", ns, NULL };
	const struct kube_select select = {
		.label_selector = arena_printf(&arena, POD_JOBSET_LABEL "=%s", s->job),
		.field_selector = "status.phase=Failed",
	};
	const struct kube_sink sink = { .on_item = on_failed_pod, .ctx = s };

	(void)!kube_list(k, &pods, &select, &sink, NULL, IGNORED);
}

char *pod_facts_first_failure(struct pod_facts *p, struct kube *k, const cJSON *tj,
			      size_t *ret_brief)
{
	cleanup_arena struct arena arena = { 0 };
	const char *ns = meta_namespace(tj), *name = meta_name(tj);
	struct search s = { p, informer_key(&arena, ns, name), name, meta_created(tj) };
	const struct job_facts *j;
	const char *first;
	char *ret;

	if (k)
		add_failed_pods(k, ns, &s);
	pthread_mutex_lock(&p->lock);
	j = map_get(&p->jobs, s.key);
	*ret_brief = 0;
	first = j ? job_facts_first(j, ret_brief) : NULL;
	ret = first ? xstrdup(first) : NULL;
	pthread_mutex_unlock(&p->lock);
	return ret;
}
