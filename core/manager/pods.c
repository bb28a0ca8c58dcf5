#include "manager/pods.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "trainer/status.h"
#include "trainer/trainjob.h"

enum { MAX_JOBS = 10000 };

/* ---- jobs ------------------------------------------------------------------------- */

/* There is one as soon as there is something to tell. */
struct job {
	size_t pods[N_POD_CAUSES]; /* that have it now */
	char *first[N_POD_CAUSES]; /* of those the first, in words */
	char *failure, *failed_pod, *failed_at;
	bool weak; /* killed from outside, started again, or its pod is gone */
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

/* The failure that explains the others: the earliest, rather one of its own making. */
static void note_failure(struct job *j, const cJSON *pod, const struct pod_fact *f,
			 const char *text)
{
	bool weak = pod_fact_is_weak(f);
	const char *at = f->finished ? f->finished : "";

	if (!pod_causes[f->cause].fails || f->waits)
		return;
	if (j->failure &&
	    (weak > j->weak || (weak == j->weak && strcmp(at, j->failed_at) >= 0)))
		return;
	free(j->failure);
	free(j->failed_pod);
	free(j->failed_at);
	j->failure = xstrdup(text);
	j->failed_pod = xstrdup(meta_name(pod));
	j->failed_at = xstrdup(at);
	j->weak = weak;
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
	j = map_get(&p->jobs, key);
	if (!j && p->jobs.n < MAX_JOBS) {
		j = xcalloc(1, sizeof(*j));
		map_put(&p->jobs, key, j);
	}
	if (j) {
		note_failure(j, pod, f, pod_fact_words(&arena, "", pod, f));
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

void pod_facts_event(void *pod_facts, enum informer_event event, const cJSON *was,
		     const cJSON *is)
{
	struct pod_facts *p = pod_facts;
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *tj = NULL;
	const cJSON *pod = is ? is : was;
	const char *ns = meta_namespace(pod), *name = meta_label(pod, POD_JOBSET_LABEL);
	struct pod_fact_list before, after;
	const char *key;
	unsigned had;

	if (!name)
		return;
	key = informer_key(&arena, ns, name);
	pod_facts_of(was, &before);
	pod_facts_of(is, &after);
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

char *pod_facts_first_failure(struct pod_facts *p, const char *ns, const char *trainjob)
{
	cleanup_arena struct arena arena = { 0 };
	const struct job *j;
	char *ret;

	pthread_mutex_lock(&p->lock);
	j = map_get(&p->jobs, informer_key(&arena, ns, trainjob));
	ret = j && j->failure ? xstrdup(j->failure) : NULL;
	pthread_mutex_unlock(&p->lock);
	return ret;
}
