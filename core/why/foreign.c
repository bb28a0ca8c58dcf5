/* foreign.c - the parts of cluster objects that `why` reads (why/foreign.h). */
#include "why/foreign.h"

#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "trainer/podcause.h"
#include "trainer/requests.h"

static const char *or_empty(const char *s)
{
	return s ? s : "";
}

int64_t foreign_time(const char *text)
{
	int64_t t;

	return text && !time_parse(&t, text, IGNORED) ? t : -1;
}

/* ---- conditions ---- */

const cJSON *condition_with(const cJSON *obj, const char *type, const char *status)
{
	const cJSON *c =
		json_find_const(json_get(obj, "status", "conditions"), "type", type);

	return c && str_eq(json_str(c, "status"), status) ? c : NULL;
}

const char *condition_message(const cJSON *condition)
{
	return or_empty(json_str(condition, "message"));
}

const char *condition_reason(const cJSON *condition)
{
	return or_empty(json_str(condition, "reason"));
}

int64_t condition_since(const cJSON *condition)
{
	return foreign_time(json_str(condition, "lastTransitionTime"));
}

/* ---- events ---- */

bool event_is_warning(const cJSON *event)
{
	return str_eq(json_str(event, "type"), "Warning");
}

const char *event_reason(const cJSON *event)
{
	return or_empty(json_str(event, "reason"));
}

const char *event_message(const cJSON *event)
{
	return or_empty(json_str(event, "message"));
}

const char *event_kind(const cJSON *event)
{
	return or_empty(json_str(event, "involvedObject", "kind"));
}

const char *event_object(const cJSON *event)
{
	return or_empty(json_str(event, "involvedObject", "name"));
}

const char *event_uid(const cJSON *event)
{
	return json_str(event, "involvedObject", "uid");
}

/* Events of events.k8s.io/v1 have other times than those of core/v1. */
int64_t event_last(const cJSON *event)
{
	const char *const times[] = {
		json_str(event, "series", "lastObservedTime"),
		json_str(event, "lastTimestamp"),
		json_str(event, "eventTime"),
		json_str(event, "firstTimestamp"),
		meta_created(event),
	};

	for (size_t i = 0; i < N_ELEMENTS(times); i++)
		if (foreign_time(times[i]) >= 0)
			return foreign_time(times[i]);
	return -1;
}

const char *event_component(const cJSON *event)
{
	const char *old = json_str(event, "source", "component");

	return old && *old ? old : or_empty(json_str(event, "reportingComponent"));
}

/* ---- containers ---- */

bool container_runs(const cJSON *status)
{
	return json_get(status, "state", "running") != NULL;
}

const cJSON *container_end(const cJSON *status)
{
	return json_get(status, "state", "terminated");
}

int64_t container_ended(const cJSON *end)
{
	return foreign_time(json_str(end, "finishedAt"));
}

int64_t container_exit_code(const cJSON *end)
{
	return json_int(end, 0, "exitCode");
}

static int64_t newest_of(const cJSON *state)
{
	const char *const times[] = {
		json_str(state, "running", "startedAt"),
		json_str(state, "terminated", "startedAt"),
		json_str(state, "terminated", "finishedAt"),
	};
	int64_t ret = -1;

	for (size_t i = 0; i < N_ELEMENTS(times); i++)
		if (foreign_time(times[i]) > ret)
			ret = foreign_time(times[i]);
	return ret;
}

int64_t pod_last_ran(const cJSON *pod)
{
	static const char *const lists[] = { "initContainerStatuses",
					     "containerStatuses" };
	static const char *const states[] = { "state", "lastState" };
	const cJSON *c;
	int64_t ret = -1, at;

	for (size_t i = 0; i < 4; i++)
		json_each(c, json_get(pod, "status", lists[i / 2])) {
			at = newest_of(json_get(c, states[i % 2]));
			ret = at > ret ? at : ret;
		}
	return ret;
}

