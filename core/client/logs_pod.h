/*
 * logs_pod.h - what reading logs needs to know of a pod. Pure.
 */
#ifndef CLIENT_LOGS_POD_H
#define CLIENT_LOGS_POD_H

#include "base/arena.h"
#include "base/json.h"
#include "client/logs.h"

/* Leave of a pod what is asked of it here and by trainer/podcause.h. Always true. */
bool log_pod_keep(cJSON *pod);

bool log_pod_ended(const cJSON *pod); /* none of its containers starts again */

/* Whose lines they are. Strings are in the arena of the call, or the JobSet's. */
struct log_place {
	const char *step;
	size_t number; /* of the step in the JobSet; initializers first without it */
	int replica;
	int rank;    /* -1: the step's pods are not told apart */
	bool ranked; /* --rank means it: a node, not an initializer or a launcher */
	const char *prefix; /* of the container: "node-0" */
};
/* jobset NULL: by the labels alone. */
struct log_place log_place_of(struct arena *arena, const cJSON *jobset, const cJSON *pod,
			      const char *container);

/* Does `want` mean containers there? */
bool log_place_wanted(const struct logs_want *want, const struct log_place *place);
bool log_container_wanted(const struct logs_want *want, const char *name, bool init);

/* How many containers `want` means of all that the JobSet is to have. */
int64_t log_count(const struct logs_want *want, const cJSON *jobset);

/* Each container's name: those of the pod's spec, init containers first. */
const cJSON *log_containers(const cJSON *pod, bool init);

/* What a container does: its runs are counted from 0, as restartCount does. */
struct log_run {
	bool started; /* there is a run that has a log: */
	int64_t number;
	bool ended;        /* that run */
	const char *waits; /* "ContainerCreating", why there is none; or NULL */
};
struct log_run log_run_of(const cJSON *pod, const char *container);

#endif
