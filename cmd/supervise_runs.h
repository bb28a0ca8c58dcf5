/*
 * supervise_runs.h - runtime supervise --run-dir: the supervisors keep the run directory
 * (runs/runs.h), and the command starts with the newest checkpoint on its node.
 */
#ifndef CMD_SUPERVISE_RUNS_H
#define CMD_SUPERVISE_RUNS_H

#include "supervise/run.h"

#define RUNS_DIR_ENV "KFTRAINER_CHECKPOINT_DIR"

struct runs_opts {
	const char *uri;
	const char *job;         /* the TrainJob, JSON; or NULL */
	const char *code;        /* a directory; or NULL */
	const char *checkpoints; /* of all ranks; NULL: RUNS_DIR_ENV names this rank's */
	int64_t keep, grace_s;
	bool resume;
};

/* All must remain. The directory is opened once the supervisor runs. */
MUST_CHECK int supervise_runs(struct supervise_rundir *ret, struct report_sink *ret_sink,
			      const struct runs_opts *o, const struct star_conf *star,
			      struct error *err);

/* A line of the supervisor's log, for the run directory, too. */
void supervise_runs_log(const char *text);

#endif
