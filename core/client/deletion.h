/*
 * deletion.h - TrainJobs, and other objects of a cluster, on their way out.
 */
#ifndef CLIENT_DELETION_H
#define CLIENT_DELETION_H

#include "kube/kube.h"

/* How many pods go with the job; -1: this user may not list them. */
int64_t deletion_pods(struct kube *k, const char *ns, const char *name);

/*
 * Waits until this very object (by its uid) is gone: 1; 0: not by `until` (clock_ms(); < 0:
 * for ever). ERR_STOPPED, ERR_DENIED.
 */
MUST_CHECK int deletion_wait(struct kube *k, const cJSON *obj, int64_t until,
			     struct error *err);

#endif
