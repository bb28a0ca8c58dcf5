/*
 * suspend.h - what `suspend` and `resume` share.
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

/* Set spec.suspend of each job. Returns the exit code, or -1. */
int suspend_run(const struct suspend_opts *opts, bool suspend, int argc, char **argv,
		struct error *err);

#endif
