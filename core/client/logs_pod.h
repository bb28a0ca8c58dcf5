/*
 * logs_pod.h - a pod's step, rank, containers and their runs, for reading logs. Pure.
 */
#ifndef CLIENT_LOGS_POD_H
#define CLIENT_LOGS_POD_H

#include "base/arena.h"
#include "base/json.h"
#include "client/logs.h"

/* Drop the fields that neither this file nor trainer/podcause.h reads. Always true. */
bool log_pod_slim(cJSON *pod);

bool log_pod_ended(const cJSON *pod); /* no container starts again */

/* A container's step and rank. Strings are the arena's, the pod's or the JobSet's. */
struct log_origin {
	const char *step;
	size_t number; /* of the step in the JobSet; without one, initializers first */
	int replica;
	int rank;           /* -1: the pods of the step have no ranks */
	bool ranked;        /* --rank applies: a node, not an initializer or a launcher */
	const char *prefix; /* for the container's lines: "node-0" */
};
/* From the JobSet (or NULL) and the pod's name; else from the pod's labels. */
struct log_origin log_origin_of(struct arena *arena, const cJSON *jobset,
				const cJSON *pod, const char *container);

/* Does `want` select this step and rank; a container of this name? */
bool log_origin_wanted(const struct logs_want *want, const struct log_origin *origin);
bool log_container_wanted(const struct logs_want *want, const char *name, bool init);

/* How many of all containers that the JobSet will create `want` selects. */
int64_t log_count(const struct logs_want *want, const cJSON *jobset);

/* The array spec.initContainers or spec.containers of the pod, or NULL. */
const cJSON *log_containers(const cJSON *pod, bool init);

/* The newest run of a container; runs are counted from 0, as restartCount does. */
struct log_run {
	bool started; /* the run has a log */
	int64_t number;
	bool ended;                 /* the run has ended */
	const char *waiting_reason; /* why there is none ("ContainerCreating"), or NULL */
};
struct log_run log_run_of(const cJSON *pod, const char *container);

#endif
