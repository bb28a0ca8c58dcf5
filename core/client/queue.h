/*
 * queue.h - a TrainJob in a queue of Kueue, which starts and stops it: whoever wants to
 * stop one sets spec.active of its Workload, as kueuectl does; spec.suspend is the queue's.
 */
#ifndef CLIENT_QUEUE_H
#define CLIENT_QUEUE_H

#include "kube/kube.h"

/* Of which queue; NULL: of none. */
const char *queue_name(const cJSON *job);

enum queue_answer {
	QUEUE_NONE, /* Kueue has no Workload of it */
	QUEUE_SET,
	QUEUE_SET_ALREADY,
};
MUST_CHECK int queue_set_active(struct kube *k, const cJSON *job, bool active,
				enum queue_answer *ret, struct error *err);

/*
 * *ret: the worker cluster to which MultiKueue has given the job, in the arena, or NULL
 * when it has not.
 */
MUST_CHECK int queue_worker(struct kube *k, const cJSON *job, struct arena *arena,
			    const char **ret, struct error *err);

#endif
