/*
 * progress_supervision.h - store the reports of a TrainJob's supervisors, with an event for
 * each new restart or stall. Private to core/manager/progress_server.c.
 */
#ifndef MANAGER_PROGRESS_SUPERVISION_H
#define MANAGER_PROGRESS_SUPERVISION_H

#include "manager/progress_auth.h"
#include "manager/progress_server.h"
#include "trainer/supervision.h"

extern const struct metric supervision_total;

/* Errors as kube_apply()'s; ERR_CONFLICT: the TrainJob of that name has another uid. */
MUST_CHECK int progress_supervision(struct kube *kube, const struct progress_watch *watch,
				    const struct progress_claim *claim, const char *uid,
				    const struct supervision *report, struct error *err);

#endif
