/*
 * supervise_spec.h - the annotations of a supervised TrainJob.
 *
 * On the TrainJob, else on the runtime's template: the containers that train start under
 * `kftrainer runtime supervise` (plugins/supervise.c), which starts them again in their
 * pods when one fails.
 */
#ifndef TRAINER_SUPERVISE_SPEC_H
#define TRAINER_SUPERVISE_SPEC_H

#include "base/error.h"
#include "base/json.h"

/*
 * "true", "false"; absent: it is supervised if it is tracked (trainer/track_spec.h), has
 * a run directory (trainer/run_spec.h) or exports its model (trainer/export_spec.h)
 */
#define SUPERVISE_ANNOTATION "kftrainer.io/supervise"
#define RESTARTS_ANNOTATION  "kftrainer.io/restarts" /* a number */
/*
 * A job in development: when the command ends, the pods wait so long for `kftrainer
 * rerun`. Needs a workspace, and supervises the job.
 */
#define DEV_ANNOTATION       "kftrainer.io/dev"      /* "30m" */
#define DEV_FROM_ANNOTATION  "kftrainer.io/dev-from" /* the user's directory, or file */
#define GRACE_ANNOTATION     "kftrainer.io/restart-grace" /* from TERM to KILL: "5s" */
#define STALL_ANNOTATION     "kftrainer.io/stall-after"   /* "10m"; "never" */

#define SUPERVISE_VOLUME     "kftrainer-supervise" /* the Secret with the job's key */
#define SUPERVISE_SECRET_KEY "ssh-privatekey"

struct supervise_spec {
	bool on;
	const char *by;    /* if `on`: the annotation that says so */
	int64_t restarts;  /* ABSENT: maxRestarts of the JobSet */
	const char *grace; /* NULL: the default; else a valid duration */
	const char *stall; /* likewise, or "never" */
	const char *dev;   /* DEV_ANNOTATION's valid duration, or NULL */
};

/* Strings are the documents'. ERR_INVALID: an annotation has no valid value. */
MUST_CHECK int supervise_spec_of(struct supervise_spec *ret, const cJSON *tj,
				 const cJSON *template_annotations, struct error *err);
/* The same for all annotations of supervised jobs; a runtime's alone: `tj` is NULL. */
MUST_CHECK int supervise_check(const cJSON *tj, const cJSON *template_annotations,
			       struct error *err);
/*
 * !on: it is supervised if it or its runtime says so. restarts 0, or the job has an
 * annotation for them: they remain as they are.
 */
void supervise_annotate(cJSON *tj, bool on, int64_t restarts);
void supervise_annotate_dev(cJSON *tj, int64_t idle_ms, const char *from);

#endif
