/* why_place.c - the pods find no node: scheduler, gates, volume claims. */
#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "trainer/jobset.h"
#include "trainer/requests.h"
#include "trainer/runtime.h"
#include "trainer/trainjob.h"
#include "why/foreign.h"
#include "why/why_impl.h"

enum { SCHEDULES_SECONDS = 10, MAX_RESOURCES = 4 };

/* ---- free capacity ---- */

/* The most of a resource that one usable node has, and has free; false: none has it. */
static bool most(const struct view *v, const char *resource, struct quantity *ret_all,
		 struct quantity *ret_free)
{
	const cJSON *node;
	bool any = false;

	*ret_all = *ret_free = (struct quantity){ 0 };
	json_each(node, v->nodes) {
		struct quantity all, used, left;

		if (!node_is_ready(node) || node_is_closed(node) ||
		    !node_has(node, resource, &all, &used))
			continue;
		left = all;
		left.nano -= used.nano < all.nano ? used.nano : all.nano;
		if (!any || quantity_cmp(&all, ret_all) > 0)
			*ret_all = all;
		if (!any || quantity_cmp(&left, ret_free) > 0)
			*ret_free = left;
		any = true;
	}
	return any;
}

static const char *request_hint(struct why *w, const struct resource *asked)
{
	char want[QUANTITY_TEXT_SIZE], all[QUANTITY_TEXT_SIZE], left[QUANTITY_TEXT_SIZE];
	struct quantity most_all, most_free;
	const struct view *v = w->v;

	quantity_text(&asked->amount, want);
	if (!v->nodes->child)
		return arena_printf(w->arena, "a pod requests %s %s", want, asked->name);
	if (!most(v, asked->name, &most_all, &most_free))
		return arena_printf(w->arena, "a pod requests %s %s, which no node has",
				    want, asked->name);
	quantity_text(&most_all, all);
	quantity_text(&most_free, left);
	if (quantity_cmp(&asked->amount, &most_all) > 0)
		return arena_printf(w->arena,
				    "a pod requests %s %s, but the largest node has %s",
				    want, asked->name, all);
	if (!view_knows_requests(v))
		return arena_printf(w->arena, "a pod requests %s %s", want, asked->name);
	return arena_printf(
		w->arena,
		"a pod requests %s %s, but no node has more than %s free (of %s)", want,
		asked->name, left, all);
}

/* For each "Insufficient RESOURCE" of the message: the pod's request, the capacity. */
static const char *request_hints(struct why *w, const cJSON *pod, const char *message)
{
	cleanup_resource_list struct resource_list asked = { 0 };
	cleanup_buf struct buf out = { .max = 4096 };
	size_t n = 0;

	if (pod_requests_add(&asked, pod_spec_of(pod), 1, IGNORED))
		return "";
	for (size_t i = 0; i < asked.n && n < MAX_RESOURCES; i++) {
		const char *words =
			arena_printf(w->arena, "Insufficient %s", asked.list[i].name);
		const char *at = strstr(message, words);

		if (!at || !strchr(",. ", at[strlen(words)]))
			continue;
		buf_printf(&out, "%s%s", n++ ? "; " : " (",
			   request_hint(w, &asked.list[i]));
	}
	if (n)
		buf_adds(&out, ")");
	return n ? arena_strdup(w->arena, (char *)out.data) : "";
}

/* " (its nodeSelector is gpu=a100)"; "": the message is not about it. */
static const char *selector(struct why *w, const cJSON *pod, const char *message)
{
	cleanup_buf struct buf out = { .max = 4096 };
	const cJSON *c;

	if (!strstr(message, "node affinity/selector"))
		return "";
	json_each(c, pod_node_selector(pod))
		buf_printf(&out, "%s%s=%s", out.len ? ", " : " (its nodeSelector is ",
			   c->string, c->valuestring ? c->valuestring : "");
	if (!out.len)
		return "";
	buf_adds(&out, ")");
	return arena_strdup(w->arena, (char *)out.data);
}

static const cJSON *tolerations_of(const cJSON *jobs, const char *job)
{
	return json_get(rjob_pod_spec_const(json_find_const(jobs, "name", job)),
			"tolerations");
}

