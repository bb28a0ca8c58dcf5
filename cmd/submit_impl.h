/*
 * submit_impl.h - declarations that the files of `submit` share.
 */
#ifndef CMD_SUBMIT_IMPL_H
#define CMD_SUBMIT_IMPL_H

#include "cmd/ui/cluster.h"
#include "spec/job.h"
#include "spec/workspace_pack.h"

#define DRY_RUN_OUTCOME "valid (server dry run)"

enum dry_run { DRY_RUN_NONE, DRY_RUN_CLIENT, DRY_RUN_SERVER };

/* The TrainJob that a background process created, in memory shared with its parent. */
struct created {
	char ns[64], name[256];
};

struct submit_opts {
	struct job_opts job;
	struct cluster_opts cluster;
	struct workspace_opts workspace;
	const char *venv, *resume;
	bool local, detach, quiet, verbose, wait, follow, interactive;
	int64_t timeout_ms, max_restarts, idle_ms;
	int dry_run;
	int output; /* 0: not given; else the index in render_formats, from 1 */
	int to;     /* in a background process: the context of detach_say() */
	struct created *created; /* in a background process; else NULL */
};

/* The format of the objects to print; NULL: none are printed. */
const char *submit_format(const struct submit_opts *opts);
/* As in a cluster, the job exists before this command waits for it, or returns. */
bool submit_creates_first(const struct submit_opts *opts);

/* Run the one job of the set on this machine. Returns its exit code. */
MUST_CHECK int submit_local(struct job_set *set, const struct submit_opts *opts,
			    const struct workspace_pack *pack, struct error *err);

#endif
