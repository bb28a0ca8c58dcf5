/*
 * submit_dev.h - the options of a job in development: submit --dev.
 */
#ifndef CMD_SUBMIT_DEV_H
#define CMD_SUBMIT_DEV_H

#include "base/arena.h"
#include "spec/job_opts.h"
#include "spec/workspace_pack.h"

/*
 * Complete both if w->dev; a script is then its own workspace. idle_ms 0: the default.
 * Strings are in the arena. ERR_USAGE: an option that does not fit.
 */
MUST_CHECK int submit_dev(struct job_opts *job, struct workspace_opts *w, int64_t idle_ms,
			  struct arena *arena, struct error *err);

#endif