static bool has_toleration(const cJSON *pod, const cJSON *toleration)
{
	const cJSON *t;

	json_each(t, json_get(pod, "spec", "tolerations"))
		if (cJSON_Compare(t, toleration, true))
			return true;
	return false;
}

/*
 * " (the tolerations that MANAGER patches ...)"; "": the message is not about a taint, or the
 * pod has those of the runtime. A patch replaces the list, also Kueue's with the tolerations
 * of a ResourceFlavor (kubernetes-sigs/kueue#15162).
 */
static const char *lost_tolerations(struct why *w, const cJSON *pod, const char *message)
{
	const cJSON *patch, *t, *lost = NULL;
	const char *manager = NULL, *key;

	if (!strstr(message, "taint"))
		return "";
	json_each(patch, tj_runtime_patches(w->v->trainjob))
		if (tolerations_of(jobset_jobs_const(patch_jobset_spec(patch)),
				   pod_job(pod)))
			manager = patch_manager(patch);
	json_each(t, tolerations_of(runtime_jobs(w->v->runtime), pod_job(pod)))
		if (!has_toleration(pod, t))
			lost = t;
	if (!manager || !lost)
		return "";
	key = json_str(lost, "key");
	return arena_printf(
		w->arena,
		" (the tolerations that %s patches replace those of the runtime, "
		"such as %s; add them to %s, too)",
		manager, key ? key : "that of every taint",
		str_eq(manager, KUEUE_MANAGER) ? "the ResourceFlavor" : "the patch");
}

/* The message without its parts about preemption and device claims, which do not help. */
static const char *scheduler_text(struct why *w, const char *message)
{
	static const char *const ends[] = { " preemption: ", " no new claims to ",
					    "resource gap: " };
	size_t len = strlen(message);

	for (size_t i = 0; i < N_ELEMENTS(ends); i++) {
		const char *end = strstr(message, ends[i]);

		if (end && (size_t)(end - message) < len)
			len = (size_t)(end - message);
	}
	return why_quote(w, str_slice(w->arena, message, len));
}

/* "; cluster-autoscaler, 20s ago: pod triggered scale-up ..."; "": none has said anything. */
static const char *autoscaler_text(struct why *w, const cJSON *pod)
{
	static const char *const names[] = { "cluster-autoscaler", "karpenter",
					     "eks-auto-mode/compute", NULL };
	const cJSON *event, *last = NULL;

	json_each(event, w->v->events)
		if (str_eq(event_kind(event), "Pod") &&
		    str_eq(event_object(event), meta_name(pod)) &&
		    str_in(event_component(event), names) &&
		    (!last || event_last(event) >= event_last(last)))
			last = event;
	return last ? arena_printf(w->arena, "; %s, %s ago: %s", event_component(last),
				   why_age(w, event_last(last)),
				   why_quote(w, event_message(last)))
		    : "";
}

const char *why_scheduler_message(struct why *w, const cJSON *pod, const char *message)
{
	const char *gap = strstr(message, "resource gap: ");

	return arena_printf(w->arena, "%s%s%s%s%s%s", scheduler_text(w, message),
			    gap ? " the cluster as a whole lacks resources" : "",
			    request_hints(w, pod, message), selector(w, pod, message),
			    lost_tolerations(w, pod, message), autoscaler_text(w, pod));
}

void why_unschedulable(struct why *w)
{
	struct failure first = { 0 };
	int64_t n = view_pods_with(w->v, POD_UNSCHEDULABLE, &first);
	const char *message = first.fact.message ? first.fact.message : "";

	if (!n || w->gang_covered || w->devices_covered ||
	    strstr(message, "ersistentvolumeclaim") ||
	    strstr(message, "PersistentVolumeClaim"))
		return; /* why_gang(), why_devices(), why_claims() */
	why_add(w, "Unschedulable", why_describe(w, "pod", meta_name(first.pod)),
		"no node can run %s: %s", why_pod_count(w, n, view_count(w->v).all),
		why_scheduler_message(w, first.pod, message));
}

