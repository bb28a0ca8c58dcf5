/* phase.c - the progress of a job in one line (why/phase.h). */
#include "why/phase.h"

#include "api/meta.h"
#include "base/clock.h"
#include "base/str.h"
#include "trainer/api.h"
#include "trainer/jobset.h"
#include "trainer/podspec.h"
#include "trainer/progress_line.h"
#include "trainer/trainjob.h"
#include "trainer/trainjob_status.h"
#include "why/foreign.h"

#define QUEUE_LABEL "kueue.x-k8s.io/queue-name"

/* ---- pods -------------------------------------------------------------------------- */

static bool has_succeeded(const cJSON *pod)
{
	return str_eq(pod_phase(pod), "Succeeded");
}

/* The pods of one replicatedJob, or of all but the initializers (NULL). */
struct count {
	int64_t all, ready; /* ready: or succeeded */
	int64_t begun;      /* no longer Pending */
};
static struct count count_pods(const struct view *v, const char *job)
{
	struct count n = { 0 };
	const cJSON *pod;

	json_each(pod, v->pods) {
		if (meta_is_deleted(pod) || (job ? !str_eq(pod_job(pod), job)
						 : view_is_initializer(pod_job(pod))))
			continue;
		n.all++;
		n.ready += pod_is_ready(pod) || has_succeeded(pod);
		n.begun += !str_eq(pod_phase(pod), "Pending");
	}
	return n;
}

static int64_t pods_wanted(const struct view *v)
{
	const cJSON *rjob;
	int64_t n = 0;

	json_each(rjob, jobset_jobs_const(jobset_spec_of(v->jobset)))
		if (!view_is_initializer(podspec_element_name(rjob)))
			n += rjob_pods(rjob);
	return n;
}

/* ---- problems of pods -------------------------------------------------------------- */

/* One cause: the fact to report, and how many facts have the cause. */
struct cause_count {
	struct failure first;
	size_t pods;
};

/* A fact of a pod that waits is reported before one that has ended; else the earliest. */
static void count_facts(struct cause_count *list, const cJSON *pod)
{
	struct pod_fact_list facts;

	pod_facts_of(pod, &facts);
	for (size_t i = 0; i < facts.n; i++) {
		struct cause_count *w = &list[facts.list[i].cause];
		const struct failure f = { pod, facts.list[i] };
		const struct pod_failure it = pod_failure_of(pod, &f.fact);
		const struct pod_failure previous =
			pod_failure_of(w->first.pod, &w->first.fact);
		bool waits = w->first.fact.waits;

		if (!w->pods || f.fact.waits > waits ||
		    (f.fact.waits == waits && pod_failure_is_sooner(&it, &previous)))
			w->first = f;
		w->pods++;
	}
}

static const char *trouble_of(struct arena *arena, const struct view *v,
			      enum pod_cause *ret_cause)
{
	struct cause_count list[N_POD_CAUSES] = { 0 };
	const struct cause_count *most = NULL;
	const cJSON *pod;
	const char *who = "";

	json_each(pod, v->pods)
		if (!meta_is_deleted(pod) && !has_succeeded(pod))
			count_facts(list, pod);
	for (size_t i = 0; i < N_POD_CAUSES; i++) {
		const struct cause_count *w = &list[i];

		if (w->pods && (!most || w->first.fact.waits > most->first.fact.waits ||
				(w->first.fact.waits == most->first.fact.waits &&
				 w->pods > most->pods)))
			most = w;
	}
	if (!most)
		return NULL;
	*ret_cause = most->first.fact.cause;
	if (most->pods > 1)
		who = arena_printf(arena, "%zu pods, first ", most->pods);
	return pod_fact_words(arena, who, most->first.pod, &most->first.fact);
}

/* ---- the phases -------------------------------------------------------------------- */

static struct phase ended(struct arena *arena, const cJSON *status)
{
	const cJSON *failed = status_condition(status, COND_FAILED);
	struct phase ret = { PHASE_COMPLETE, "complete", NULL, 0 };

