/*
 * foreign.h - fields of objects that other controllers write, as far as a person who
 * asks about a TrainJob needs them; observed.c is the only file with their keys.
 *
 * Times are seconds since 1970, or -1. Sources: core/v1 Event, Node,
 * PersistentVolumeClaim; batch/v1 Job; scheduling.x-k8s.io and scheduling.volcano.sh
 * PodGroup; kueue.x-k8s.io Workload and LocalQueue; coordination.k8s.io Lease; apps/v1
 * Deployment.
 */
#ifndef WHY_FOREIGN_H
#define WHY_FOREIGN_H

#include "api/quantity.h"

int64_t time_of(const char *text); /* RFC 3339, or NULL */

/* A condition of any object: its status is that value. NULL: not there, or another. */
const cJSON *condition_with(const cJSON *obj, const char *type, const char *status);
const char *condition_message(const cJSON *condition); /* "" when absent */
const char *condition_reason(const cJSON *condition);  /* likewise */
int64_t condition_since(const cJSON *condition);

bool event_is_warning(const cJSON *event);
const char *event_reason(const cJSON *event);  /* "" */
const char *event_message(const cJSON *event); /* "" */
const char *event_kind(const cJSON *event);    /* of the object: "Pod"; "" */
const char *event_object(const cJSON *event);  /* its name; "" */
const char *event_uid(const cJSON *event);     /* its uid, or NULL */
int64_t event_last(const cJSON *event);        /* when it was seen last */

int64_t job_active(const cJSON *job);
int64_t job_ended(const cJSON *job); /* pods that succeeded or failed */
const cJSON *job_spec(const cJSON *job);
bool job_is_suspended(const cJSON *job);

/* What a pod refers to by name: claims, and its scheduler ("default-scheduler"). */
const char *volume_claim(const cJSON *volume); /* or NULL */
const cJSON *pod_volumes(const cJSON *pod);
const char *pod_scheduler(const cJSON *pod);
const cJSON *pod_spec_of(const cJSON *pod);
int64_t pod_last_ran(const cJSON *pod); /* when a container last started or ended; -1 */
const cJSON *pod_node_selector(const cJSON *pod);
const char *pod_group_of(const cJSON *pod); /* the PodGroup it is of, or NULL */
/*
 * Of YuniKorn: the task group it is of, or NULL; how many pods of all groups start
 * together; the queue; and whether it reserves room for one of them.
 */
#define GROUP_VOLCANO  "scheduling.k8s.io/group-name" /* annotations */
#define GROUP_YUNIKORN "yunikorn.apache.org/task-group-name"
#define YUNIKORN_APP   "yunikorn.apache.org/app-id" /* a label */
const char *pod_task_group(const cJSON *pod);
int64_t task_group_min(const cJSON *pod);
const char *pod_queue(const cJSON *pod); /* "" */
/* It did not accept the pod's application: pod_message() says why. */
bool pod_is_rejected(const cJSON *pod);
const char *pod_message(const cJSON *pod); /* "" */
bool pod_is_placeholder(const cJSON *pod, const cJSON *trainjob);
/* DRA: its claims, and the name of the claim that was made of one, or NULL. */
const cJSON *pod_device_claims(const cJSON *pod);
const char *pod_device_claim(const cJSON *pod, const cJSON *claim);
const char *claim_template(const cJSON *claim); /* of an element; or NULL */
/* Ours: devices that it claims, as resources: {"devices of class gpu": "2"}; or NULL. */
const cJSON *pod_devices(const cJSON *pod);
void pod_add_devices(cJSON *pod, const char *resource, int64_t n);
/*
 * Was it made before the TrainJob, and so for another of the same name that has been
 * deleted? Labels tell no more than the name.
 */
bool is_former(const cJSON *pod_or_job, const cJSON *trainjob);
/* Leave what why.c may need; of a pod that is well, who and where it is. */
void pod_slim(cJSON *pod);

bool node_is_ready(const cJSON *node);
bool node_is_closed(const cJSON *node); /* cordoned */
/* Of one resource: what pods may have, and what they have (node_use()). */
bool node_has(const cJSON *node, const char *resource, struct quantity *ret_all,
	      struct quantity *ret_used);
/* Adds what a pod on it asks for. */
void node_use(cJSON *node, const cJSON *pod);
/* More of a resource that is counted elsewhere, to have or used. */
void node_add(cJSON *node, const char *resource, int64_t n, bool used);
void node_slim(cJSON *node);
/* Why it takes no such pod: one of these; NULL: it does. */
#define NODE_SELECTOR "node selector"
#define NODE_AFFINITY "node affinity"
#define NODE_TAINTS   "taints"
const char *node_refuses(const cJSON *node, const cJSON *pod);

const char *claim_phase(const cJSON *claim); /* "" */
const char *claim_class(const cJSON *claim); /* storageClassName, or NULL */

int64_t group_min_member(const cJSON *podgroup);

const char *workload_queue(const cJSON *workload); /* "" */
bool workload_is_active(const cJSON *workload);    /* spec.active */
bool workload_waits(const cJSON *workload);        /* no quota yet, and not finished */
int64_t workload_priority(const cJSON *workload);
const char *workload_cluster(const cJSON *workload); /* of MultiKueue, or NULL */
/*
 * The level that the first pod set with a topology request names, "example.com/rack", and
 * the end of that annotation's key, "required-topology"; NULL: none asks for one.
 */
const char *workload_topology(const cJSON *workload, const char **ret_request);
const cJSON *workload_checks(
	const cJSON *workload); /* admissionChecks: name, state, message */
const char *queue_cluster_queue(const cJSON *queue); /* "" */
/* Of a PendingWorkloadsSummary: the place of that Workload, from 0; -1. */
int64_t pending_place(const cJSON *summary, const char *workload, bool in_cluster_queue);
int64_t pending_count(const cJSON *summary);

int64_t lease_renewed(const cJSON *lease);
const char *lease_holder(const cJSON *lease); /* "" */
int64_t lease_seconds(const cJSON *lease);
int64_t deployment_available(const cJSON *deployment);

#endif
