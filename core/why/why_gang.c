/* why_gang.c - a gang waits: how many pods it needs, and how many of them fit. */
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/str.h"
#include "trainer/jobset.h"
#include "trainer/scheduling.h"
#include "trainer/trainjob.h"
#include "why/capacity.h"
#include "why/foreign.h"
#include "why/why_impl.h"

#define TIMED_OUT "rejected due to timeout after waiting"
#define SCHEDULED "PodGroupInitiallyScheduled" /* of Kubernetes' own PodGroup */

/* ---- the gang ---- */

/* `have`: pods with a node, or with a placeholder on one. */
struct gang {
	int64_t need, all, have;
	const cJSON *waits;      /* the first pod without a node */
	const cJSON *best_pod;   /* the pod with the most specific message; or NULL */
	const char *message;     /* the scheduler's message about that pod; "" */
	bool timed_out;          /* a pod was rejected after scheduleTimeoutSeconds */
	const char *need_source; /* the source of `need` */
};

/* Rank scheduler messages, the most specific highest: nodes, timeout, cluster, retry. */
static int specificity(const char *message)
{
	if (strstr(message, TIMED_OUT))
		return 4;
	if (strstr(message, "resource gap"))
		return 3;
	return strstr(message, " failed recently")      ? 1
	       : strstr(message, "nodes are available") ? 5
	       : *message                               ? 2
							: 0;
}

static void read_message(struct gang *g, const cJSON *pod)
{
	struct pod_fact_list facts;

	if (pod_node(pod))
		return;
	pod_facts_of(pod, &facts);
	for (size_t i = 0; i < facts.n; i++) {
		const struct pod_fact *f = &facts.list[i];

		if (f->cause != POD_UNSCHEDULABLE || !f->message)
			continue;
		g->timed_out |= strstr(f->message, TIMED_OUT) != NULL;
		if (specificity(f->message) <= specificity(g->message))
			continue;
		g->best_pod = pod;
		g->message = f->message;
	}
}

static bool is_native(const struct view *v)
{
	return str_eq(meta_api_version(v->podgroup), SCHEDULING_API_VERSION);
}

/* Only of Kubernetes' own and of KAI's there are several. */
static bool is_one_of_several(const struct view *v)
{
	return is_native(v) || pod_group_is_kai(v->podgroup);
}

static const char *group_name(const struct view *v)
{
	return is_one_of_several(v) ? meta_name(v->podgroup) : v->name;
}

static const char *describe_group(struct why *w)
{
	return why_describe(w,
			    pod_group_is_kai(w->v->podgroup)
				    ? "podgroups.scheduling.run.ai"
				    : "podgroup",
			    group_name(w->v));
}

/* Is the pod of the PodGroup that was read? */
static bool in_group(const struct view *v, const cJSON *pod)
{
	const char *group = pod_group_name(pod);

	return group && (!is_one_of_several(v) || str_eq(group, group_name(v)));
}

/* KAI before 0.13 makes a PodGroup of each pod of a JobSet. */
static bool is_of_one(const struct view *v)
{
	return pod_group_is_kai(v->podgroup) &&
	       foreign_group_min_member(v->podgroup) <= 1;
}

static bool gang_of(struct why *w, struct gang *ret)
{
	const struct view *v = w->v;
	bool yunikorn = false;
	const cJSON *pod;

	*ret = (struct gang){ .message = "",
			      .need = foreign_group_min_member(v->podgroup) };
	json_each(pod, v->pods) {
		bool group = pod_task_group(pod);

		if (meta_is_deleted(pod) || !(group || in_group(v, pod)))
			continue;
		yunikorn |= group;
		ret->all++;
		ret->have += pod_node(pod) != NULL;
		if (!pod_node(pod) && !ret->waits)
			ret->waits = pod;
		if (group && !pod_node(pod))
			ret->need = pod_task_group_min(pod);
		read_message(ret, pod);
	}
	json_each(pod, v->placeholders) {
		ret->have += pod_node(pod) != NULL;
		read_message(ret, pod);
	}
	ret->need_source = yunikorn
				   ? "minMember of its task groups"
				   : arena_printf(w->arena, "%s of PodGroup %s",
						  is_native(v) ? "minCount" : "minMember",
						  group_name(v));
	return ret->need > ret->have && ret->all && (ret->waits || ret->all < ret->need);
}

