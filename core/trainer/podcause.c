/* podcause.c - find out why a pod waits or failed (trainer/podcause.h). */
#include "trainer/podcause.h"

#include <string.h>

#include "api/meta.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/screen.h"
#include "base/str.h"
#include "trainer/api.h"

#define LABEL_JOB   "jobset.sigs.k8s.io/replicatedjob-name"
#define LABEL_INDEX "jobset.sigs.k8s.io/job-index"
#define LABEL_RANK  "batch.kubernetes.io/job-completion-index"

enum { MAX_WORDS = 400, MAX_CONTAINERS = 100 };

/* ---- causes ---------------------------------------------------------------------- */

const struct pod_cause_kind pod_causes[N_POD_CAUSES] = {
	[POD_UNSCHEDULABLE] = { .reason = "Unschedulable" },
	[POD_GATED] = { "SchedulingGated", .normal = true },
	[POD_IMAGE] = { .reason = "ImagePullFailed" },
	[POD_START] = { "ContainerStartFailed", .fails = true },
	[POD_OOM] = { "OOMKilled", .fails = true },
	[POD_FAILED] = { "ContainerFailed", .fails = true },
	[POD_DISRUPTED] = { "PodDisrupted", .fails = true },
	[POD_REJECTED] = { "PodFailed", .fails = true },
};

/*
 * The kubelet's reasons of a container that waits or has ended: pkg/kubelet/images and
 * pkg/kubelet/kuberuntime; the last two are containerd's and Docker's.
 */
static const struct {
	const char *reason;
	enum pod_cause cause;
} container_reasons[] = {
	{ "ErrImagePull", POD_IMAGE },
	{ "ImagePullBackOff", POD_IMAGE },
	{ "InvalidImageName", POD_IMAGE },
	{ "ErrImageNeverPull", POD_IMAGE },
	{ "ImageInspectError", POD_IMAGE },
	{ "RegistryUnavailable", POD_IMAGE },
	{ "SignatureValidationFailed", POD_IMAGE },
	{ "ErrImageVolumePull", POD_IMAGE },
	{ "CreateContainerConfigError", POD_START },
	{ "CreateContainerError", POD_START },
	{ "PreCreateHookError", POD_START },
	{ "PreStartHookError", POD_START },
	{ "PostStartHookError", POD_START },
	{ "RunContainerError", POD_START },
	{ "StartError", POD_START },
	{ "ContainerCannotRun", POD_START },
	{ "OOMKilled", POD_OOM },
};

static enum pod_cause container_cause(const char *reason, enum pod_cause otherwise)
{
	for (size_t i = 0; i < N_ELEMENTS(container_reasons); i++)
		if (str_eq(reason, container_reasons[i].reason))
			return container_reasons[i].cause;
	return otherwise;
}

const char *podcause_exit_signal(int64_t exit_code)
{
	static const struct {
		int64_t exit_code;
		const char *name;
	} names[] = {
		{ 130, "SIGINT" },  { 132, "SIGILL" },  { 134, "SIGABRT" },
		{ 135, "SIGBUS" },  { 136, "SIGFPE" },  { 137, "SIGKILL" },
		{ 139, "SIGSEGV" }, { 143, "SIGTERM" },
	};

	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		if (names[i].exit_code == exit_code)
			return names[i].name;
	return NULL;
}

/* ---- a pod ------------------------------------------------------------------------ */

const char *pod_phase(const cJSON *pod)
{
	const char *phase = json_str(pod, "status", "phase");

	return phase ? phase : "";
}

bool pod_has_ended(const cJSON *pod)
{
	return str_eq(pod_phase(pod), "Succeeded") || str_eq(pod_phase(pod), "Failed");
}

bool pod_is_ready(const cJSON *pod)
{
	const cJSON *c =
		json_find_const(json_get(pod, "status", "conditions"), "type", "Ready");

	return str_eq(json_str(c, "status"), "True");
}

const cJSON *pod_container_status(const cJSON *pod, const char *name)
{
	const cJSON *status = json_get(pod, "status");
	const cJSON *c =
		json_find_const(json_get(status, "containerStatuses"), "name", name);

	return c ? c
		 : json_find_const(json_get(status, "initContainerStatuses"), "name",
				   name);
}

const char *pod_node(const cJSON *pod)
{
	return json_str(pod, "spec", "nodeName");
}

const char *pod_job(const cJSON *pod)
{
	const char *job = meta_label(pod, LABEL_JOB);

	return job ? job : "";
}

int64_t pod_node_rank(const cJSON *pod)
{
	const char *rank = meta_label(pod, LABEL_RANK);
	int64_t n;

	return rank && !str_int(&n, rank, 0, INT32_MAX, IGNORED) ? n : -1;
}

