/*
 * places.h - which rank of which step a pod is, and what people call it.
 *
 * A pod's name says it: <jobset>-<replicatedJob>-<replica>-<index>-<5 letters>
 * (JobSet's GenPodName and the API server's suffix). A step is a replicatedJob;
 * its ranks count through its replicas and their indexes.
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
	int rank;  /* -1: then, too */
};

/* false: no pod of this JobSet has such a name. */
bool place_of(struct place *ret, const cJSON *jobset, const char *pod);

/*
 * "node-0"; a step of a single pod that does not train is called by its name
 * alone ("dataset-initializer"). With several containers in the pod those that
 * are not named as the step come behind a slash: "node-0/sidecar".
 */
const char *place_prefix(struct arena *arena, const struct place *place,
			 const char *container);

#endif