/* ---- YuniKorn's queue ---- */

/* The number after "KEY:" in "map[memory:1 vcore:2]"; false: none. */
static bool number_of(struct why *w, const char *map, const char *key, int64_t *ret)
{
	const char *end = strchr(map, ']');
	const char *text = end ? str_slice(w->arena, map, (size_t)(end - map)) : "";
	const char *at = strstr(text, arena_printf(w->arena, "%s:", key));

	if (!at)
		return false;
	at += strlen(key) + 1;
	return !str_int(ret, str_slice(w->arena, at, strcspn(at, " ")), INT64_MIN,
			INT64_MAX, IGNORED);
}

/*
 * Parse "Request 'x' does not fit in queue 'root.a' (requested map[...], available
 * map[...])": *ret is how many such requests fit, *ret_limit the resource that limits.
 */
static bool queue_capacity(struct why *w, int64_t *ret, const char **ret_limit)
{
	static const char *const keys[] = { "vcore", "memory", "pods", "nvidia.com/gpu",
					    "amd.com/gpu" };
	const cJSON *e = view_event(w->v, "Pod", NULL, "Informational", false);
	const char *message = e ? event_message(e) : "";
	const char *queue = strstr(message, " does not fit in queue '");
	const char *asked = strstr(message, "requested map[");
	const char *left = strstr(message, "available map[");
	int64_t a, b;

	*ret = INT64_MAX;
	if (!queue || !asked || !left)
		return false;
	queue += strlen(" does not fit in queue '");
	for (size_t i = 0; i < N_ELEMENTS(keys); i++) {
		if (!number_of(w, asked, keys[i], &a) || a <= 0 ||
		    !number_of(w, left, keys[i], &b) || (b < 0 ? 0 : b / a) >= *ret)
			continue;
		*ret = b < 0 ? 0 : b / a;
		*ret_limit =
			arena_printf(w->arena, "%s of queue %s", keys[i],
				     str_slice(w->arena, queue, strcspn(queue, "'")));
	}
	return *ret != INT64_MAX;
}

/* ---- why the gang does not start ---- */

/* Limits that capacity_of() does not count: the scheduler's words, and ours. */
static const struct {
	const char *words, *limit;
} uncounted[] = {
	{ "ersistentVolumeClaims", "volume claims" },
	{ "ersistentvolumeclaim", "volume claims" },
	{ "persistent volumes", "volume claims" },
	{ "volume node affinity", "volume claims" },
	{ "device class", "devices" },
	{ "pod anti-affinity", "pod anti-affinity" },
	{ "pod affinity", "pod affinity" },
	{ "topology spread", "topology spread" },
	{ "free ports", "host ports" },
	{ "quota has reached the allowable limit", "limit of its queue" },
	{ "workload is over quota",
	  "quota of its queue" }, /* the job is not preemptible */
	{ "Requested topology", "topology" },
};

static const char *uncounted_limit(const char *message)
{
	for (size_t i = 0; i < N_ELEMENTS(uncounted); i++)
		if (strstr(message, uncounted[i].words))
			return uncounted[i].limit;
	return NULL;
}

/* Why pods do not exist, by their Job's event. */
static const char *unmade_limit(const struct view *v)
{
	const cJSON *job, *e;

	json_each(job, v->jobs) {
		e = view_event(v, "Job", meta_name(job), "FailedCreate", true);
		if (e && strstr(event_message(e), "exceeded quota"))
			return "quota";
	}
	return "pods that could not be created";
}

/*
 * "room for 2 (cpu)"; NULL: unknown. *ret, if nodes were counted: `now` includes the
 * pods that have a node; else `now` is -1.
 */
static const char *capacity_text(struct why *w, const struct gang *g,
				 struct capacity *ret)
{
	const char *limit = uncounted_limit(g->message);
	bool devices = strstr(g->message, "cannot allocate all claims");
	int64_t more = 0;

