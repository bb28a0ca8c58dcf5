/*
 * run_spec.h - the annotations of a TrainJob with a run directory.
 *
 * On the TrainJob, else on the runtime's template: its supervisors keep code, logs,
 * metrics and checkpoints there (plugins/supervise.c, runs/runs.h).
 */
#ifndef TRAINER_RUN_SPEC_H
#define TRAINER_RUN_SPEC_H

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"

#define RUN_DIR_ANNOTATION    "kftrainer.io/run-dir" /* a URI, without credentials */
#define RUN_SECRET_ANNOTATION "kftrainer.io/run-dir-secret" /* a Secret of variables */
#define RUN_KEEP_ANNOTATION   "kftrainer.io/keep-checkpoints"
#define RUN_RESUME_ANNOTATION "kftrainer.io/resume" /* "true": of another job */

/* The TrainJob as its user wrote it, which `submit` sets; else that of `kubectl apply`. */
#define RUN_SUBMITTED_ANNOTATION "kftrainer.io/submitted"
#define RUN_SUBMITTED            "submitted" /* the member of run_spec_job() */

#define RUN_CHECKPOINT_ENV       "KFTRAINER_CHECKPOINT_DIR"
#define RUN_CHECKPOINT_VOLUME    "kftrainer-checkpoints"
#define RUN_CHECKPOINT_PATH      "/kftrainer/checkpoints"
#define RUN_CLAIM_VOLUME         "kftrainer-run-dir"

struct run_spec {
	const char *uri;    /* NULL: the job has no run directory */
	const char *secret; /* or NULL */
	const char *claim;  /* of pvc://, in the arena; or NULL */
	int64_t keep;       /* 0: the default */
	bool resume;
};

/* Strings are the documents', or in the arena. ERR_INVALID. */
MUST_CHECK int run_spec_of(struct run_spec *ret, struct arena *arena, const cJSON *tj,
			   const cJSON *template_annotations, struct error *err);

/*
 * The TrainJob as the run directory keeps it, in one line that a pod does not expand, with
 * that of the user as a member RUN_SUBMITTED, if it is known. Values of variables whose
 * names are those of secrets are left out. NULL: it is too long.
 */
const char *run_spec_job(struct arena *arena, const cJSON *tj);
/* Is it the name of a variable whose value is left out? NULL is fine. */
bool run_spec_is_secret(const char *name);
/* Annotate a job with a run directory with itself, before defaults are set. */
void run_spec_keep_submitted(cJSON *tj);

#endif
