/*
 * local.h - `submit --local`: run one job here and show what it does.
 */
#ifndef CMD_LOCAL_H
#define CMD_LOCAL_H

#include "cmd/job.h"

/*
 * Output lines of the job go to stdout, what we say about it to stderr; `quiet`
 * leaves out the progress. Returns the job's exit code; -1 when it did not start.
 */
int local_submit(const struct job *job, bool quiet, struct error *err);

#endif