	if (devices && g->waits && !pod_devices(g->waits))
		limit = "devices";

	*ret = (struct capacity){ .now = -1 };
	if (g->all < g->need && !w->v->placeholders->child)
		return arena_printf(w->arena, "room for %lld (%s)", (long long)g->all,
				    unmade_limit(w->v));
	if (!limit && !queue_capacity(w, &more, &limit)) {
		if (!g->waits || !capacity_of(ret, w->arena, w->v, g->waits))
			return NULL;
		ret->now += g->have;
		limit = ret->limit;
		more = ret->now - g->have;
	}
	if (g->have + more >= g->need)
		return arena_printf(w->arena, "room for %lld",
				    (long long)(g->have + more));
	return arena_printf(w->arena, "room for %lld (%s)", (long long)(g->have + more),
			    limit);
}

bool why_gang_is_incomplete(struct why *w)
{
	struct gang g;

	return !is_of_one(w->v) && gang_of(w, &g) && g.all < g.need && !g.have;
}

const char *why_gang_needs(struct why *w)
{
	struct capacity capacity;
	const char *text;
	struct gang g;

	if (is_of_one(w->v) || !gang_of(w, &g) ||
	    !(text = capacity_text(w, &g, &capacity)))
		return "";
	w->gang_covered = true;
	return arena_printf(w->arena, "its gang needs %lld, %s: ", (long long)g.need,
			    text);
}

/* Why a gang that fits still waits, or that it timed out; else "". */
static const char *gang_verdict(struct why *w, const struct gang *g,
				const struct capacity *capacity)
{
	const cJSON *evicted = view_event(w->v, "PodGroup", NULL, "Evict", false);

	if (capacity->now >= g->need && str_eq(pod_scheduler(g->waits), "yunikorn"))
		return arena_printf(w->arena,
				    "; queue %s runs its maximum number of applications, "
				    "or YuniKorn has not retried it",
				    pod_queue(g->waits));
	if (evicted)
		return arena_printf(w->arena, "; KAI has evicted it: %s",
				    why_quote(w, event_message(evicted)));
	if (capacity->now >= g->need)
		return "; the scheduler has not retried it";
	if (g->timed_out)
		return "; scheduleTimeoutSeconds expired, and the scheduler will "
		       "retry it";
	return "";
}

static void add_gang(struct why *w, const struct gang *g, const struct capacity *capacity,
		     const char *text)
{
	const char *words =
		g->best_pod ? why_scheduler_message(w, g->best_pod, g->message) : "";
	const struct view *v = w->v;
	const char *command = v->podgroup ? describe_group(w)
					  : why_describe(w, "pod", meta_name(g->waits));

	w->gang_covered = true;
	if (capacity->eligible && capacity->empty < g->need) {
		why_add(w, "GangTooLarge", command,
			"its gang needs %lld (%s), but all nodes together have "
			"room for %lld (%s), without other pods: add nodes, "
			"request less, or use fewer nodes",
			(long long)g->need, g->need_source, (long long)capacity->empty,
			capacity->empty_limit);
		return;
	}
	why_add(w, g->timed_out ? "GangTimeout" : "Gang", command,
		"its gang needs %lld, %s: %lld of its %lld pods have a node (%s)%s%s%s",
		(long long)g->need, text, (long long)g->have, (long long)g->all,
		g->need_source, gang_verdict(w, g, capacity), *words ? ": " : "", words);
}

/* Pods that name a PodGroup wait until it exists. */
static void add_missing(struct why *w)
{
	const char *group = NULL;
	const cJSON *pod;

	json_each(pod, w->v->pods)
		if (!group && !pod_node(pod))
			group = pod_native_group(pod);
	if (group && view_is_missing(w->v, "PodGroup"))
		why_add(w, "PodGroupNotFound", why_describe(w, "trainjob", w->v->name),
			"its pods wait for PodGroup %s, which does not exist: the "
			"Kubeflow Trainer controller makes it",
			group);
}