/* ---- gates ---- */

/* " (kueue.x-k8s.io/topology)" */
static const char *gate_names(struct why *w, const cJSON *pod)
{
	cleanup_buf struct buf out = { .max = 4096 };
	const cJSON *gate;

	json_each(gate, pod_gates(pod))
		if (json_str(gate, "name"))
			buf_printf(&out, "%s%s", out.len ? ", " : " (",
				   json_str(gate, "name"));
	if (!out.len)
		return "";
	buf_adds(&out, ")");
	return arena_strdup(w->arena, (char *)out.data);
}

void why_gated(struct why *w)
{
	struct failure first = { 0 };
	int64_t n = view_pods_with(w->v, POD_GATED, &first);

	if (n)
		why_add(w, "SchedulingGated",
			why_describe(w, "pod", meta_name(first.pod)),
			"%s is not scheduled until its spec.schedulingGates are "
			"removed%s",
			why_pod_count(w, n, view_count(w->v).all),
			gate_names(w, first.pod));
}

/* A pod has no node and no message from the scheduler for SCHEDULES_SECONDS. */
void why_no_scheduler(struct why *w)
{
	const struct view *v = w->v;
	const cJSON *pod;

	if (w->causes->child)
		return;
	json_each(pod, v->pods) {
		struct pod_fact_list facts;
		int64_t since = foreign_time(meta_created(pod));

		pod_facts_of(pod, &facts);
		if (pod_node(pod) || facts.n || since < 0 ||
		    v->now - since < SCHEDULES_SECONDS)
			continue;
		why_add(w, "SchedulerNotRunning", why_describe(w, "pod", meta_name(pod)),
			"the scheduler %s has not processed its pods for %s: is it "
			"running (spec.schedulerName)?",
			pod_scheduler(pod), why_age(w, since));
		return;
	}
}

/* ---- claims ---- */

static void claim_missing(struct why *w, const struct failure *first)
{
	static const char words[] = "persistentvolumeclaim \"";
	const char *message = first->fact.message ? first->fact.message : "";
	const char *at = strstr(message, words), *name;

	if (!at)
		return;
	at += strlen(words);
	name = str_slice(w->arena, at, strcspn(at, "\""));
	why_add(w, "ClaimNotFound", "kubectl get persistentvolumeclaims%n",
		"%sits pods use the PersistentVolumeClaim %s, %s", why_gang_needs(w),
		name,
		strstr(at, "not found") ? "which does not exist" : why_quote(w, message));
}

/* A claim with WaitForFirstConsumer waits for the pod, not the pod for it. */
static bool is_fault(const struct view *v, const cJSON *claim, const cJSON **ret_event)
{
	*ret_event =
		view_event(v, "PersistentVolumeClaim", meta_name(claim), NULL, false);
	return !str_eq(claim_phase(claim), "Bound") &&
	       !str_eq(event_reason(*ret_event), "WaitForFirstConsumer");
}

void why_claims(struct why *w)
{
	const struct view *v = w->v;
	struct failure first = { 0 };
	const cJSON *claim, *e;
	const char *class;

	json_each(claim, v->claims) {
		if (!is_fault(v, claim, &e))
			continue;
		class = claim_class(claim);
		why_add(w, "ClaimPending",
			why_describe(w, "persistentvolumeclaim", meta_name(claim)),
			"%sits PersistentVolumeClaim %s is %s (storage class %s)%s%s",
			why_gang_needs(w), meta_name(claim),
			*claim_phase(claim) ? claim_phase(claim) : "Pending",
			class && *class ? class : "none", e ? ": " : "",
			why_quote(w, event_message(e)));
		return;
	}
	if (!view_pods_with(v, POD_UNSCHEDULABLE, &first))
		return;
	claim_missing(w, &first);
	if (!w->causes->child && first.fact.message &&
	    strstr(first.fact.message, "PersistentVolumeClaim"))
		why_add(w, "ClaimPending", why_describe(w, "pod", meta_name(first.pod)),
			"%sits pods wait for their volume claims: %s", why_gang_needs(w),
			scheduler_text(w, first.fact.message));
}