/* ---- Jobs ---- */

int64_t job_active(const cJSON *job)
{
	return json_int(job, 0, "status", "active");
}

int64_t job_ended(const cJSON *job)
{
	return json_int(job, 0, "status", "succeeded") +
	       json_int(job, 0, "status", "failed");
}

const cJSON *job_spec(const cJSON *job)
{
	return json_get(job, "spec");
}

bool job_is_suspended(const cJSON *job)
{
	return json_bool(job, false, "spec", "suspend");
}

/* ---- pods ---- */

enum { CLOCKS_DIFFER_SECONDS = 2 }; /* several API servers set creationTimestamp */

bool foreign_is_former(const cJSON *pod_or_job, const cJSON *trainjob)
{
	int64_t made = foreign_time(meta_created(pod_or_job));
	int64_t begun = foreign_time(meta_created(trainjob));

	return made >= 0 && begun >= 0 && made + CLOCKS_DIFFER_SECONDS < begun;
}

const char *foreign_volume_claim(const cJSON *volume)
{
	return json_str(volume, "persistentVolumeClaim", "claimName");
}

const cJSON *pod_volumes(const cJSON *pod)
{
	return json_get(pod, "spec", "volumes");
}

const char *pod_scheduler(const cJSON *pod)
{
	const char *name = json_str(pod, "spec", "schedulerName");

	return name ? name : "default-scheduler";
}

const cJSON *pod_spec_of(const cJSON *pod)
{
	return json_get(pod, "spec");
}

const cJSON *pod_gates(const cJSON *pod)
{
	return json_get(pod, "spec", "schedulingGates");
}

int64_t pod_gone_by(const cJSON *pod, int64_t *ret_since)
{
	const cJSON *meta = json_get(pod, "metadata");
	int64_t by = foreign_time(json_str(meta, "deletionTimestamp"));

	*ret_since = by - json_int(meta, 0, "deletionGracePeriodSeconds");
	return by;
}

const cJSON *pod_node_selector(const cJSON *pod)
{
	return json_get(pod, "spec", "nodeSelector");
}

/* Remove the other members. */
static void keep_only(cJSON *obj, const char *const *keys)
{
	cJSON *next;

	for (cJSON *c = obj ? obj->child : NULL; c; c = next) {
		next = c->next;
		if (!str_in(c->string, keys))
			cJSON_Delete(cJSON_DetachItemViaPointer(obj, c));
	}
}

static void slim_containers(cJSON *list)
{
	static const char *const keys[] = { "name", "image", "resources", "restartPolicy",
					    NULL };
	cJSON *c;

	json_each(c, list)
		keep_only(c, keys);
}

/* Containers of a pod with nothing wrong: since when they run, or how they ended. */
static void slim_statuses(cJSON *list)
{
	static const char *const keys[] = { "name", "restartCount", "state", "lastState",
					    NULL };
	cJSON *c;

	json_each(c, list)
		keep_only(c, keys);
}

/* The only annotations that are left of a pod with nothing wrong. */
static const char *const group_annotations[] = { GROUP_VOLCANO, GROUP_YUNIKORN, GROUP_KAI,
						 NULL };

static void slim_metadata(cJSON *obj)
{
	static const char *const keys[] = { "name",
					    "namespace",
					    "uid",
					    "labels",
					    "annotations",
					    "creationTimestamp",
					    "deletionTimestamp",
					    "deletionGracePeriodSeconds",
					    "ownerReferences",
					    "finalizers",
					    NULL };

	keep_only(json_get(obj, "metadata"), keys);
}

static bool is_well(const cJSON *pod)
{
	struct pod_fact_list facts;

	pod_facts_of(pod, &facts);
	return str_eq(pod_phase(pod), "Succeeded") ||
	       (!facts.n && pod_is_ready(pod) && !meta_is_deleted(pod));
}

