/*
 * pods.h - events on a TrainJob about its pods.
 *
 * Each cause of a job that does not start or that failed becomes an event, with pod, node
 * rank, container and node in the message:
 *
 *     Unschedulable         the scheduler's message
 *     SchedulingGated       (Normal) the pod waits for its scheduling gates
 *     ImagePullFailed       the kubelet's message
 *     ContainerStartFailed  likewise: no such command, Secret, ConfigMap, ...
 *     OOMKilled             out of memory
 *     ContainerFailed       exit code or signal, restarts, the termination message
 *     PodDisrupted          evicted, preempted, or the node was deleted
 *     PodFailed             the kubelet rejected the pod
 *
 * Pods with the same cause share one event, "8 pods, first ...", with their current
 * number. Pods that are being deleted do not fail; a finished job has no further events.
 */
#ifndef MANAGER_PODS_H
#define MANAGER_PODS_H

#include "kube/event.h"
#include "trainer/podcause.h"

struct pod_facts;

/*
 * Never fails. `trainjob` is called from any thread; it returns the TrainJob of that
 * name, owned by the caller, or NULL.
 */
struct pod_facts *pod_facts_new(struct event_recorder *events,
				cJSON *(*trainjob)(void *ctx, const char *ns,
						   const char *name),
				void *ctx);
void pod_facts_free(struct pod_facts *p);

/* Call for each change of a pod, with the arguments of informer_conf.on_event. */
void pod_facts_event(struct pod_facts *p, const cJSON *old, const cJSON *current);

/* Call when the TrainJob has finished or was deleted: frees the facts about its pods. */
void pod_facts_forget(struct pod_facts *p, const char *ns, const char *trainjob);
/*
 * "node-1 (node rank 1): container node: exit code 3 on gpu-7": the earliest failure of
 * the pods seen so far and of the failed pods that k can list (k NULL: none are listed).
 * malloc'ed; NULL: no failed pod is known. *ret_brief: the length without " on gpu-7".
 */
char *pod_facts_first_failure(struct pod_facts *p, struct kube *k, const cJSON *tj,
			      size_t *ret_brief);

#endif
