/*
 * interactive.h - `submit --local -i`: the job's one process on the user's terminal.
 */
#ifndef CMD_INTERACTIVE_H
#define CMD_INTERACTIVE_H

#include "local/run.h"

/* ERR_USAGE: the job runs in a cluster, apart from this command, or without a terminal. */
MUST_CHECK int interactive_check(bool local, bool apart, struct error *err);

/*
 * If run->terminal: let the trainer's container use the terminal, and print its bytes as
 * they are; the observer's ctx begins with a struct viewer. `objects` are the run's.
 * ERR_UNSUPPORTED: the JobSet has several processes.
 */
MUST_CHECK int interactive_plan(struct local_run_opts *run, cJSON *objects,
				struct error *err);

#endif
