/*
 * foreign.h - fields of objects that other controllers write, as far as `why` and `get`
 * need them; foreign.c and foreign_place.c are the only files with their keys.
 *
 * Times are seconds since 1970, or -1. A NULL object reads as one without fields, unless
 * the function changes it; results are owned by the object. Sources: core/v1 Event, Node,
 * PersistentVolumeClaim; batch/v1 Job; scheduling.x-k8s.io and scheduling.volcano.sh
 * PodGroup; kueue.x-k8s.io Workload and LocalQueue; coordination.k8s.io Lease; apps/v1
 * Deployment.
 */
#ifndef WHY_FOREIGN_H
#define WHY_FOREIGN_H

#include "api/quantity.h"

int64_t foreign_time(const char *text); /* of RFC 3339; -1: NULL or invalid */

/* The condition of that type, if it has that status ("True"); else NULL. */
const cJSON *condition_with(const cJSON *obj, const char *type, const char *status);
const char *condition_message(const cJSON *condition); /* "" when absent */
const char *condition_reason(const cJSON *condition);  /* "" when absent */
int64_t condition_since(const cJSON *condition);

bool event_is_warning(const cJSON *event);
const char *event_reason(const cJSON *event);    /* "" */
const char *event_message(const cJSON *event);   /* "" */
const char *event_kind(const cJSON *event);      /* of involvedObject: "Pod"; "" */
const char *event_object(const cJSON *event);    /* involvedObject's name; "" */
const char *event_uid(const cJSON *event);       /* involvedObject's uid, or NULL */
int64_t event_last(const cJSON *event);          /* the last occurrence */
const char *event_component(const cJSON *event); /* that reported it: "kubelet"; "" */

int64_t job_active(const cJSON *job);
int64_t job_ended(const cJSON *job); /* pods that succeeded or failed */
const cJSON *job_spec(const cJSON *job);
bool job_is_suspended(const cJSON *job);

const char *foreign_volume_claim(
	const cJSON *volume); /* its PersistentVolumeClaim, or NULL */
const cJSON *pod_volumes(const cJSON *pod);
const char *pod_scheduler(const cJSON *pod); /* "default-scheduler" when absent */
const cJSON *pod_spec_of(const cJSON *pod);
const cJSON *pod_gates(const cJSON *pod); /* spec.schedulingGates */
/* `status`: a result of pod_container_status(). */
bool container_runs(const cJSON *status);
const cJSON *container_end(const cJSON *status); /* NULL: it has not ended */
int64_t container_ended(const cJSON *end);
int64_t container_exit_code(const cJSON *end);
int64_t pod_last_ran(const cJSON *pod); /* when a container last started or ended; -1 */
/* When a deleted pod's grace period ends, and (*ret_since) began. -1: unknown. */
int64_t pod_gone_by(const cJSON *pod, int64_t *ret_since);
const cJSON *pod_node_selector(const cJSON *pod);
const char *pod_group_name(const cJSON *pod);   /* the PodGroup of the pod, or NULL */
const char *pod_native_group(const cJSON *pod); /* the same, if it is Kubernetes' own */
const char *pod_kai_group(const cJSON *pod);    /* ... if it is KAI's */
#define KAI_GROUP_VERSION "scheduling.run.ai/v2alpha2"
#define KAI_QUEUE_VERSION "scheduling.run.ai/v2"
bool pod_group_is_kai(const cJSON *podgroup);
const char *pod_group_kai_queue(
	const cJSON *podgroup); /* NULL: it is not KAI's, or has none */
const char *pod_group_volcano_queue(const cJSON *podgroup); /* NULL: not Volcano's */
bool pod_group_is_pending(const cJSON *podgroup);           /* its phase */
bool pod_kai_queue_is_top(const cJSON *queue);              /* no parent: not for pods */
/*
 * YuniKorn: the pod's task group, or NULL (also if another scheduler places the pod); the
 * sum of minMember of all task groups, 0 if there are none; the queue.
 */
