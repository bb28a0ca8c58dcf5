/*
 * suspension.h - suspend or resume a TrainJob of a cluster: by its queue if it has one
 * (Kueue owns spec.suspend of the jobs that it admits), else by spec.suspend.
 */
#ifndef CLIENT_SUSPENSION_H
#define CLIENT_SUSPENSION_H

#include "kube/kube.h"

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
MUST_CHECK int suspension_set(struct kube *k, const cJSON *job, bool suspend,
			      enum suspension *ret, struct error *err);

#endif
