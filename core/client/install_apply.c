/* install_apply.c - apply objects in order, wait for them (client/install_apply.h). */
#include "client/install_apply.h"

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/stop.h"
#include "base/str.h"
#include "client/manifests.h"
#include "trainer/api.h"

#define FIELD_MANAGER "kftrainer-install"

enum { POLL_MS = 200, HTTP_FORBIDDEN = 403, REPORT_MS = 5000 };

struct applying {
	struct kube *kube;
	const struct outcomes *out;
	int64_t timeout_ms;
	bool helm_reported;
};

static bool is_transient(const struct error *why)
{
	return why->kind == ERR_BUSY || why->kind == ERR_NOT_FOUND ||
	       why->kind == ERR_CONFLICT || why->kind == ERR_EXISTS;
}

/*
 * Call `check` every POLL_MS until it sets *ret_is; ERR_TIMEOUT after a->timeout_ms.
 * Errors that may pass, such as a kind that is not served yet, are retried until then. A wait
 * of REPORT_MS is reported.
 */
static int wait_for(struct applying *a, const cJSON *obj, const char *what,
		    int (*check)(struct applying *a, const cJSON *obj, bool *ret_is,
				 struct error *err),
		    struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	int64_t start = clock_ms();
	struct error why;
	bool is = false, reported = false;

	for (;;) {
		why = (struct error){ 0 };
		if (!check(a, obj, &is, &why) && is)
			return 0;
		if (why.kind && !is_transient(&why)) {
			*err = why;
			return -1;
		}
		if (clock_ms() - start >= a->timeout_ms)
			return error_set(err, ERR_TIMEOUT, "%s: not %s within %lld s%s%s",
					 meta_title(&arena, obj), what,
					 (long long)(a->timeout_ms / 1000),
					 why.kind ? ": " : "", why.msg);
		if (!reported && clock_ms() - start >= REPORT_MS) {
			reporter_line(&a->out->notes, "%s: not %s yet%s%s; waiting",
				      meta_title(&arena, obj), what, why.kind ? ": " : "",
				      why.msg);
			reported = true;
		}
		if (stop_wait(POLL_MS))
			return error_set(err, ERR_STOPPED, "interrupted");
	}
}

/* *ret: the stored object, or NULL if there is none. */
static int get(struct applying *a, const cJSON *obj, cJSON **ret, struct error *err)
{
	const struct kube_ref ref = kube_ref_of(obj);
	struct error why = { 0 };

	*ret = NULL;
	if (!kube_get(a->kube, &ref, ret, &why) || why.kind == ERR_NOT_FOUND)
		return 0;
	*err = why;
	return -1;
}

static int check_established(struct applying *a, const cJSON *obj, bool *ret_is,
			     struct error *err)
{
	cleanup_json cJSON *now = NULL;

	if (get(a, obj, &now, err))
		return -1;
	*ret_is = manifests_crd_established(now);
	return 0;
}

static int check_gone(struct applying *a, const cJSON *obj, bool *ret_is,
		      struct error *err)
{
	cleanup_json cJSON *now = NULL;

	if (get(a, obj, &now, err))
		return -1;
	*ret_is = !now;
	return 0;
}

static int check_done(struct applying *a, const cJSON *obj, bool *ret_is,
		      struct error *err)
{
	cleanup_json cJSON *now = NULL;

	if (get(a, obj, &now, err))
		return -1;
	*ret_is = manifests_deployment_done(now);
	return 0;
}

/* Create a runtime as a dry run: the webhooks answer if they accept or deny it. */
static int check_answers(struct applying *a, const cJSON *obj, bool *ret_is,
			 struct error *err)
{
	const struct kube_write how = { .manager = FIELD_MANAGER, .dry_run = true };
	struct error why = { 0 };

	if (!kube_create(a->kube, obj, &how, NULL, &why) ||
	    (why.kind == ERR_INVALID && why.code == HTTP_FORBIDDEN)) {
		*ret_is = true;
		return 0;
	}
	*err = why;
	return -1;
}

static bool is_config(const cJSON *obj)
{
	return str_eq(meta_kind(obj), "ConfigMap") &&
	       str_eq(meta_name(obj), INSTALL_CONFIG);
}

/*
 * Wait until an object that is being deleted is gone, and delete a Deployment whose
 * selector differs, which is immutable. Then *before is NULL.
 */
static int delete_if_immutable(struct applying *a, const cJSON *obj, cJSON **before,
			       struct error *err)
{
	const struct kube_ref ref = kube_ref_of(obj);

	if (!*before)
		return 0;
	if (!meta_is_deleted(*before)) {
		if (!str_eq(meta_kind(obj), "Deployment") ||
		    json_equal(manifests_pod_selector(*before),
			       manifests_pod_selector(obj)))
			return 0;
		outcome_report(
			a->out, obj,
			"deleted: its pod selector is different and cannot be changed");
		if (kube_delete(a->kube, &ref, "Foreground", meta_uid(*before), err))
			return -1;
	}
	if (wait_for(a, obj, "gone", check_gone, err))
		return -1;
	cJSON_Delete(*before);
	*before = NULL;
	return 0;
}

static void report_helm(struct applying *a, const cJSON *before)
{
	const char *release = meta_annotation(before, HELM_RELEASE);

	if (a->helm_reported || !release ||
	    !str_eq(meta_label(before, INSTALL_MANAGED_BY), "Helm"))
		return;
	reporter_line(&a->out->notes,
		      "taking over objects of the Helm release %s, which may "
		      "revert the changes",
		      release);
	a->helm_reported = true;
}

