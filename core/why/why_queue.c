/* why_queue.c - the job is suspended: by Kueue, or by a user. */
#include <string.h>

#include "api/meta.h"
#include "base/clock.h"
#include "base/str.h"
#include "trainer/claims.h"
#include "trainer/jobset.h"
#include "trainer/podspec.h"
#include "trainer/trainjob.h"
#include "trainer/trainjob_status.h"
#include "trainer/workspace_spec.h"
#include "why/foreign.h"
#include "why/why_impl.h"

#define QUEUE_LABEL "kueue.x-k8s.io/queue-name"
#define PODSET      "kueue.x-k8s.io/podset-"
#define KUEUE_LOG   "kubectl logs -n kueue-system deployment/kueue-controller-manager"

static const char *ordinal(struct arena *a, int64_t n)
{
	const char *end = n % 10 == 1 && n % 100 != 11   ? "st"
			  : n % 10 == 2 && n % 100 != 12 ? "nd"
			  : n % 10 == 3 && n % 100 != 13 ? "rd"
							 : "th";

	return arena_printf(a, "%lld%s", (long long)n, end);
}

/* The order of Kueue's queues: priority, then age. */
static bool is_before(const cJSON *other, const cJSON *own)
{
	int64_t a = workload_priority(other), b = workload_priority(own);
	const char *at = meta_created(other), *own_at = meta_created(own);

	if (a != b)
		return a > b;
	return at && own_at && strcmp(at, own_at) < 0;
}

/* ", as 2nd of 5 in LocalQueue team-a", by Kueue's positions, or by is_before(). */
static const char *queue_position(struct why *w)
{
	const struct view *v = w->v;
	const char *queue = workload_queue(v->workload);
	int64_t at =
		workload_pending_position(v->pending, meta_name(v->workload), false) + 1;
	int64_t all = workload_pending_count(v->pending);
	int64_t everywhere =
		workload_pending_position(v->pending, meta_name(v->workload), true) + 1;
	const cJSON *other;

	if (!at) {
		at = all = 1;
		json_each(other, v->workloads) {
			at += is_before(other, v->workload);
			all++;
		}
	}
	return arena_printf(w->arena, ", as %s of %lld in LocalQueue %s%s%s",
			    ordinal(w->arena, at), (long long)all, queue,
			    everywhere ? ", and in its ClusterQueue " : "",
			    everywhere ? ordinal(w->arena, everywhere) : "");
}

/* Does a patch set the resources of a container? Kueue 0.19 does not know the field. */
static bool patches_resources(const cJSON *tj)
{
	const cJSON *patch, *rjob, *container;

	json_each(patch, tj_runtime_patches(tj))
		json_each(rjob, jobset_jobs_const(patch_jobset_spec(patch)))
			json_each(container,
				  pod_containers_const(rjob_pod_spec_const(rjob)))
				if (json_get(container, "resources"))
					return true;
	return false;
}

/* Kueue resumes a job by the entry of runtimePatches that its webhook adds. */
static const char *unresumed_hint(struct why *w)
{
	if (patches_resources(w->v->trainjob))
		return ": Kueue 0.19 drops the resources of containers in "
		       "spec.runtimePatches, which are immutable; put them into its "
		       "runtime";
	if (json_find_const(tj_runtime_patches(w->v->trainjob), "manager", KUEUE_MANAGER))
		return ": its controller's log says why";
	return ": its entry in spec.runtimePatches (manager " KUEUE_MANAGER
	       ") is missing: submit the job again, and do not replace that list";
}

static void admission(struct why *w)
{
	const cJSON *workload = w->v->workload, *check;
	const cJSON *admitted = condition_with(workload, "Admitted", "True");
	bool waits = condition_since(admitted) >= 0 &&
		     w->v->now - condition_since(admitted) >= VIEW_REACTION_SECONDS;
	const char *message;

	json_each(check, workload_checks(workload))
		if (!str_eq(json_str(check, "state"), "Ready"))
			break;
	message = condition_message(check);
	if (check)
		why_add(w, "AdmissionCheck",
			why_describe(w, "workload", meta_name(workload)),
			"Kueue has reserved quota and is waiting for the admission check "
			"%s, which is %s%s%s",
			json_str(check, "name"), json_str(check, "state"),
			*message ? ": " : "", why_quote(w, message));
	else if (w->state == WHY_SUSPENDED && waits && claims_given(w->v->trainjob))
		why_add(w, "ClaimsNotKnownToKueue",
			why_describe(w, "workload", meta_name(workload)),
			"Kueue has admitted it and cannot resume it: Kueue 0.19 "
			"drops the resource claims of a TrainJob, which are "
			"immutable; put them into its runtime");
	else if (w->state == WHY_SUSPENDED && waits && tj_is_ours(w->v->trainjob))
		why_add(w, "NotResumed", KUEUE_LOG,
			"Kueue admitted it %s ago and has not resumed it%s",
			why_age(w, condition_since(admitted)), unresumed_hint(w));
	else if (w->state == WHY_SUSPENDED)
		why_add(w, "Admitted", why_describe(w, "workload", meta_name(workload)),
			"Kueue has admitted it and is about to resume it");
}

