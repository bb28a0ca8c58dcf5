/*
 * pods.h - what happens to a job's pods, told on the TrainJob.
 *
 * Pods are kept as pod_facts_keep() has them, and nothing once their job has ended. What explains a job that does not start
 * or that failed becomes an event on the TrainJob, with pod, node rank, container and
 * node in the message:
 *
 *     Unschedulable         the scheduler's words
 *     SchedulingGated       (Normal) it waits for its gates
 *     ImagePullFailed       the kubelet's words
 *     ContainerStartFailed  likewise: no such command, Secret, ConfigMap, ...
 *     OOMKilled             past its memory limit
 *     ContainerFailed       exit code or signal, restarts, the termination message
 *     PodDisrupted          evicted, preempted, its node gone
 *     PodFailed             the kubelet would not run it
 *
 * Many pods with one cause are one event, "8 pods, first ...", whose number is how
 * many there are now. Pods that are being deleted do not fail.
 */
#ifndef MANAGER_PODS_H
#define MANAGER_PODS_H

#include "kube/event.h"
#include "kube/informer.h"
#include "trainer/podcause.h"

struct pod_facts;

/* `trainjob` gives the TrainJob of that name as a document, the caller's, or NULL. */
struct pod_facts *pod_facts_new(struct event_recorder *events,
				cJSON *(*trainjob)(void *ctx, const char *ns,
						   const char *name),
				void *ctx);
void pod_facts_free(struct pod_facts *p);

void pod_facts_event(void *pod_facts, enum informer_event event, const cJSON *old,
		     const cJSON *current); /* informer_conf.on_event */

/* The TrainJob has ended or is gone: forget its pods. Of one that has ended nothing
 * more is told. */
void pod_facts_forget(struct pod_facts *p, const char *ns, const char *trainjob);
/*
 * "node-1 (node rank 1): container node: exit code 3 on gpu-7": of the failures seen and
 * those of the failed pods there are, which k reads where it may (NULL: it does not), the
 * one that ended first; *ret_brief: how much of that is said before " on". malloc'ed;
 * NULL: none failed.
 */
char *pod_facts_first_failure(struct pod_facts *p, struct kube *k, const cJSON *tj,
			      size_t *ret_brief);

#endif
