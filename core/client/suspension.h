/*
 * suspension.h - suspend a TrainJob of a cluster, or resume it: by its queue where it has
 * one (Kueue decides over spec.suspend of what it admits), by spec.suspend elsewhere.
 */
#ifndef CLIENT_SUSPENSION_H
#define CLIENT_SUSPENSION_H

#include "kube/kube.h"

enum suspension {
	SUSPENSION_SET,
	SUSPENSION_UNCHANGED,
	SUSPENSION_SET_BY_QUEUE,  /* its Workload is active, or not, now */
	SUSPENSION_LEFT_TO_QUEUE, /* as before: resuming, the queue starts it */
};

/*
 * `job` as the API server has it. ERR_CONFLICT: it has finished, or is being deleted.
 */
MUST_CHECK int suspension_set(struct kube *k, const cJSON *job, bool suspend,
			      enum suspension *ret, struct error *err);

#endif
