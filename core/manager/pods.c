/* Turns what happens to pods into events on their TrainJob: pods.h. */
#include "manager/pods.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "trainer/trainjob.h"
#include "trainer/trainjob_status.h"

enum { MAX_JOBS = 10000 };

/* ---- jobs ------------------------------------------------------------------------- */

/* Created with the first fact to report. */
struct job {
	size_t pods[N_POD_CAUSES]; /* that have it now */
	char *first[N_POD_CAUSES]; /* of those the first, in words */
	char *failure, *failed_pod, *failed_at;
	size_t brief; /* so much of failure is who and what */
	bool weak;    /* killed from outside, started again, or its pod is gone */
};

struct pod_facts {
	struct event_recorder *events;
	cJSON *(*trainjob)(void *ctx, const char *ns, const char *name);
	void *ctx;
	pthread_mutex_t lock;
	struct map jobs; /* "ns/name" */
};

static void job_free(void *p)
{
	struct job *j = p;

	for (size_t i = 0; i < N_POD_CAUSES; i++)
		free(j->first[i]);
	free(j->failure);
	free(j->failed_pod);
	free(j->failed_at);
	free(j);
}

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
	map_release(&p->jobs, job_free);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

/* A bit for each cause. */
static unsigned causes_of(const struct pod_fact_list *facts)
{
	unsigned ret = 0;

	for (size_t i = 0; i < facts->n; i++)
		ret |= 1u << facts->list[i].cause;
	return ret;
}

/* The failure that explains the others. */
static void note_failure(struct job *j, const cJSON *pod, const struct pod_fact *f)
{
	cleanup_arena struct arena arena = { 0 };
	const struct pod_failure it = pod_failure_of(pod, f);
	const struct pod_failure old = { j->weak, j->failed_at, j->failed_pod };

	if (!pod_causes[f->cause].fails || f->waits ||
	    (j->failure && !pod_failure_explains(&it, &old)))
		return;
	free(j->failure);
	free(j->failed_pod);
	free(j->failed_at);
	j->failure = xstrdup(pod_fact_words(&arena, "", pod, f));
	j->brief = strlen(pod_fact_brief(&arena, pod, f));
	j->failed_pod = xstrdup(it.pod);
	j->failed_at = it.at ? xstrdup(it.at) : NULL;
	j->weak = it.weak;
}

/* Under the lock; NULL: there are too many. */
static struct job *job_of(struct pod_facts *p, const char *key)
{
	struct job *j = map_get(&p->jobs, key);

	if (!j && p->jobs.n < MAX_JOBS) {
		j = xcalloc(1, sizeof(*j));
		map_put(&p->jobs, key, j);
	}
	return j;
}

/* Of one pod its latest fact, of several how many there are. */
static const char *told(struct arena *arena, const struct job *j, enum pod_cause cause,
			const char *latest)
{
	if (j->pods[cause] < 2)
		return latest;
	return arena_printf(arena, "%zu pods, first %s", j->pods[cause], j->first[cause]);
}

/* `first`: the pod had no such fact before. */
static void appear(struct pod_facts *p, const char *key, const cJSON *pod,
		   const struct pod_fact *f, bool first, const cJSON *tj)
{
	cleanup_arena struct arena arena = { 0 };
	struct event e = { .warning = !pod_causes[f->cause].normal,
			   .reason = pod_causes[f->cause].reason,
			   .series = pod_causes[f->cause].reason };
	const char *who = arena_printf(&arena, "%s, ", meta_name(pod));
	struct job *j;

	pthread_mutex_lock(&p->lock);
	j = job_of(p, key);
	if (j) {
		note_failure(j, pod, f);
		j->pods[f->cause] += first;
		if (first && j->pods[f->cause] == 1) {
			free(j->first[f->cause]);
			j->first[f->cause] = xstrdup(pod_fact_words(&arena, who, pod, f));
		}
		e.message =
			told(&arena, j, f->cause, pod_fact_words(&arena, who, pod, f));
	}
	pthread_mutex_unlock(&p->lock);
	if (e.message)
		event_record(p->events, tj, &e);
}

static void vanish(struct pod_facts *p, const char *key, enum pod_cause cause)
{
	struct job *j;

	pthread_mutex_lock(&p->lock);
	j = map_get(&p->jobs, key);
	if (j && j->pods[cause])
		j->pods[cause]--;
	pthread_mutex_unlock(&p->lock);
}

