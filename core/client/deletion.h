/*
 * deletion.h - delete, and wait for the deletion of, a TrainJob or another object of a cluster.
 */
#ifndef CLIENT_DELETION_H
#define CLIENT_DELETION_H

#include "kube/kube.h"

/* The number of pods that are deleted with the job; -1: they cannot be listed. */
int64_t deletion_pods(struct kube *k, const char *ns, const char *name);

/*
 * Request the deletion of this job (with its uid); `foreground`: after its pods. A job that
 * is gone already is fine. Errors: kube.h.
 */
MUST_CHECK int deletion_start(struct kube *k, const cJSON *job, bool foreground,
			      struct error *err);

/*
 * Wait until this object (with this uid) is gone. 1: gone; 0: still there at `until`
 * (clock_ms(); < 0: no limit); -1: as changes_next(), thus ERR_STOPPED, ERR_DENIED.
 */
MUST_CHECK int deletion_wait(struct kube *k, const cJSON *obj, int64_t until,
			     struct error *err);

#endif
