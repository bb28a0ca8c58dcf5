/*
 * local.h - `submit --local`: run one job here and show what it does.
 */
#ifndef CMD_LOCAL_H
#define CMD_LOCAL_H

#include "spec/job.h"

struct local_show {
	bool quiet;           /* without the progress */
	const char *format;   /* in which the TrainJob is shown when it begins; or NULL */
	int64_t timeout_ms;   /* it is ended then; 0: never */
	int64_t max_restarts; /* of the whole job; 0: what its runtime says */
};

/*
 * Output lines of the job go to stdout, what we say about it to stderr. Returns the
 * job's exit code; -1 when it did not start.
 */
int local_submit(const struct job *job, const struct local_show *show, struct error *err);

#endif
