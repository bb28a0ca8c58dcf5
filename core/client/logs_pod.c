/* logs_pod.c - find the step, rank and runs of a container (client/logs_pod.h). */
#include "client/logs_pod.h"

#include <limits.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "trainer/api.h"
#include "trainer/jobset.h"
#include "trainer/podcause.h"
#include "trainer/podname.h"

#define LABEL_STEP    "jobset.sigs.k8s.io/replicatedjob-name"
#define LABEL_REPLICA "jobset.sigs.k8s.io/job-index"
#define LABEL_INDEX   "batch.kubernetes.io/job-completion-index"

static const char *const initializers[] = { DATASET_INITIALIZER, MODEL_INITIALIZER,
					    NULL };

/* ---- fields ------------------------------------------------------------------------ */

static cJSON *names_only(const cJSON *containers)
{
	cJSON *ret = cJSON_CreateArray();
	const cJSON *c;

	json_each(c, containers) {
		cJSON *one = cJSON_CreateObject();

		if (json_str(c, "name"))
			json_put_str(one, json_str(c, "name"), "name");
		if (json_str(c, "image"))
			json_put_str(one, json_str(c, "image"), "image");
		cJSON_AddItemToArray(ret, one);
	}
	return ret;
}

bool log_pod_slim(cJSON *pod)
{
	static const char *const lists[] = { "initContainers", "containers" };
	cJSON *spec = cJSON_CreateObject();
	const cJSON *old = json_get(pod, "spec");
	cJSON *attempt;

	for (size_t i = 0; i < 2; i++)
		if (json_get(old, lists[i]))
			json_put(spec, names_only(json_get(old, lists[i])), lists[i]);
	if (json_str(old, "nodeName"))
		json_put_str(spec, json_str(old, "nodeName"), "nodeName");
	json_put(pod, spec, "spec");
	attempt = json_dup(
		json_get(pod, "metadata", "annotations", POD_ATTEMPT_ANNOTATION));
	json_del(pod, JSON_PATH("metadata", "annotations"));
	json_put(pod, attempt, "metadata", "annotations", POD_ATTEMPT_ANNOTATION);
	return true;
}

bool log_pod_ended(const cJSON *pod)
{
	const char *phase = json_str(pod, "status", "phase");

	return str_eq(phase, "Succeeded") || str_eq(phase, "Failed");
}

/* ---- step and rank ----------------------------------------------------------------- */

static int label_number(const cJSON *pod, const char *label, int absent)
{
	const char *text = meta_label(pod, label);
	int64_t n;

	return text && !str_int(&n, text, 0, INT_MAX, IGNORED) ? (int)n : absent;
}

static bool is_ranked(const char *step, const cJSON *rjob)
{
	return str_eq(step, NODE) ||
	       (str_eq(rjob_ancestor(rjob), ANCESTOR_TRAINER) && !str_eq(step, LAUNCHER));
}

static struct log_origin by_labels(struct arena *arena, const cJSON *pod,
				   const char *container)
{
	const char *step = meta_label(pod, LABEL_STEP);
	struct log_origin ret = {
		.step = step ? step : "pod",
		.replica = label_number(pod, LABEL_REPLICA, 0),
		.rank = label_number(pod, LABEL_INDEX, -1),
		.ranked = is_ranked(step, NULL),
	};

	ret.number = str_in(ret.step, initializers) ? 0 : 1 + ret.ranked;
	ret.prefix = ret.step;
	if (ret.replica)
		ret.prefix = arena_printf(arena, "%s-%d", ret.prefix, ret.replica);
	if (ret.ranked && ret.rank >= 0)
		ret.prefix = arena_printf(arena, "%s-%d", ret.prefix, ret.rank);
	if (cJSON_GetArraySize(log_containers(pod, false)) > 1 &&
	    !str_eq(container, ret.step))
		ret.prefix = arena_printf(arena, "%s/%s", ret.prefix, container);
	return ret;
}

struct log_origin log_origin_of(struct arena *arena, const cJSON *jobset,
				const cJSON *pod, const char *container)
{
	struct podname at;

	if (!jobset || !podname_parse(&at, jobset, meta_name(pod)))
		return by_labels(arena, pod, container);
	return (struct log_origin){
		.step = at.step,
		.number = at.number,
		.replica = at.replica,
		.rank = at.rank,
		.ranked = is_ranked(at.step, at.rjob),
		.prefix = podname_prefix(arena, &at, container),
	};
}

static bool step_wanted(const struct logs_want *want, const char *step)
{
	if (!want->step || str_eq(want->step, step))
		return true;
	return str_eq(want->step, "initializer") && str_in(step, initializers);
}

bool log_origin_wanted(const struct logs_want *want, const struct log_origin *origin)
{
	return step_wanted(want, origin->step) &&
	       (want->rank < 0 || (origin->ranked && origin->rank == want->rank));
}

bool log_container_wanted(const struct logs_want *want, const char *name, bool init)
{
	if (want->container)
		return str_eq(want->container, name);
	return !init || want->all;
}

static int64_t count_of(const struct logs_want *want, const cJSON *pod_spec)
{
	static const char *const lists[] = { "initContainers", "containers" };
	const cJSON *c;
	int64_t n = 0;

	for (int i = 0; i < 2; i++)
		json_each(c, json_at(pod_spec, JSON_PATH(lists[i])))
			n += log_container_wanted(want, json_str(c, "name"), i == 0);
	return n;
}

int64_t log_count(const struct logs_want *want, const cJSON *jobset)
{
	const cJSON *rjob;
	int64_t n = 0;

	json_each(rjob, jobset_jobs_const(json_get(jobset, "spec"))) {
		const char *step = json_str(rjob, "name");

		if (!step_wanted(want, step) ||
		    (want->rank >= 0 &&
		     (!is_ranked(step, rjob) || want->rank >= rjob_pods(rjob))))
			continue;
		n += count_of(want, rjob_pod_spec_const(rjob)) *
		     (want->rank >= 0 ? 1 : rjob_pods(rjob));
	}
	return n;
}

/* ---- runs -------------------------------------------------------------------------- */

const cJSON *log_containers(const cJSON *pod, bool init)
{
	return json_get(pod, "spec", init ? "initContainers" : "containers");
}

/* In CrashLoopBackOff the kubelet returns the log of the run that has ended. */
struct log_run log_run_of(const cJSON *pod, const char *container)
{
	const cJSON *status = pod_container_status(pod, container);
	const cJSON *state = json_get(status, "state");
	struct log_run ret = {
		.number = json_int(status, 0, "restartCount"),
		.waiting_reason = json_str(state, "waiting", "reason"),
	};

	if (json_get(state, "running")) {
		ret.started = true;
	} else if (json_get(state, "terminated") ||
		   json_get(status, "lastState", "terminated")) {
		ret.started = ret.ended = true;
	}
	return ret;
}