const char *pod_at_init(const cJSON *pod, const char **ret_since)
{
	const cJSON *c;

	*ret_since = NULL;
	json_each(c, json_get(pod, "status", "initContainerStatuses")) {
		const cJSON *state = json_get(c, "state");
		const cJSON *ended = json_get(state, "terminated");

		if (ended && !json_int(ended, 0, "exitCode"))
			continue;
		if (json_bool(c, false, "started") && json_bool(c, false, "ready"))
			continue; /* a sidecar */
		*ret_since = json_str(state, "running", "startedAt");
		return json_str(c, "name");
	}
	return NULL;
}

/* ---- reduce a pod ----------------------------------------------------------------- */

static void keep_str(cJSON *to, const cJSON *from, const char *key)
{
	cleanup_arena struct arena arena = { 0 };
	const char *s = json_str(from, key);

	if (s && *s)
		json_put_str(to, str_at_most(&arena, s, MAX_WORDS), key);
}

/* The part of a container's state to report, waiting or terminated; NULL: none. */
static const cJSON *reported_state(const cJSON *state)
{
	const cJSON *waits = json_get(state, "waiting");
	const cJSON *ended = json_get(state, "terminated");

	if (waits)
		return container_cause(json_str(waits, "reason"), N_POD_CAUSES) ==
				       N_POD_CAUSES
			       ? NULL
			       : waits;
	return json_int(ended, 0, "exitCode") ||
			       str_eq(json_str(ended, "reason"), "OOMKilled")
		       ? ended
		       : NULL;
}

/* {waiting: {reason, message}} or {terminated: {exitCode, ...}}, or NULL. */
static cJSON *keep_state(const cJSON *state)
{
	static const char *const words[] = { "reason", "message", "finishedAt" };
	const cJSON *from = reported_state(state);
	cJSON *ret, *to;

	if (!from)
		return NULL;
	ret = cJSON_CreateObject();
	to = json_obj(ret, from->string);
	for (size_t i = 0; i < N_ELEMENTS(words); i++)
		keep_str(to, from, words[i]);
	if (str_eq(from->string, "terminated"))
		json_put_int(to, json_int(from, 0, "exitCode"), "exitCode");
	return ret;
}

/* Copy the containers worth reporting. */
static void keep_containers(cJSON *to_status, const cJSON *status, const char *list)
{
	const cJSON *c;
	int n = 0;

	json_each(c, json_get(status, list)) {
		cJSON *state = keep_state(json_get(c, "state"));
		cJSON *last = keep_state(json_get(c, "lastState"));
		cJSON *to;

		if (!state && !last)
			continue;
		if (++n > MAX_CONTAINERS) {
			cJSON_Delete(state);
			cJSON_Delete(last);
			return;
		}
		to = cJSON_CreateObject();
		keep_str(to, c, "name");
		keep_str(to, c, "image");
		json_put_int(to, json_int(c, 0, "restartCount"), "restartCount");
		json_put(to, state, "state");
		json_put(to, last, "lastState");
		cJSON_AddItemToArray(json_list(to_status, list), to);
	}
}

static bool is_reported(const cJSON *condition)
{
	const char *type = json_str(condition, "type");
	const char *value = json_str(condition, "status");

	return (str_eq(type, "PodScheduled") && str_eq(value, "False")) ||
	       (str_eq(type, "DisruptionTarget") && str_eq(value, "True"));
}

static void keep_conditions(cJSON *to_status, const cJSON *status)
{
	const cJSON *c;

	json_each(c, json_get(status, "conditions")) {
		cJSON *to;

		if (!is_reported(c))
			continue;
		to = cJSON_CreateObject();
		keep_str(to, c, "type");
		keep_str(to, c, "status");
		keep_str(to, c, "reason");
		keep_str(to, c, "message");
		keep_str(to, c, "lastTransitionTime");
		cJSON_AddItemToArray(json_list(to_status, "conditions"), to);
	}
}

/* Copy the pod's names for pod_fact_words(), if there is something to report. */
static void keep_names(cJSON *to, const cJSON *pod)
{
	static const char *const labels[] = { LABEL_JOB, LABEL_INDEX, LABEL_RANK };
	const char *node = json_str(pod, "spec", "nodeName");

	for (size_t i = 0; i < N_ELEMENTS(labels); i++)
		if (meta_label(pod, labels[i]))
			meta_set_label(to, labels[i], meta_label(pod, labels[i]));
	if (node)
		json_put_str(to, node, "spec", "nodeName");
}

static cJSON *keep_status(const cJSON *pod)
{
	const cJSON *status = json_get(pod, "status");
	cJSON *to = cJSON_CreateObject();

	keep_conditions(to, status);
	if (!meta_is_deleted(pod)) {
		keep_str(to, status, "reason");
		keep_str(to, status, "message");
		keep_containers(to, status, "initContainerStatuses");
		keep_containers(to, status, "containerStatuses");
	}
	return to;
}