/*
 * Kubernetes 1.37 and KAI place a pod that takes another's place only while as many pods
 * as the gang needs exist that have not ended (kubernetes/kubernetes#142330,
 * kai-scheduler/KAI-Scheduler#1347).
 */
static void add_completed(struct why *w)
{
	const cJSON *pod, *waits = NULL;
	int64_t live = 0, completed = 0;

	if (!is_one_of_several(w->v))
		return;
	json_each(pod, w->v->pods) {
		if (meta_is_deleted(pod) || !in_group(w->v, pod))
			continue;
		completed += str_eq(pod_phase(pod), "Succeeded");
		live += !pod_has_ended(pod);
		if (!pod_node(pod))
			waits = pod;
	}
	if (waits && completed && live < foreign_group_min_member(w->v->podgroup))
		why_add(w, "GangCompleted", why_describe(w, "pod", meta_name(waits)),
			"pod %s takes the place of another, but %lld of its gang have "
			"completed, and the scheduler waits until %lld exist that have not "
			"ended: submit the job again; with backoffLimit 0 in the runtime's "
			"Job, JobSet restarts all pods",
			meta_name(waits), (long long)completed,
			(long long)foreign_group_min_member(w->v->podgroup));
}

/* "Limit is 4 cores, currently 0 cores allocated and workload requested 6 cores" */
static bool is_above_limit(const char *message)
{
	const char *limit = strstr(message, "Limit is ");
	const char *asked = limit ? strstr(limit, "workload requested ") : NULL;

	return asked && strtod(asked + strlen("workload requested "), NULL) >
				strtod(limit + strlen("Limit is "), NULL);
}

/* KAI 0.12 says nothing of queues that do not exist or have no parent. */
static bool kai_queue_is_at_fault(struct why *w, const char *message)
{
	const char *queue = pod_group_kai_queue(w->v->podgroup);

	if (!queue)
		return false;
	if (is_above_limit(message))
		why_add(w, "QueueTooSmall", "kubectl get queues.scheduling.run.ai",
			"KAI places none of its pods: the queue %s allows less in total "
			"than its gang requests (label kai.scheduler/queue): %s",
			queue, why_quote(w, message));
	else if (view_is_missing(w->v, "Queue"))
		why_add(w, "QueueNotFound", "kubectl get queues.scheduling.run.ai",
			"KAI ignores it: the queue %s does not exist (label "
			"kai.scheduler/queue)",
			queue);
	else if (pod_kai_queue_is_top(w->v->kai_queue))
		why_add(w, "QueueNotForPods", "kubectl get queues.scheduling.run.ai",
			"KAI places no pods of the queue %s, which has no parentQueue: "
			"use one of its child queues",
			queue);
	else
		return false;
	w->gang_covered = true;
	return true;
}

/* The last event of Volcano about the queue; warnings are about the pods. */
static const char *volcano_message(const struct view *v)
{
	const cJSON *e, *last = NULL;

	json_each(e, v->events)
		if (str_eq(event_kind(e), "PodGroup") && !event_is_warning(e) &&
		    str_eq(event_reason(e), "Unschedulable") &&
		    (!last || event_last(e) >= event_last(last)))
			last = e;
	return event_message(last);
}

/* Volcano takes a gang into its queue first, if that and the cluster have room. */
static bool volcano_waits(struct why *w)
{
	const char *queue = pod_group_volcano_queue(w->v->podgroup);
	const char *message = volcano_message(w->v);

	if (!queue || !pod_group_is_pending(w->v->podgroup))
		return false;
	w->gang_covered = true;
	why_add(w, "QueueFull",
		arena_printf(w->arena, "kubectl describe queues.scheduling.volcano.sh %s",
			     queue),
		"Volcano has not let its gang into the queue %s (PodGroup %s is "
		"Pending)%s%s",
		queue, group_name(w->v), *message ? ": " : "", why_quote(w, message));
	return true;
}

