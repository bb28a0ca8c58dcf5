/*
 * progress_supervision.h - store what a TrainJob's supervisors tell, and say what is new
 * (private to core/manager/progress_server.c).
 */
#ifndef MANAGER_PROGRESS_SUPERVISION_H
#define MANAGER_PROGRESS_SUPERVISION_H

#include "manager/progress_auth.h"
#include "manager/progress_server.h"
#include "trainer/supervision.h"

extern const struct metric supervision_total;

/* `uid`: the TrainJob's. Errors as of kube_apply(); ERR_CONFLICT: another has its name. */
MUST_CHECK int progress_supervision(struct kube *kube, const struct progress_watch *watch,
				    const struct progress_claim *claim, const char *uid,
				    const struct supervision *told, struct error *err);

#endif
