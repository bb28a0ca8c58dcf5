/*
 * submit_resume.h - submit --resume RUN-DIR: a run once more, from where it ended.
 */
#ifndef CMD_SUBMIT_RESUME_H
#define CMD_SUBMIT_RESUME_H

#include "base/arena.h"
#include "history/history.h"
#include "spec/job_opts.h"
#include "spec/reporter.h"
#include "spec/workspace_pack.h"

/* Options that a run directory replaces are ERR_USAGE; words after "--" become --arg. */
MUST_CHECK int submit_resume_check(struct job_opts *job, const struct workspace_opts *w,
				   const char *uri, int argc, struct arena *arena,
				   struct error *err);

/*
 * Read the run w->from, if there is one, into `ret`, which both then refer to. ERR_USAGE:
 * values of variables are not stored, and no option has them. Others of history_origin().
 */
MUST_CHECK int submit_resume(struct history_origin *ret, struct job_opts *job,
			     struct workspace_opts *w, const struct reporter *to,
			     struct error *err);

#endif
