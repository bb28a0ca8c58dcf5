/*
 * places.h - the step and rank of a pod, from its name, and the label to show.
 *
 * A pod's name is <jobset>-<replicatedJob>-<replica>-<index>-<5 letters> (JobSet's
 * GenPodName and the API server's suffix). A step is a replicatedJob; ranks are numbered
 * through its replicas and their indexes.
 */
#ifndef TRAINER_PLACES_H
#define TRAINER_PLACES_H

#include "base/arena.h"
#include "base/json.h"

struct place {
	const cJSON *rjob; /* of the JobSet */
	const char *step;  /* its name */
	size_t number;     /* of the replicatedJob in the JobSet */
	int replica;
	int index; /* -1: the Job is not Indexed */
	int rank;  /* -1: not Indexed */
};

/* False: not the name of a pod of this JobSet. *ret borrows from the JobSet. */
bool place_of(struct place *ret, const cJSON *jobset, const char *pod);

/*
 * "node-0"; for a step of a single pod that does not train only its name
 * ("dataset-initializer"). In pods with several containers, those not named as the step
 * are appended: "node-0/sidecar".
 */
const char *place_prefix(struct arena *arena, const struct place *place,
			 const char *container);

#endif
