/* jobfacts.c - count pods' facts, find the first failure (trainer/jobfacts.h). */
#include "trainer/jobfacts.h"

#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"

struct job_facts {
	size_t pods[N_POD_CAUSES]; /* number of pods with the cause now */
	char *first[N_POD_CAUSES]; /* pod_fact_words() of the first of these pods */
	char *failure, *failed_pod, *failed_at;
	size_t brief; /* length of `failure` without the node and message */
	bool weak;    /* killed from outside, restarted, or its pod was deleted */
};

struct job_facts *job_facts_new(void)
{
	return xcalloc(1, sizeof(struct job_facts));
}

void job_facts_free(void *job_facts)
{
	struct job_facts *j = job_facts;

	for (size_t i = 0; j && i < N_POD_CAUSES; i++)
		free(j->first[i]);
	if (!j)
		return;
	free(j->failure);
	free(j->failed_pod);
	free(j->failed_at);
	free(j);
}

/* ---- one change of a pod ----------------------------------------------------------- */

void pod_change_of(struct pod_change *ret, const cJSON *old, const cJSON *now)
{
	ret->pod = now ? now : old;
	pod_facts_of(old, &ret->before);
	pod_facts_of(now, &ret->now);
}

bool pod_change_has_new(const struct pod_change *c)
{
	for (size_t i = 0; i < c->now.n; i++)
		if (!pod_fact_in(&c->before, &c->now.list[i]))
			return true;
	return false;
}

/* The bit set of causes. */
static unsigned causes_of(const struct pod_fact_list *facts)
{
	unsigned ret = 0;

	for (size_t i = 0; i < facts->n; i++)
		ret |= 1u << facts->list[i].cause;
	return ret;
}

/* Stores the failure if it explains the others better than the stored one. */
static void keep_failure(struct job_facts *j, const cJSON *pod, const struct pod_fact *f)
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

/* The event's message: with one pod its latest fact, with several also their number. */
static const char *event_message(struct arena *arena, const struct job_facts *j,
				 enum pod_cause cause, const char *latest)
{
	if (j->pods[cause] < 2)
		return latest;
	return arena_printf(arena, "%zu pods, first %s", j->pods[cause], j->first[cause]);
}

/* `first`: the pod had no such fact before. */
static void appear(struct job_facts *j, const cJSON *pod, const struct pod_fact *f,
		   bool first, const struct fact_sink *to)
{
	cleanup_arena struct arena arena = { 0 };
	const char *who = arena_printf(&arena, "%s, ", meta_name(pod));
	const char *latest = pod_fact_words(&arena, who, pod, f);

	keep_failure(j, pod, f);
	j->pods[f->cause] += first;
	if (first && j->pods[f->cause] == 1) {
		free(j->first[f->cause]);
		j->first[f->cause] = xstrdup(latest);
	}
	to->on_fact(to->ctx, f->cause, event_message(&arena, j, f->cause, latest));
}

void job_facts_change(struct job_facts *j, const struct pod_change *c,
		      const struct fact_sink *to)
{
	unsigned had = causes_of(&c->before), left = causes_of(&c->now);

	for (enum pod_cause i = 0; i < N_POD_CAUSES; i++)
		if (had & ~left & 1u << i && j->pods[i])
			j->pods[i]--;
	for (size_t i = 0; to && i < c->now.n; i++) {
		const struct pod_fact *f = &c->now.list[i];

		if (pod_fact_in(&c->before, f))
			continue;
		appear(j, c->pod, f, !(had & 1u << f->cause), to);
		had |= 1u << f->cause;
	}
}

void job_facts_add_failed(struct job_facts *j, const cJSON *pod)
{
	struct pod_fact_list facts;

	pod_facts_of(pod, &facts);
	for (size_t i = 0; i < facts.n; i++)
		keep_failure(j, pod, &facts.list[i]);
}

void job_facts_deleted(struct job_facts *j, const cJSON *pod)
{
	if (!str_eq(j->failed_pod, meta_name(pod)))
		return;
	free(j->failed_at);
	j->failed_at = xstrdup("~"); /* greater than every time */
	j->weak = true;
}

bool job_facts_is_empty(const struct job_facts *j)
{
	for (size_t i = 0; i < N_POD_CAUSES; i++)
		if (j->pods[i])
			return false;
	return !j->failure;
}

const char *job_facts_first(const struct job_facts *j, size_t *ret_brief)
{
	*ret_brief = j->brief;
	return j->failure;
}