static int apply(struct applying *a, const cJSON *obj, bool *ret_is, struct error *err)
{
	const struct kube_write how = { .manager = FIELD_MANAGER,
					.force = !is_config(obj) };
	cleanup_json cJSON *before = NULL, *after = NULL;
	struct error why = { 0 };

	if (get(a, obj, &before, err) || delete_if_immutable(a, obj, &before, err))
		return -1;
	report_helm(a, before);
	*ret_is = true;
	if (!kube_apply(a->kube, obj, &how, &after, &why)) {
		outcome_report(a->out, obj, outcome_of(before, after));
		return 0;
	}
	if (why.kind == ERR_CONFLICT && !how.force) {
		outcome_report(a->out, obj, "unchanged: managed by another writer");
		return 0;
	}
	*err = why;
	return -1;
}

static int wait_until_served(struct applying *a, const cJSON *list, struct error *err)
{
	const cJSON *obj;

	json_each(obj, list)
		if (str_eq(meta_kind(obj), CRD_KIND) &&
		    wait_for(a, obj, "established", check_established, err))
			return -1;
	return 0;
}

/* The message why a pod does not run, from its status, or NULL. */
static const char *pod_cause(struct arena *arena, const cJSON *pod)
{
	const cJSON *status = json_get(pod, "status"), *c, *why;

	c = json_find_const(json_get(status, "conditions"), "type", "PodScheduled");
	if (str_eq(json_str(c, "status"), "False") && json_str(c, "message"))
		return arena_strdup(arena, json_str(c, "message"));
	json_each(c, json_get(status, "containerStatuses")) {
		why = json_get(c, "state", "waiting");
		if (json_str(why, "message"))
			return arena_printf(arena, "%s: %s", json_str(why, "reason"),
					    json_str(why, "message"));
	}
	return NULL;
}

struct pod_causes {
	struct arena arena;
	const char *why;
};

static int find_cause(void *ctx, cJSON *take_pod, struct error *err)
{
	cleanup_json cJSON *pod = take_pod;
	struct pod_causes *t = ctx;

	if (!t->why)
		t->why = pod_cause(&t->arena, pod);
	return 0;
}

/* Why a Deployment has no pods: a quota, Pod Security, a policy; or NULL. */
static const char *refusal_of_pods(struct applying *a, const cJSON *deployment,
				   struct arena *arena)
{
	cleanup_json cJSON *now = NULL;
	const cJSON *c;

	if (get(a, deployment, &now, IGNORED))
		return NULL;
	c = json_find_const(json_get(now, "status", "conditions"), "type",
			    "ReplicaFailure");
	return str_eq(json_str(c, "status"), "True") && json_str(c, "message")
		       ? arena_strdup(arena, json_str(c, "message"))
		       : NULL;
}

/* After a timeout, append the reason that the controller's pods have. Always -1. */
static int explain(struct applying *a, const cJSON *deployment, struct error *err)
{
	const struct kube_ref pods = { .api_version = "v1",
				       .kind = "Pod",
				       .ns = meta_namespace(deployment) };
	const struct kube_select select = {
		.label_selector = INSTALL_PART_OF
		"=kubeflow,app.kubernetes.io/name=trainer,app.kubernetes.io/component=manager"
	};
	struct pod_causes t = { 0 };
	const struct kube_sink sink = { .on_item = find_cause, .ctx = &t };
	enum error_kind kind = err->kind;

	if (kind == ERR_TIMEOUT &&
	    !kube_list(a->kube, &pods, &select, &sink, NULL, IGNORED) && !t.why)
		t.why = refusal_of_pods(a, deployment, &t.arena);
	if (t.why)
		error_set(err, kind, "%s: %s", arena_strdup(&t.arena, err->msg), t.why);
	arena_clear(&t.arena);
	return -1;
}

static int wait_until_ready(struct applying *a, const cJSON *list, struct error *err)
{
	cleanup_json cJSON *probe = meta_new(TRAINER_API_VERSION, CLUSTER_RUNTIME_KIND,
					     NULL, "kftrainer-install-probe");
	bool controller = false;
	const cJSON *obj;

	json_obj(probe, "spec", "mlPolicy");
	json_each(obj, list) {
		if (!str_eq(meta_kind(obj), "Deployment"))
			continue;
		controller = true;
		if (wait_for(a, obj, "available", check_done, err))
			return explain(a, obj, err);
		outcome_report(a->out, obj, "available");
	}
	if (!controller)
		return 0;
	if (wait_for(a, probe, "answered by the webhooks", check_answers, err))
		return -1;
	outcome_report(a->out, NULL, "the webhooks answer");
	return 0;
}

static void report_jobset(struct applying *a)
{
	bool served = true;

	if (!kube_serves(a->kube, JOBSET_API_VERSION, JOBSET_KIND, &served, IGNORED) &&
	    !served)
		reporter_line(&a->out->notes,
			      "JobSet is not installed in this cluster; TrainJobs need "
			      "it: https://jobset.sigs.k8s.io");
}

int install_apply(struct kube *k, const cJSON *list, const struct apply_opts *opts,
		  struct error *err)
{
	struct applying a = { .kube = k,
			      .out = &opts->out,
			      .timeout_ms = opts->timeout_ms };
	bool crds = false;
	const cJSON *obj;

	json_each(obj, list) {
		if (crds && !str_eq(meta_kind(obj), CRD_KIND)) {
			if (wait_until_served(&a, list, err))
				return -1;
			crds = false;
		}
		crds = crds || str_eq(meta_kind(obj), CRD_KIND);
		if (wait_for(&a, obj, "applied", apply, err))
			return -1;
	}
	if ((crds && wait_until_served(&a, list, err)) ||
	    (opts->wait && wait_until_ready(&a, list, err)))
		return -1;
	report_jobset(&a);
	return 0;
}