void pod_slim(cJSON *pod)
{
	static const char *const spec[] = { "nodeName",        "schedulerName",
					    "containers",      "initContainers",
					    "volumes",         "overhead",
					    "nodeSelector",    "resources",
					    "tolerations",     "affinity",
					    "resourceClaims",  "schedulingGroup",
					    "schedulingGates", NULL };
	static const char *const where[] = { "nodeName", "schedulerName",
					     "schedulingGroup", NULL };
	static const char *const status[] = { "phase", "conditions", "containerStatuses",
					      NULL };

	slim_metadata(pod);
	slim_containers(json_get(pod, "spec", "containers"));
	slim_containers(json_get(pod, "spec", "initContainers"));
	if (!is_well(pod)) {
		keep_only(json_get(pod, "spec"), spec);
		return;
	}
	keep_only(json_get(pod, "spec"), where);
	keep_only(json_get(pod, "status"), status);
	slim_statuses(json_get(pod, "status", "containerStatuses"));
	keep_only(json_get(pod, "metadata", "annotations"), group_annotations);
}

/* ---- nodes ---- */

#define USED "used" /* our own member of a node: the sum of its pods' requests */

bool node_is_ready(const cJSON *node)
{
	return condition_with(node, "Ready", "True") != NULL;
}

bool node_is_closed(const cJSON *node)
{
	return json_bool(node, false, "spec", "unschedulable");
}

bool node_has(const cJSON *node, const char *resource, struct quantity *ret_all,
	      struct quantity *ret_used)
{
	const cJSON *all = json_get(node, "status", "allocatable", resource);
	const cJSON *used = json_get(node, USED, resource);

	*ret_used = (struct quantity){ 0 };
	if (!all || quantity_of(ret_all, all, IGNORED))
		return false;
	if (used && quantity_of(ret_used, used, IGNORED))
		return false;
	return true;
}

static void add_used(cJSON *node, const char *resource, const struct quantity *more)
{
	const cJSON *old = json_get(node, USED, resource);
	char text[QUANTITY_TEXT_SIZE];
	struct quantity sum = { 0 };

	if (old && quantity_of(&sum, old, IGNORED))
		return;
	quantity_add(&sum, more);
	json_put_str(node, quantity_text(&sum, text), USED, resource);
}

void node_add_pod(cJSON *node, const cJSON *pod)
{
	static const struct quantity one = { .nano = 1000000000 };
	cleanup_resource_list struct resource_list list = { 0 };

	if (pod_requests_add(&list, json_get(pod, "spec"), 1, IGNORED))
		return;
	for (size_t i = 0; i < list.n; i++)
		add_used(node, list.list[i].name, &list.list[i].amount);
	add_used(node, "pods", &one);
}

static void node_forget(cJSON *node, const char *prefix, bool used)
{
	cJSON *counts =
		used ? json_get(node, USED) : json_get(node, "status", "allocatable");
	cJSON *next;

	for (cJSON *n = counts ? counts->child : NULL; n; n = next) {
		next = n->next;
		if (str_starts(n->string, prefix))
			cJSON_Delete(cJSON_DetachItemViaPointer(counts, n));
	}
}

void nodes_forget(cJSON *nodes, const char *prefix, bool used)
{
	cJSON *node;

	json_each(node, nodes)
		node_forget(node, prefix, used);
}

void node_slim(cJSON *node)
{
	static const char *const keys[] = { "conditions", "allocatable", NULL };

	slim_metadata(node);
	json_del(node, JSON_PATH("metadata", "annotations"));
	keep_only(json_get(node, "status"), keys);
}

void node_add(cJSON *node, const char *resource, int64_t n, bool used)
{
	cJSON *all = json_obj(json_obj(node, "status"), "allocatable");
	struct quantity more = { .nano = (__int128)n * 1000000000 };

	if (used)
		add_used(node, resource, &more);
	else
		json_put_int(all, json_int(all, 0, resource) + n, resource);
}