/* The pod is gone: a failure of the next attempt counts for more than its. */
static void pod_gone(struct pod_facts *p, const char *key, const cJSON *pod)
{
	struct job *j;
	size_t left = 0;

	pthread_mutex_lock(&p->lock);
	j = map_get(&p->jobs, key);
	if (j && str_eq(j->failed_pod, meta_name(pod))) {
		free(j->failed_at);
		j->failed_at = xstrdup("~");
		j->weak = true;
	}
	for (size_t i = 0; j && i < N_POD_CAUSES; i++)
		left += j->pods[i];
	if (j && !left && !j->failure)
		job_free(map_del(&p->jobs, key));
	pthread_mutex_unlock(&p->lock);
}

void pod_facts_event(void *pod_facts, enum informer_event event, const cJSON *old,
		     const cJSON *current)
{
	struct pod_facts *p = pod_facts;
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *tj = NULL;
	const cJSON *pod = current ? current : old;
	const char *ns = meta_namespace(pod), *name = meta_label(pod, POD_JOBSET_LABEL);
	struct pod_fact_list before, after;
	const char *key;
	unsigned had;

	if (!name)
		return;
	key = informer_key(&arena, ns, name);
	pod_facts_of(old, &before);
	pod_facts_of(current, &after);
	had = causes_of(&before);
	for (enum pod_cause c = 0; c < N_POD_CAUSES; c++)
		if (had & ~causes_of(&after) & 1u << c)
			vanish(p, key, c);
	for (size_t i = 0; i < after.n; i++) {
		const struct pod_fact *f = &after.list[i];

		if (pod_fact_in(&before, f))
			continue;
		if (!tj)
			tj = p->trainjob(p->ctx, ns, name);
		if (!tj || status_finished(tj_status(tj)))
			break;
		appear(p, key, pod, f, !(had & 1u << f->cause), tj);
		had |= 1u << f->cause;
	}
	if (event == INFORMER_DELETED)
		pod_gone(p, key, pod);
}

void pod_facts_forget(struct pod_facts *p, const char *ns, const char *trainjob)
{
	cleanup_arena struct arena arena = { 0 };
	struct job *j;

	pthread_mutex_lock(&p->lock);
	j = map_del(&p->jobs, informer_key(&arena, ns, trainjob));
	pthread_mutex_unlock(&p->lock);
	if (j)
		job_free(j);
}

/* ---- who failed first -------------------------------------------------------------- */

struct search {
	struct pod_facts *facts;
	const char *key, *job, *since; /* pods from before are of another of that name */
};

static int look_at_failed(void *ctx, cJSON *take_pod, struct error *err)
{
	const struct search *s = ctx;
	cleanup_json cJSON *pod = take_pod;
	struct pod_fact_list list;
	struct job *j;

	(void)err;
	if (!meta_name(pod) || !str_eq(meta_label(pod, POD_JOBSET_LABEL), s->job) ||
	    !meta_created(pod) || (s->since && strcmp(meta_created(pod), s->since) < 0))
		return 0;
	pod_facts_of(pod, &list);
	pthread_mutex_lock(&s->facts->lock);
	j = job_of(s->facts, s->key);
	for (size_t i = 0; j && i < list.n; i++)
		note_failure(j, pod, &list.list[i]);
	pthread_mutex_unlock(&s->facts->lock);
	return 0;
}

/* Their watch may be behind that of JobSets, or be denied, or we have just started. */
static void look(struct kube *k, const char *ns, struct search *s)
{
	cleanup_arena struct arena arena = { 0 };
	const struct kube_ref pods = { "v1", "Pod", ns, NULL };
	const struct kube_select select = {
		.label_selector = arena_printf(&arena, POD_JOBSET_LABEL "=%s", s->job),
		.field_selector = "status.phase=Failed",
	};
	const struct kube_sink sink = { .on_item = look_at_failed, .ctx = s };
	struct error ignored = { 0 };

	if (kube_list(k, &pods, &select, &sink, NULL, &ignored))
		return;
}

char *pod_facts_first_failure(struct pod_facts *p, struct kube *k, const cJSON *tj,
			      size_t *ret_brief)
{
	cleanup_arena struct arena arena = { 0 };
	const char *ns = meta_namespace(tj), *name = meta_name(tj);
	struct search s = { p, informer_key(&arena, ns, name), name, meta_created(tj) };
	const struct job *j;
	char *ret;

	if (k)
		look(k, ns, &s);
	pthread_mutex_lock(&p->lock);
	j = map_get(&p->jobs, s.key);
	ret = j && j->failure ? xstrdup(j->failure) : NULL;
	*ret_brief = ret ? j->brief : 0;
	pthread_mutex_unlock(&p->lock);
	return ret;
}
