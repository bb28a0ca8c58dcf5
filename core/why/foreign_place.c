/*
 * foreign_place.c - gangs and claims of pods, and whether a node accepts a pod
 * (why/foreign.h).
 *
 * Follows k8s.io/component-helpers/scheduling/corev1 (tolerations, nodeaffinity).
 */
#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "trainer/podcause.h"
#include "why/foreign.h"

#define YUNIKORN      "yunikorn.apache.org/"
#define KAI           "kai-scheduler"
#define VOLCANO_GROUP "scheduling.volcano.sh"

/* ---- gangs ---- */

const char *pod_native_group(const cJSON *pod)
{
	return json_str(pod, "spec", "schedulingGroup", "podGroupName");
}

const char *pod_kai_group(const cJSON *pod)
{
	return str_eq(pod_scheduler(pod), KAI) ? meta_annotation(pod, GROUP_KAI) : NULL;
}

bool pod_group_is_kai(const cJSON *podgroup)
{
	return str_eq(meta_api_version(podgroup), KAI_GROUP_VERSION);
}

const char *pod_group_kai_queue(const cJSON *podgroup)
{
	return pod_group_is_kai(podgroup) ? json_str(podgroup, "spec", "queue") : NULL;
}

bool pod_kai_queue_is_top(const cJSON *queue)
{
	return queue && !json_str(queue, "spec", "parentQueue");
}

const char *pod_group_volcano_queue(const cJSON *podgroup)
{
	const char *version = meta_api_version(podgroup);
	const char *queue = json_str(podgroup, "spec", "queue");

	if (!version || !str_starts(version, VOLCANO_GROUP "/"))
		return NULL;
	return queue && *queue ? queue : "default";
}

bool pod_group_is_pending(const cJSON *podgroup)
{
	return str_eq(json_str(podgroup, "status", "phase"), "Pending");
}

const char *pod_group_name(const cJSON *pod)
{
	const char *group = pod_native_group(pod);

	if (!group)
		group = pod_kai_group(pod);
	if (!group)
		group = meta_label(pod, "scheduling.x-k8s.io/pod-group");
	return group ? group : meta_annotation(pod, GROUP_VOLCANO);
}

const char *pod_task_group(const cJSON *pod)
{
	return str_eq(pod_scheduler(pod), "yunikorn")
		       ? meta_annotation(pod, GROUP_YUNIKORN)
		       : NULL;
}

int64_t pod_task_group_min(const cJSON *pod)
{
	const char *text = meta_annotation(pod, YUNIKORN "task-groups");
	cleanup_json cJSON *groups = NULL;
	const cJSON *group;
	int64_t n = 0;

	if (!text || json_parse(&groups, text, strlen(text), IGNORED))
		return 0;
	json_each(group, groups)
		n += json_int(group, 0, "minMember");
	return n;
}

const char *pod_queue(const cJSON *pod)
{
	const char *queue = meta_label(pod, YUNIKORN "queue");

	queue = queue ? queue : meta_label(pod, "queue");
	return queue ? queue : "";
}

bool pod_is_rejected(const cJSON *pod)
{
	return str_eq(json_str(pod, "status", "reason"), "ApplicationRejected");
}

const char *pod_message(const cJSON *pod)
{
	const char *message = json_str(pod, "status", "message");

	return message ? message : "";
}

bool pod_is_placeholder(const cJSON *pod, const cJSON *trainjob)
{
	return meta_uid(trainjob) && !meta_label(pod, POD_JOBSET_LABEL) &&
	       str_eq(meta_label(pod, YUNIKORN_APP), meta_uid(trainjob));
}

/* ---- claims of devices ---- */

const cJSON *pod_device_claims(const cJSON *pod)
{
	return json_get(pod, "spec", "resourceClaims");
}

const char *claim_template(const cJSON *claim)
{
	return json_str(claim, "resourceClaimTemplateName");
}

