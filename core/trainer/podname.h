/*
 * podname.h - the step and rank of a pod, from its name, and the label to show.
 *
 * A pod's name is <jobset>-<replicatedJob>-<replica>-<index>-<5 letters> (JobSet's
 * GenPodName and the API server's suffix). A step is a replicatedJob; ranks are numbered
 * through its replicas and their indexes.
 */
#ifndef TRAINER_PODNAME_H
#define TRAINER_PODNAME_H

#include "base/arena.h"
#include "base/json.h"

struct podname {
	const cJSON *rjob; /* of the JobSet */
	const char *step;  /* its name */
	size_t number;     /* of the replicatedJob in the JobSet */
	int replica;
	int index; /* -1: the Job is not Indexed */
	int rank;  /* -1: not Indexed */
};

/* False: not the name of a pod of this JobSet. *ret borrows from the JobSet. */
bool podname_parse(struct podname *ret, const cJSON *jobset, const char *pod);

/*
 * "node-0"; for a step of a single pod that does not train only its name
 * ("dataset-initializer"). In pods with several containers, those not named as the step
 * are appended: "node-0/sidecar".
 */
const char *podname_prefix(struct arena *arena, const struct podname *name,
			   const char *container);

#endif