#define GROUP_VOLCANO  "scheduling.k8s.io/group-name" /* annotations */
#define GROUP_YUNIKORN "yunikorn.apache.org/task-group-name"
#define GROUP_KAI      "pod-group-name"
#define YUNIKORN_APP   "yunikorn.apache.org/app-id" /* a label */
const char *pod_task_group(const cJSON *pod);
int64_t pod_task_group_min(const cJSON *pod);
const char *pod_queue(const cJSON *pod); /* "" */
/* YuniKorn rejected the pod's application; pod_message() has the reason. */
bool pod_is_rejected(const cJSON *pod);
const char *pod_message(const cJSON *pod); /* "" */
/* YuniKorn created the pod to reserve resources for a pod of the TrainJob. */
bool pod_is_placeholder(const cJSON *pod, const cJSON *trainjob);
/* DRA: spec.resourceClaims; the name of an element's ResourceClaim, or NULL. */
const cJSON *pod_device_claims(const cJSON *pod);
const char *pod_device_claim(const cJSON *pod, const cJSON *claim);
const char *claim_template(const cJSON *claim); /* an element's template, or NULL */
/* Our own member of a pod, by pod_add_devices(): {"devices of DRIVER": 2}; or NULL. */
const cJSON *pod_devices(const cJSON *pod);
void pod_add_devices(cJSON *pod, const char *resource, int64_t n);
/*
 * Was the object created before the TrainJob, and so for a deleted TrainJob of the same
 * name? Labels have only the name. Tolerates clocks that differ by 2 s.
 */
bool foreign_is_former(const cJSON *pod_or_job, const cJSON *trainjob);
/* Removes fields that `why` does not read; more of them if the pod has no problem. */
void pod_slim(cJSON *pod);

bool node_is_ready(const cJSON *node);
bool node_is_closed(const cJSON *node); /* cordoned */
/*
 * A resource's allocatable quantity, and the sum of requests by node_add_pod(). False:
 * the node lacks the resource, or a quantity is invalid.
 */
bool node_has(const cJSON *node, const char *resource, struct quantity *ret_all,
	      struct quantity *ret_used);
/* Adds the requests of a pod on the node, and one pod; nothing if they are invalid. */
void node_add_pod(cJSON *node, const cJSON *pod);
/* Adds n of a resource that is not in requests: to the used ones, or to allocatable. */
void node_add(cJSON *node, const char *resource, int64_t n, bool used);
/* Removes from the nodes of the list those counts of resources with that prefix. */
void nodes_forget(cJSON *nodes, const char *prefix, bool used);
void node_slim(cJSON *node); /* removes fields that `why` does not read */
/* Why the node may not run the pod, whatever its resources: one of these, or NULL. */
#define NODE_SELECTOR "node selector"
#define NODE_AFFINITY "node affinity"
#define NODE_TAINTS   "taints"
const char *node_rejection(const cJSON *node, const cJSON *pod);

const char *claim_phase(const cJSON *claim); /* "" */
const char *claim_class(const cJSON *claim); /* storageClassName, or NULL */

int64_t foreign_group_min_member(const cJSON *podgroup);
/* The node label of which its pods must have one value, or NULL. */
const char *foreign_group_topology(const cJSON *podgroup);

const char *workload_queue(const cJSON *workload); /* "" */
bool workload_is_active(const cJSON *workload);    /* spec.active */
bool workload_waits(const cJSON *workload);        /* no quota reserved, not finished */
int64_t workload_priority(const cJSON *workload);
const char *workload_cluster(const cJSON *workload); /* MultiKueue's choice, or NULL */
int64_t workload_requeued_at(
	const cJSON *workload);                   /* the end of its back-off; -1: none */
int64_t workload_requeues(const cJSON *workload); /* how often it was queued again */
/*
 * The topology level that the first pod set with a topology request names,
 * "example.com/rack", and the end of the annotation's key, "required-topology". NULL: no
 * pod set has a topology request.
 */
const char *workload_topology(const cJSON *workload, const char **ret_request);
const cJSON *workload_checks(
	const cJSON *workload); /* admissionChecks: name, state, message */
const char *queue_cluster_queue(const cJSON *queue); /* "" */
/* PendingWorkloadsSummary: the position of that Workload, from 0; -1: it has none. */
int64_t workload_pending_position(const cJSON *summary, const char *workload,
				  bool in_cluster_queue);
int64_t workload_pending_count(const cJSON *summary);

int64_t lease_renewed(const cJSON *lease);
const char *lease_holder(const cJSON *lease); /* "" */
int64_t lease_seconds(const cJSON *lease);    /* leaseDurationSeconds; 15 when absent */
int64_t foreign_deployment_available(const cJSON *deployment);

#endif