const char *pod_device_claim(const cJSON *pod, const cJSON *claim)
{
	const char *given = json_str(claim, "resourceClaimName");
	const cJSON *made =
		json_find_const(json_get(pod, "status", "resourceClaimStatuses"), "name",
				json_str(claim, "name"));

	return given ? given : json_str(made, "resourceClaimName");
}

const cJSON *pod_devices(const cJSON *pod)
{
	return json_get(pod, "devices");
}

/* ---- taints ---- */

static bool is_empty(const char *s)
{
	return !s || !*s;
}

static bool tolerates(const cJSON *toleration, const cJSON *taint)
{
	const char *key = json_str(toleration, "key");
	const char *effect = json_str(toleration, "effect");
	const char *value = json_str(toleration, "value");
	const char *of_taint = json_str(taint, "value");

	if (!is_empty(effect) && !str_eq(effect, json_str(taint, "effect")))
		return false;
	if (!is_empty(key) && !str_eq(key, json_str(taint, "key")))
		return false;
	if (str_eq(json_str(toleration, "operator"), "Exists"))
		return true;
	return !is_empty(key) && str_eq(value ? value : "", of_taint ? of_taint : "");
}

static bool is_tolerated(const cJSON *pod, const cJSON *taint)
{
	const cJSON *t;

	if (str_eq(json_str(taint, "effect"), "PreferNoSchedule"))
		return true;
	json_each(t, json_get(pod, "spec", "tolerations"))
		if (tolerates(t, taint))
			return true;
	return false;
}

/* ---- labels ---- */

static bool is_among(const cJSON *values, const char *value)
{
	const cJSON *v;

	json_each(v, values)
		if (str_eq(v->valuestring, value))
			return true;
	return false;
}

static bool is_beyond(const cJSON *values, const char *value, bool greater)
{
	const char *bound = values && values->child ? values->child->valuestring : NULL;
	int64_t a, b;

	if (!value || !bound || str_int(&a, value, INT64_MIN, INT64_MAX, IGNORED) ||
	    str_int(&b, bound, INT64_MIN, INT64_MAX, IGNORED))
		return false;
	return greater ? a > b : a < b;
}

static bool meets(const cJSON *expression, const char *value)
{
	const char *how = json_str(expression, "operator");
	const cJSON *values = json_get(expression, "values");

	if (str_eq(how, "In"))
		return value && is_among(values, value);
	if (str_eq(how, "NotIn"))
		return !value || !is_among(values, value);
	if (str_eq(how, "Exists"))
		return value;
	if (str_eq(how, "DoesNotExist"))
		return !value;
	return is_beyond(values, value, str_eq(how, "Gt"));
}

static bool meets_term(const cJSON *term, const cJSON *node)
{
	const cJSON *labels = json_get(term, "matchExpressions"), *e;
	const cJSON *fields = json_get(term, "matchFields");

	json_each(e, labels)
		if (!meets(e, meta_label(node, json_str(e, "key"))))
			return false;
	json_each(e, fields)
		if (!meets(e, meta_name(node)))
			return false;
	return (labels && labels->child) || (fields && fields->child);
}

static bool has_affinity(const cJSON *pod, const cJSON *node)
{
	const cJSON *terms = json_get(pod, "spec", "affinity", "nodeAffinity",
				      "requiredDuringSchedulingIgnoredDuringExecution",
				      "nodeSelectorTerms");
	const cJSON *term;

	json_each(term, terms)
		if (meets_term(term, node))
			return true;
	return !terms;
}

const char *node_rejection(const cJSON *node, const cJSON *pod)
{
	const cJSON *taint, *label;

	json_each(label, pod_node_selector(pod))
		if (!str_eq(meta_label(node, label->string), label->valuestring))
			return NODE_SELECTOR;
	if (!has_affinity(pod, node))
		return NODE_AFFINITY;
	json_each(taint, json_get(node, "spec", "taints"))
		if (!is_tolerated(pod, taint))
			return NODE_TAINTS;
	return NULL;
}