static bool queue_is_at_fault(struct why *w, const char *queue)
{
	const struct view *v = w->v;
	const cJSON *inactive = condition_with(v->queue, "Active", "False");

	if (view_is_missing(v, "LocalQueue")) {
		why_add(w, "LocalQueueNotFound", "kubectl get localqueues%n",
			"Kueue holds it back: no LocalQueue %s in namespace %s (label " QUEUE_LABEL
			")",
			queue, v->ns);
		return true;
	}
	if (!inactive)
		return false;
	why_add(w, "LocalQueueInactive",
		str_eq(condition_reason(inactive), "ClusterQueueIsInactive")
			? arena_printf(w->arena, "kubectl describe clusterqueue %s",
				       queue_cluster_queue(v->queue))
			: why_describe(w, "localqueue", queue),
		"Kueue holds it back: LocalQueue %s (ClusterQueue %s) is "
		"not admitting: %s",
		queue, queue_cluster_queue(v->queue),
		why_quote(w, condition_message(inactive)));
	return true;
}

/* Adds a cause, and returns true, if Kueue's message is about topology, not quota. */
static bool topology_is_at_fault(struct why *w, const char *message, const char *command)
{
	static const char *const unknown[] = { "does not contain the requested level",
					       "no requested topology level" };
	const char *request, *level = workload_topology(w->v->workload, &request);

	if (!level)
		return false;
	for (size_t i = 0; i < N_ELEMENTS(unknown); i++)
		if (strstr(message, unknown[i])) {
			why_add(w, "TopologyLevelNotFound",
				"kubectl get topologies -o yaml",
				"Kueue holds it back: no topology of its queue has the "
				"level %s (annotation " PODSET "%s): %s",
				level, request, why_quote(w, message));
			return true;
		}
	if (!strstr(message, "topology \""))
		return false;
	why_add(w, "TopologyFull", command,
		"it is waiting for room in a topology in Kueue%s (annotation " PODSET
		"%s: %s): %s",
		queue_position(w), request, level, why_quote(w, message));
	return true;
}

/*
 * Kueue's words about each pod set without a flavor: is there one for which waiting does
 * not help, as no flavor is for it, or can ever have enough of a resource?
 */
static bool never_fits(struct why *w, const char *message)
{
	static const char set[] = "couldn't assign flavors to pod set ";
	static const char *const never[] = { "> maximum capacity",
					     " unavailable in ClusterQueue",
					     "untolerated taint",
					     "doesn't match node affinity" };
	const char *at = strstr(message, set), *next;

	for (; at; at = next) {
		const char *rest = at + strlen(set), *text;

		next = strstr(rest, set);
		text = next ? str_slice(w->arena, rest, (size_t)(next - rest)) : rest;
		for (size_t i = 0; i < N_ELEMENTS(never); i++)
			if (strstr(text, never[i]) && !strstr(text, "unused quota"))
				return true;
	}
	return false;
}

/* "; it is queued again in 4m, for the 3rd time"; "": no back-off. */
static const char *back_off(struct why *w)
{
	const struct view *v = w->v;
	int64_t at = workload_requeued_at(v->workload);
	int64_t n = workload_requeues(v->workload);
	char text[DURATION_TEXT_SIZE];

	if (at <= v->now)
		return "";
	return arena_printf(w->arena, "; it is queued again in %s%s%s%s",
			    duration_age(at - v->now, text), n ? ", for the " : "",
			    n ? ordinal(w->arena, n) : "", n ? " time" : "");
}

/* Initializers can take longer than Kueue's timeout, and the nodes start after them. */
static const char *steps_hint(struct why *w, const char *reason)
{
	const cJSON *rjob;

	if (str_eq(reason, "PodsReadyTimeout"))
		json_each(rjob, jobset_jobs_const(jobset_spec_of(w->v->jobset)))
			if (rjob_depends_on(rjob))
				return " (the timeout, waitForPodsReady of Kueue, "
				       "includes the time of its initializers)";
	return "";
}

