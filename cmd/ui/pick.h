/*
 * pick.h - select the jobs for a command: by names, all, or by labels.
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
	/* Without names: only jobs of which this is true; NULL: all. `only`: what they are. */
	bool (*wanted)(void *ctx, const cJSON *job);
	const char *only; /* "finished", for messages; or NULL */
};

/*
 * ERR_USAGE unless there are names (refer_jobs()) or exactly one of the options, before
 * which the kind is dropped ("trainjobs --all").
 */
MUST_CHECK int pick_check(const struct pick_opts *opts, int *argc, char ***argv,
			  struct error *err);

/* Drop the arguments' only one if it is a kind: refer_is_jobs(). */
void pick_drop_kind(int *argc, char ***argv);

/*
 * Skip a kind before the names, as kubectl takes it ("trainjob digits"), unless a job has
 * that name. alone: also if no name follows.
 */
void pick_skip_kind(struct kube *k, const char *ns, bool alone, int *argc, char ***argv);

/*
 * Calls `each` for every job. Failures (-1, or a missing job) are reported, and the next
 * job follows. Returns EXIT_OK, or EXIT_FAILED after a failure; -1 if the API server
 * failed, or the process was stopped.
 */
int pick_each(const struct pick *p,
	      int (*each)(void *ctx, const cJSON *job, struct error *err), void *ctx,
	      struct error *err);

/* Is the error about one job only (missing, denied), so that the next can be tried? */
bool pick_is_about_one(const struct error *err);

#endif
