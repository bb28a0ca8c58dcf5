/*
 * queue.h - a TrainJob in a queue of Kueue. Kueue owns its spec.suspend: to stop or start
 * the job, set spec.active of its Workload, as kueuectl does. Errors are those of kube.h.
 */
#ifndef CLIENT_QUEUE_H
#define CLIENT_QUEUE_H

#include "kube/kube.h"

/* The job's LocalQueue, or NULL. */
const char *queue_name(const cJSON *job);

enum queue_answer {
	QUEUE_NONE, /* the job has no Workload */
	QUEUE_SET,
	QUEUE_SET_ALREADY,
};
/* Set spec.active of the job's Workload. */
MUST_CHECK int queue_set_active(struct kube *k, const cJSON *job, bool active,
				enum queue_answer *ret, struct error *err);

/* *ret: the worker cluster that MultiKueue chose for the job, in the arena, or NULL. */
MUST_CHECK int queue_worker(struct kube *k, const cJSON *job, struct arena *arena,
			    const char **ret, struct error *err);

#endif
