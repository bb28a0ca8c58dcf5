/*
 * pick.h - the jobs that a command is about: by name, all of them, or by their labels.
 */
#ifndef CMD_PICK_H
#define CMD_PICK_H

#include "base/opt.h"
#include "kube/kube.h"

struct pick_opts {
	const char *selector;
	bool all;
};

#define PICK_OPTIONS(s)                                                           \
	OPT_STR('l', "selector", "SELECTOR", "jobs with these labels: team=a", s, \
		pick.selector),                                                   \
		OPT_BOOL(0, "all", "all jobs in the namespace", s, pick.all)

struct pick {
	const char *cmd; /* for messages */
	struct kube *kube;
	const char *ns;
	const struct pick_opts *opts;
	char **names;    /* ends with NULL */
	bool missing_ok; /* ignore missing jobs */
};

/* Names (refer_jobs()), or one of the options: else -1 with ERR_USAGE. */
MUST_CHECK int pick_check(const struct pick_opts *opts, int argc, char **argv,
			  struct error *err);

/*
 * Calls `each` with every job. Failures (-1, or no job of that name) are reported and do
 * not stop the others. Returns the exit code: EXIT_OK, or EXIT_FAILED after a failure; -1
 * when the API server failed, or `each` was stopped.
 */
int pick_each(const struct pick *p,
	      int (*each)(void *ctx, const cJSON *job, struct error *err), void *ctx,
	      struct error *err);

#endif