static void explain_wait(struct why *w)
{
	/* The last three: with Kueue's gate UnadmittedWorkloadsObservability. */
	static const char *const inadmissible[] = { "Inadmissible", "ExceedsMaxQuota",
						    "Misconfigured", "NoMatchingFlavor",
						    NULL };
	const cJSON *workload = w->v->workload;
	const cJSON *not_yet = condition_with(workload, "QuotaReserved", "False");
	const cJSON *evicted = condition_with(workload, "Evicted", "True");
	const char *message = condition_message(not_yet);
	const char *reason = condition_reason(not_yet);
	const char *command = why_describe(w, "workload", meta_name(workload));
	const char *later = back_off(w);

	if (!workload_is_active(workload)) {
		why_add(w, "WorkloadInactive", command,
			"Kueue holds it back: its Workload is deactivated "
			"(spec.active: false)%s%s",
			evicted ? ": " : "", why_quote(w, condition_message(evicted)));
		return;
	}
	if (queue_is_at_fault(w, workload_queue(workload)))
		return;
	if (evicted)
		why_add(w, "Evicted", command, "Kueue has evicted it (%s): %s%s%s",
			condition_reason(evicted),
			why_quote(w, condition_message(evicted)),
			steps_hint(w, condition_reason(evicted)), later);
	if ((evicted && *later) || topology_is_at_fault(w, message, command))
		return;
	if (str_in(reason, inadmissible) || never_fits(w, message))
		why_add(w, "Inadmissible", command,
			"Kueue cannot admit it to LocalQueue %s, however long it waits: "
			"%s",
			workload_queue(workload), why_quote(w, message));
	else
		why_add(w, "WaitsForQuota", command,
			"it is waiting for quota in Kueue%s%s%s", queue_position(w),
			*message ? ": " : "", why_quote(w, message));
}

/* Kueue's schema allows so many pod sets, one a job; that of older releases 8. */
static const char *pod_sets_hint(struct why *w)
{
	enum { OLD_POD_SETS = 8, POD_SETS = 18 };
	const cJSON *jobs = jobset_jobs_const(jobset_spec_of(w->v->jobset));
	int n = cJSON_GetArraySize(jobs);

	if (n <= OLD_POD_SETS)
		return NULL;
	return arena_printf(w->arena,
			    "its JobSet has %d jobs, where a Workload has at most %d pod "
			    "sets (in older releases of Kueue %d)",
			    n, POD_SETS, OLD_POD_SETS);
}

void why_queued(struct why *w)
{
	const struct view *v = w->v;
	const char *label = meta_label(v->trainjob, QUEUE_LABEL);

	if (v->workload) {
		if (workload_waits(v->workload))
			explain_wait(w);
		else if (!condition_with(v->workload, "Admitted", "True") ||
			 w->state == WHY_SUSPENDED)
			admission(w);
		return;
	}
	if (!label || w->state != WHY_SUSPENDED || view_is_denied(v, "workloads"))
		return;
	if (view_is_missing(v, "Kueue"))
		why_add(w, "KueueNotInstalled",
			"kubectl api-resources --api-group kueue.x-k8s.io",
			"it is for Kueue's queue %s (label " QUEUE_LABEL
			"), but Kueue is not installed in the cluster",
			label);
	else if (why_job_age(w) >= VIEW_REACTION_SECONDS) {
		const char *hint = pod_sets_hint(w);

		why_add(w, "NoWorkload", "kubectl get workloads%n",
			"Kueue has not created a Workload for it for %s: %s",
			why_age(w, v->now - why_job_age(w)),
			hint ? hint
			     : "is its controller running, with the integration "
			       "trainer.kubeflow.org/trainjob?");
	}
}

void why_suspended(struct why *w)
{
	const struct view *v = w->v;
	const cJSON *c = condition_with(v->trainjob, "Suspended", "True");
	int64_t since = c ? condition_since(c) : foreign_time(meta_created(v->trainjob));

	if (meta_annotation(v->trainjob, WORKSPACE_AWAITED_ANNOTATION)) {
		why_add(w, "AwaitsWorkspace", NULL,
			"it has been suspended for %s because its workspace "
			"(--workspace) was not delivered; repeat the 'kftrainer submit' "
			"to deliver it",
			why_age(w, since));
		return;
	}
	why_add(w, "Suspended", arena_printf(w->arena, "kftrainer resume %s%%n", v->name),
		"spec.suspend has been true for %s, not set by Kueue; "
		"resume it to continue",
		why_age(w, since));
}
