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
	void (*on_note)(void *ctx,
			const char *text); /* a warning, with want.ctx; or NULL */
};

/*
 * Set the directory of the job's submission: its strings are the arena's. ERR_CONFLICT:
 * not a job in development; ERR_NOT_FOUND: the directory is not here, or this user has not
 * submitted it as this job (client/dev_record.h).
 */
MUST_CHECK int rerun_job_from(struct rerun_want *ret, const struct kube *k,
			      const cJSON *job, struct arena *arena, struct error *err);

/*
 * ERR_CONFLICT: not a job in development, or no pod of it runs. ERR_NOT_FOUND: no such
 * job, or its directory is not here. ERR_STOPPED: by a signal, or the command's output
 * cannot be written. Else as rerun_finish(), remote_find() and rerun_begin(). Only with
 * want.start_only may other threads get signals.
 */
MUST_CHECK int rerun_job(struct kube *k, const struct rerun_job *job,
			 struct rerun_end *ret, struct error *err);

#endif
