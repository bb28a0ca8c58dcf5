/*
 * queue.h - suspend or resume a TrainJob of a cluster, in a queue of Kueue or not. Kueue
 * owns spec.suspend of the jobs in its queues: to stop or start one, spec.active of its
 * Workload is set, as kueuectl does. Errors are those of kube.h.
 */
#ifndef CLIENT_QUEUE_H
#define CLIENT_QUEUE_H

#include "kube/kube.h"

/* The job's LocalQueue, or NULL. */
const char *queue_name(const cJSON *job);

/* *ret: the worker cluster that MultiKueue chose for the job, in the arena, or NULL. */
MUST_CHECK int queue_worker(struct kube *k, const cJSON *job, struct arena *arena,
			    const char **ret, struct error *err);

enum suspension {
	SUSPENSION_SET,
	SUSPENSION_UNCHANGED,
	SUSPENSION_SET_BY_QUEUE,  /* spec.active of its Workload was changed */
	SUSPENSION_LEFT_TO_QUEUE, /* spec.active is unchanged: the queue starts the job */
};

/*
 * `job` as the API server returned it. ERR_CONFLICT: it has finished, or is being
 * deleted; other errors as in kube.h.
 */
MUST_CHECK int queue_set_suspended(struct kube *k, const cJSON *job, bool suspend,
				   enum suspension *ret, struct error *err);

#endif
