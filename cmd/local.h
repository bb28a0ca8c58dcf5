/*
 * local.h - `submit --local`: run one job here and show what it does.
 */
#ifndef CMD_LOCAL_H
#define CMD_LOCAL_H

#include "cmd/job.h"

struct local_show {
	bool quiet;         /* without the progress */
	const char *format; /* in which the TrainJob is shown when it begins; or NULL */
};

/*
 * Output lines of the job go to stdout, what we say about it to stderr. Returns the
 * job's exit code; -1 when it did not start.
 */
int local_submit(const struct job *job, const struct local_show *show, struct error *err);

#endif
