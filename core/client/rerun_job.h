/*
 * rerun_job.h - a whole `kftrainer rerun`: the job's directory, its pod, and the session
 * in that pod (client/rerun.h), by pods/exec or, of a pod of this machine, directly.
 */
#ifndef CLIENT_RERUN_JOB_H
#define CLIENT_RERUN_JOB_H

#include "client/rerun.h"
#include "kube/kube.h"

struct rerun_job {
	const char *ns, *name;
	struct rerun_want want; /* path NULL: the directory of the submission */
	void (*on_note)(void *ctx, const char *text); /* a warning; ctx of `want` */
};

/*
 * ERR_CONFLICT: not a job in development, or no pod of it runs. ERR_NOT_FOUND: no such
 * job, or its directory is not here. ERR_STOPPED: by a signal, or the command's output
 * cannot be written. Else as rerun_finish(), remote_find() and rerun_begin().
 */
MUST_CHECK int rerun_job(struct kube *k, const struct rerun_job *job,
			 struct rerun_end *ret, struct error *err);

#endif