bool pod_is_of_jobset(const cJSON *pod, const char *jobset)
{
	const char *job = meta_label(pod, LABEL_JOB),
		   *index = meta_label(pod, LABEL_INDEX);
	const cJSON *owner = meta_controller(pod);
	const char *rest;

	if (!meta_is(owner, "batch", "Job") || !meta_owner_uid(owner) ||
	    !meta_owner_name(owner))
		return false;
	rest = str_after(meta_owner_name(owner), jobset);
	if (!rest || *rest != '-')
		return false;
	if (!job || !index)
		return true;
	rest = str_after(rest + 1, job);
	return rest && *rest == '-' && str_eq(rest + 1, index);
}

bool pod_facts_keep(cJSON *pod)
{
	const char *phase = json_str(pod, "status", "phase");
	const char *jobset = meta_label(pod, POD_JOBSET_LABEL);
	cJSON *to, *status, *child;

	if (!meta_name(pod) || !jobset || !pod_is_of_jobset(pod, jobset) ||
	    str_eq(phase, "Succeeded"))
		return false;
	status = keep_status(pod);
	if (!status->child && str_eq(phase, "Running")) {
		cJSON_Delete(status);
		return false;
	}
	to = cJSON_CreateObject();
	meta_set_name(to, meta_name(pod));
	if (meta_namespace(pod))
		meta_set_namespace(to, meta_namespace(pod));
	meta_set_label(to, POD_JOBSET_LABEL, meta_label(pod, POD_JOBSET_LABEL));
	if (status->child)
		keep_names(to, pod);
	if (phase)
		json_put_str(status, phase, "phase");
	json_put(to, status, "status");
	child = pod->child;
	pod->child = to->child;
	to->child = child;
	cJSON_Delete(to);
	return true;
}

/* ---- facts ------------------------------------------------------------------------ */

bool pod_fact_in(const struct pod_fact_list *facts, const struct pod_fact *f)
{
	for (size_t i = 0; i < facts->n; i++) {
		const struct pod_fact *at = &facts->list[i];

		if (at->cause == f->cause && str_eq(at->run, f->run) &&
		    at->waits == f->waits && str_eq(at->container, f->container))
			return true;
	}
	return false;
}

static void add(struct pod_fact_list *facts, const struct pod_fact *f)
{
	if (facts->n < MAX_POD_FACTS && !pod_fact_in(facts, f))
		facts->list[facts->n++] = *f;
}

static void add_state(struct pod_fact_list *facts, const cJSON *container,
		      const char *which)
{
	const cJSON *of = reported_state(json_get(container, which));
	struct pod_fact f = {
		.container = json_str(container, "name"),
		.image = json_str(container, "image"),
		.reason = json_str(of, "reason"),
		.message = json_str(of, "message"),
		.finished = json_str(of, "finishedAt"),
		.exit_code = json_int(of, 0, "exitCode"),
		.restarts = json_int(container, 0, "restartCount"),
		.restarted = str_eq(which, "lastState"),
	};

	if (!of)
		return;
	f.waits = str_eq(of->string, "waiting");
	f.cause = container_cause(f.reason, POD_FAILED);
	/* A cause that prevents the start is one fact over all retries. */
	if (f.cause != POD_IMAGE && f.cause != POD_START)
		f.run = f.finished;
	add(facts, &f);
}

static void add_conditions(struct pod_fact_list *facts, const cJSON *status)
{
	const cJSON *c;

	json_each(c, json_get(status, "conditions")) {
		struct pod_fact f = { .reason = json_str(c, "reason"),
				      .message = json_str(c, "message"),
				      .finished = json_str(c, "lastTransitionTime") };

		f.cause = !str_eq(json_str(c, "type"), "PodScheduled") ? POD_DISRUPTED
			  : str_eq(f.reason, "SchedulingGated")        ? POD_GATED
								: POD_UNSCHEDULABLE;
		if (is_reported(c))
			add(facts, &f);
	}
}

/* Reasons of pods that their node ended while they ran: pkg/kubelet/eviction, nodeshutdown, preemption. */
static const char *const node_ends[] = { "Evicted", "Terminated", "Shutdown",
					 "Preempting", NULL };

