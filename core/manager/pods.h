/*
 * pods.h - events on a TrainJob about its pods.
 *
 * What explains a job that does not start or that failed becomes an event, with pod, node
 * rank, container and node in the message:
 *
 *     Unschedulable         the scheduler's words
 *     SchedulingGated       (Normal) it waits for its gates
 *     ImagePullFailed       the kubelet's words
 *     ContainerStartFailed  likewise: no such command, Secret, ConfigMap, ...
 *     OOMKilled             out of memory
 *     ContainerFailed       exit code or signal, restarts, the termination message
 *     PodDisrupted          evicted, preempted, its node gone
 *     PodFailed             the kubelet would not run it
 *
 * Pods with the same cause share one event, "8 pods, first ...", with their current
 * number. Pods that are being deleted do not fail; a finished job has no further events.
 */
#ifndef MANAGER_PODS_H
#define MANAGER_PODS_H

#include "kube/event.h"
#include "trainer/podcause.h"

struct pod_facts;

/* `trainjob` gives the TrainJob of that name as a document, the caller's, or NULL. */
struct pod_facts *pod_facts_new(struct event_recorder *events,
				cJSON *(*trainjob)(void *ctx, const char *ns,
						   const char *name),
				void *ctx);
void pod_facts_free(struct pod_facts *p);

/* A pod has changed, as informer_conf.on_event says it. */
void pod_facts_event(struct pod_facts *p, const cJSON *old, const cJSON *current);

/* The TrainJob has finished or was deleted: drop what is stored of its pods. */
void pod_facts_forget(struct pod_facts *p, const char *ns, const char *trainjob);
/*
 * "node-1 (node rank 1): container node: exit code 3 on gpu-7": the earliest failure, of
 * the pods seen so far and of the failed ones that k may list (NULL: none). malloc'ed;
 * NULL: no pod failed. *ret_brief: its length without " on gpu-7".
 */
char *pod_facts_first_failure(struct pod_facts *p, struct kube *k, const cJSON *tj,
			      size_t *ret_brief);

#endif