	if (status_is_true(status, COND_COMPLETE))
		return ret;
	ret.kind = PHASE_FAILED;
	ret.line = arena_printf(arena, "failed: %s",
				*condition_message(failed) ? condition_message(failed)
							   : condition_reason(failed));
	return ret;
}

static struct phase suspended(struct arena *arena, const struct view *v)
{
	const char *queue = meta_label(v->trainjob, QUEUE_LABEL);
	struct phase ret = { .kind = PHASE_SUSPENDED };

	if (queue)
		ret.line = arena_printf(arena, "queued in %s", queue);
	else
		ret.line = arena_printf(
			arena, "suspended; start it with 'kftrainer resume%s %s -n %s'",
			v->named ? v->named : "", v->name, v->ns);
	return ret;
}

/* "dataset-initializer runs"; NULL: the job has none, or it has succeeded. */
static const char *initializer_line(struct arena *arena, const struct view *v,
				    const char *job)
{
	struct count n = count_pods(v, job);
	bool running = false, wanted = false;
	const cJSON *rjob, *pod;

	json_each(rjob, jobset_jobs_const(jobset_spec_of(v->jobset)))
		wanted = wanted || str_eq(podspec_element_name(rjob), job);
	json_each(pod, v->pods)
		if (str_eq(pod_job(pod), job)) {
			if (has_succeeded(pod))
				return NULL;
			running = running || str_eq(pod_phase(pod), "Running");
		}
	if (!wanted && !n.all)
		return NULL;
	return arena_printf(arena, "%s %s", job, running ? "runs" : "is starting");
}

/* NULL: the job has no initializer that is due, or its training pods exist. */
static const char *initializers_line(struct arena *arena, const struct view *v,
				     const struct count *trainer)
{
	const char *dataset = initializer_line(arena, v, DATASET_INITIALIZER);
	const char *model = initializer_line(arena, v, MODEL_INITIALIZER);

	if (trainer->all || (!dataset && !model))
		return NULL;
	return arena_printf(arena, "initializers: %s%s%s", dataset ? dataset : "",
			    dataset && model ? ", " : "", model ? model : "");
}

/* Without pods in the view (they may not be read), the job's status decides. */
static bool is_running(const struct view *v, const struct count *n, int64_t wanted,
		       bool ran)
{
	if (!n->all && !cJSON_GetArraySize(v->pods))
		return ran;
	return (ran ? n->begun : n->ready) >= wanted;
}

struct phase phase_of(struct arena *arena, const struct view *v, bool ran)
{
	const cJSON *tj = v->trainjob, *status = tj_status(tj);
	struct count n = count_pods(v, NULL);
	int64_t wanted = v->jobset ? pods_wanted(v) : n.all;
	struct phase ret = { PHASE_CREATED, "waiting for the controller", NULL, 0 };
	const char *line;

	if (status_finished(status))
		return ended(arena, status);
	if (tj_suspend(tj))
		return suspended(arena, v);
	if (!v->jobset && !cJSON_GetArraySize(v->pods) &&
	    str_eq(status_state(status), "Created"))
		return ret;
	ran = ran || str_eq(status_state(status), "Running");
	ret.trouble = trouble_of(arena, v, &ret.cause);
	line = initializers_line(arena, v, &n);
	if (line) {
		ret.kind = PHASE_INITIALIZING;
		ret.line = line;
	} else if (is_running(v, &n, wanted, ran)) {
		ret.kind = PHASE_RUNNING;
		ret.line = progress_line(arena, tj);
	} else {
		ret.kind = ran ? PHASE_RUNNING : PHASE_STARTING;
		ret.line = arena_printf(arena,
					ran ? "running: %lld/%lld pods ready"
					    : "pods starting: %lld/%lld ready",
					(long long)n.ready, (long long)wanted);
	}
	return ret;
}
