/*
 * gang.h - which pods of a TrainJob start together, for a gang scheduler.
 *
 * A gang of all pods, as upstream has it, never starts where a job waits for another to
 * be Complete (dependsOn): those pods never exist at the same time. There the gang is
 * the jobs that wait for the same jobs as the trainer's, and pods of other steps are
 * placed one by one.
 */
#ifndef TRAINER_GANG_H
#define TRAINER_GANG_H

#include "trainer/info.h"

/* Sets in_gang of each of info->pod_sets. */
void gang_mark(struct info *info);

/* What its pods request together, and how many they are (replicas counted). */
MUST_CHECK int gang_total(const struct info *info, struct resource_list *ret,
			  int64_t *ret_pods, struct error *err);

#endif
