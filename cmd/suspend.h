/*
 * suspend.h - the options and the implementation of `suspend` and `resume`.
 */
#ifndef CMD_SUSPEND_H
#define CMD_SUSPEND_H

#include "cmd/ui/cluster.h"
#include "cmd/ui/pick.h"

struct suspend_opts {
	struct where_opts where;
	struct pick_opts pick;
};
extern const struct opt suspend_options[];

/* Sets spec.suspend of each job and prints the result. Returns the exit code, or -1. */
int suspend_run(const struct suspend_opts *opts, bool suspend, int argc, char **argv,
		struct error *err);

#endif