/* KAI's group includes the pods of steps that start only after others have completed. */
static bool kai_waits_for_steps(struct why *w, const struct gang *g)
{
	const cJSON *rjob;
	bool steps = false;

	if (!pod_group_is_kai(w->v->podgroup) || g->all >= g->need)
		return false;
	json_each(rjob, jobset_jobs_const(jobset_spec_of(w->v->jobset)))
		steps |= rjob_depends_on(rjob) != NULL;
	if (!steps)
		return false;
	w->gang_covered = true;
	why_add(w, "GangOfSteps", describe_group(w),
		"KAI waits until %lld of its pods exist (%s), of which %lld do: it counts "
		"the pods of all steps, which start one after the other: with a release "
		"after 0.14, set the TrainJob's annotation kai.scheduler/batch-min-member "
		"to its number of nodes, and remove schedulerName from the other steps",
		(long long)g->need, g->need_source, (long long)g->all);
	return true;
}

static void add_one_by_one(struct why *w)
{
	long long all = 0, have = 0;
	const cJSON *pod;

	json_each(pod, w->v->pods) {
		all += !meta_is_deleted(pod);
		have += !meta_is_deleted(pod) && pod_node(pod);
	}
	if (have && have < all)
		why_add(w, "GangIgnored", describe_group(w),
			"KAI places its pods one by one, %lld of %lld so far: its PodGroup "
			"%s is of one pod; KAI makes gangs of JobSets since 0.13",
			have, all, group_name(w->v));
}

/* False: a scheduler whose gate is off has placed some of the pods. */
static bool is_placed_as_gang(const struct why *w, const struct gang *g)
{
	return !is_native(w->v) || !g->have || !g->waits ||
	       condition_with(w->v->podgroup, SCHEDULED, "True") ||
	       condition_with(w->v->podgroup, SCHEDULED, "False");
}

/* Adds a cause, and returns true, if the scheduler of the pods ignores their group. */
static bool add_ignored(struct why *w, const struct gang *g)
{
	if (pod_group_volcano_queue(w->v->podgroup) && g->have && g->waits &&
	    str_eq(pod_scheduler(g->waits), "default-scheduler"))
		why_add(w, "GangIgnored", describe_group(w),
			"its pods are placed one by one, %lld of %lld so far: they name "
			"no schedulerName, and Kubernetes' scheduler ignores Volcano's "
			"PodGroup: set schedulerName: volcano in the runtime",
			(long long)g->have, (long long)g->all);
	else if (!is_placed_as_gang(w, g))
		why_add(w, "GangIgnored", describe_group(w),
			"the scheduler ignores PodGroup %s and places its pods one by "
			"one, %lld of %lld so far: turn on kube-scheduler's feature "
			"gate GenericWorkload",
			group_name(w->v), (long long)g->have, (long long)g->all);
	else
		return false;
	return true;
}

void why_gang(struct why *w)
{
	const cJSON *not_yet =
		is_native(w->v) ? condition_with(w->v->podgroup, SCHEDULED, "False")
				: condition_with(w->v->podgroup, "Unschedulable", "True");
	const char *message = condition_message(not_yet), *text;
	struct capacity capacity;
	struct gang g;
	bool gang;

	if (w->gang_covered || w->devices_covered)
		return;
	gang = gang_of(w, &g);
	if (kai_queue_is_at_fault(w, g.message) || (!g.have && volcano_waits(w)))
		return;
	if (is_of_one(w->v)) {
		add_one_by_one(w);
		return;
	}
	if (!gang) {
		add_missing(w);
		add_completed(w);
		return;
	}
	if (kai_waits_for_steps(w, &g))
		return;
	if (add_ignored(w, &g))
		return;
	text = capacity_text(w, &g, &capacity);
	if (text && g.waits) {
		add_gang(w, &g, &capacity, text);
		return;
	}
	why_add(w, "Gang", w->v->podgroup ? describe_group(w) : NULL,
		"its gang is not complete: %lld of its %lld pods have a node, and at "
		"least %lld must be placed together (%s)%s%s",
		(long long)g.have, (long long)g.all, (long long)g.need, g.need_source,
		*message ? ": " : "", why_quote(w, message));
}