void pod_add_devices(cJSON *pod, const char *resource, int64_t n)
{
	cJSON *devices = json_obj(pod, "devices");

	json_put_int(devices, json_int(devices, 0, resource) + n, resource);
}

/* ---- claims, groups ---- */

const char *claim_phase(const cJSON *claim)
{
	return or_empty(json_str(claim, "status", "phase"));
}

const char *claim_class(const cJSON *claim)
{
	return json_str(claim, "spec", "storageClassName");
}

int64_t foreign_group_min_member(const cJSON *podgroup)
{
	return json_int(
		podgroup,
		json_int(podgroup, 0, "spec", "schedulingPolicy", "gang", "minCount"),
		"spec", "minMember");
}

const char *foreign_group_topology(const cJSON *podgroup)
{
	const cJSON *keys =
		json_get(podgroup, "spec", "schedulingConstraints", "topology");

	return keys ? json_str(keys->child, "key") : NULL;
}

/* ---- Kueue ---- */

const char *workload_queue(const cJSON *workload)
{
	return or_empty(json_str(workload, "spec", "queueName"));
}

bool workload_is_active(const cJSON *workload)
{
	return json_bool(workload, true, "spec", "active");
}

bool workload_waits(const cJSON *workload)
{
	return !condition_with(workload, "QuotaReserved", "True") &&
	       !condition_with(workload, "Finished", "True");
}

int64_t workload_priority(const cJSON *workload)
{
	return json_int(workload, 0, "spec", "priority");
}

const char *workload_cluster(const cJSON *workload)
{
	const char *cluster = json_str(workload, "status", "clusterName");

	return cluster && *cluster ? cluster : NULL;
}

int64_t workload_requeued_at(const cJSON *workload)
{
	return foreign_time(json_str(workload, "status", "requeueState", "requeueAt"));
}

int64_t workload_requeues(const cJSON *workload)
{
	return json_int(workload, 0, "status", "requeueState", "count");
}

const char *workload_topology(const cJSON *workload, const char **ret_request)
{
	static const struct {
		const char *field, *request;
	} requests[] = {
		{ "required", "required-topology" },
		{ "preferred", "preferred-topology" },
		{ "podSetSliceRequiredTopology", "slice-required-topology" },
	};
	const cJSON *set;

	json_each(set, json_get(workload, "spec", "podSets"))
		for (size_t i = 0; i < N_ELEMENTS(requests); i++) {
			*ret_request = requests[i].request;
			if (json_str(set, "topologyRequest", requests[i].field))
				return json_str(set, "topologyRequest",
						requests[i].field);
		}
	return NULL;
}

const cJSON *workload_checks(const cJSON *workload)
{
	return json_get(workload, "status", "admissionChecks");
}

const char *queue_cluster_queue(const cJSON *queue)
{
	return or_empty(json_str(queue, "spec", "clusterQueue"));
}

int64_t workload_pending_position(const cJSON *summary, const char *workload,
				  bool in_cluster_queue)
{
	const cJSON *item;

	json_each(item, json_get(summary, "items"))
		if (str_eq(meta_name(item), workload))
			return json_int(item, -1,
					in_cluster_queue ? "positionInClusterQueue"
							 : "positionInLocalQueue");
	return -1;
}

int64_t workload_pending_count(const cJSON *summary)
{
	return cJSON_GetArraySize(json_get(summary, "items"));
}

/* ---- controllers ---- */

int64_t lease_renewed(const cJSON *lease)
{
	return foreign_time(json_str(lease, "spec", "renewTime"));
}

const char *lease_holder(const cJSON *lease)
{
	return or_empty(json_str(lease, "spec", "holderIdentity"));
}

int64_t lease_seconds(const cJSON *lease)
{
	return json_int(lease, 15, "spec", "leaseDurationSeconds");
}

int64_t foreign_deployment_available(const cJSON *deployment)
{
	return json_int(deployment, 0, "status", "availableReplicas");
}
