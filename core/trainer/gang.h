/*
 * gang.h - find the pods of a TrainJob that a gang scheduler must start together.
 *
 * A gang of all pods, as in upstream, never starts if a job waits for another to be
 * Complete (dependsOn), because their pods never exist at the same time. In that case the
 * gang is the jobs that wait for the same jobs as the trainer's, and pods of other steps
 * are placed individually.
 */
#ifndef TRAINER_GANG_H
#define TRAINER_GANG_H

#include "trainer/info.h"

/* Set in_gang of each of info->pod_sets. */
void gang_mark(struct info *info);

/* The total requests of the gang's pods, and their number over all replicas. */
MUST_CHECK int gang_total(const struct info *info, struct resource_list *ret,
			  int64_t *ret_pods, struct error *err);

#endif