void pod_facts_of(const cJSON *pod, struct pod_fact_list *ret)
{
	static const char *const lists[] = { "initContainerStatuses",
					     "containerStatuses" };
	const cJSON *status = json_get(pod, "status"), *c;
	const char *reason = json_str(status, "reason");

	ret->n = 0;
	add_conditions(ret, status);
	for (size_t i = 0; i < 2 && !meta_is_deleted(pod); i++)
		json_each(c, json_get(status, lists[i])) {
			add_state(ret, c, "state");
			add_state(ret, c, "lastState");
		}
	/* The kubelet failed the pod itself; such a disruption also has a condition. */
	if (reason && str_eq(json_str(status, "phase"), "Failed")) {
		struct pod_fact f = { .cause = str_in(reason, node_ends) ? POD_DISRUPTED
									 : POD_REJECTED,
				      .reason = reason,
				      .message = json_str(status, "message") };

		add(ret, &f);
	}
}

bool pod_fact_is_lost(const struct pod_fact *f)
{
	return f->cause == POD_FAILED && (str_eq(f->reason, "ContainerStatusUnknown") ||
					  str_eq(f->reason, "Unknown"));
}

struct pod_failure pod_failure_of(const cJSON *pod, const struct pod_fact *f)
{
	bool killed =
		pod_fact_is_lost(f) ||
		(f->cause == POD_FAILED && (f->exit_code == 143 || f->exit_code == 137));

	return (struct pod_failure){ f->restarted || killed, f->finished,
				     meta_name(pod) };
}

bool pod_failure_is_sooner(const struct pod_failure *a, const struct pod_failure *b)
{
	if (!a->at != !b->at)
		return a->at != NULL;
	if (a->at && !str_eq(a->at, b->at))
		return strcmp(a->at, b->at) < 0;
	return a->pod && b->pod && strcmp(a->pod, b->pod) < 0;
}

bool pod_failure_explains(const struct pod_failure *a, const struct pod_failure *b)
{
	return a->weak != b->weak ? b->weak : pod_failure_is_sooner(a, b);
}

/* ---- words ------------------------------------------------------------------------ */

const char *pod_step(struct arena *arena, const cJSON *pod)
{
	const char *job = meta_label(pod, LABEL_JOB),
		   *index = meta_label(pod, LABEL_INDEX);
	const char *rank = meta_label(pod, LABEL_RANK), *step = job;

	if (!job)
		return "pod";
	if (index && !str_eq(index, "0"))
		step = arena_printf(arena, "%s-%s", job, index);
	if (str_eq(job, NODE) && rank)
		step = arena_printf(arena, "%s-%s (node rank %s)", step, rank, rank);
	return step;
}

static void put_exit(struct buf *out, const struct pod_fact *f)
{
	const char *name = podcause_exit_signal(f->exit_code);

	buf_printf(out, "exit code %lld", (long long)f->exit_code);
	if (name)
		buf_printf(out, " (%s)", name);
	if (f->cause == POD_OOM)
		buf_adds(out, ", out of memory");
	if (f->restarts > 0)
		buf_printf(out, ", restarted %lld time%s", (long long)f->restarts,
			   f->restarts == 1 ? "" : "s");
}

static void put_what(struct buf *out, const struct pod_fact *f)
{
	switch (f->cause) {
	case POD_UNSCHEDULABLE:
		buf_adds(out, "cannot be scheduled");
		break;
	case POD_GATED:
		buf_adds(out, "waits for its scheduling gates");
		break;
	case POD_IMAGE:
		buf_printf(out, "container %s: image %s: %s", f->container,
			   f->image ? f->image : "", f->reason);
		break;
	case POD_START:
		buf_printf(out, "container %s does not start: %s", f->container,
			   f->reason);
		break;
	case POD_OOM:
	case POD_FAILED:
		buf_printf(out, "container %s: ", f->container);
		put_exit(out, f);
		break;
	default:
		buf_printf(out, "%s: %s",
			   f->cause == POD_DISRUPTED ? "disrupted" : "failed", f->reason);
	}
}

const char *pod_fact_brief(struct arena *arena, const cJSON *pod,
			   const struct pod_fact *f)
{
	cleanup_buf struct buf out = { .max = 4 * MAX_WORDS };

	buf_printf(&out, "%s: ", pod_step(arena, pod));
	put_what(&out, f);
	return arena_strdup(arena, (const char *)out.data);
}

const char *pod_fact_words(struct arena *arena, const char *who, const cJSON *pod,
			   const struct pod_fact *f)
{
	cleanup_buf struct buf out = { .max = 4 * MAX_WORDS };
	const char *node = json_str(pod, "spec", "nodeName");
	const char *message = f->message ? str_trim(arena, f->message) : NULL;

	buf_printf(&out, "%s%s", who, pod_fact_brief(arena, pod, f));
	if (node)
		buf_printf(&out, " on %s", node);
	if (message && *message)
		buf_printf(&out, ": %s",
			   str_visible(arena, screen_text(arena, message), true));
	return arena_strdup(arena, (const char *)out.data);
}
