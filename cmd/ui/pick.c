/* pick.c - call a function for each job that the arguments name (cmd/ui/pick.h). */
#include "cmd/ui/pick.h"

#include <stdio.h>

#include "api/meta.h"
#include "base/stop.h"
#include "client/jobs.h"
#include "cmd/cmd.h"
#include "kube/permission.h"
#include "spec/refer.h"

void pick_drop_kind(int *argc, char ***argv)
{
	if (*argc != 1 || !refer_is_jobs(**argv))
		return;
	--*argc;
	++*argv;
}

void pick_skip_kind(struct kube *k, const char *ns, bool alone, int *argc, char ***argv)
{
	cleanup_json cJSON *job = NULL;
	struct error err = { 0 };

	if (*argc < (alone ? 1 : 2) || !refer_is_jobs(**argv) ||
	    !job_get(k, ns, **argv, &job, &err) || err.kind != ERR_NOT_FOUND)
		return;
	--*argc;
	++*argv;
}

int pick_check(const struct pick_opts *opts, int *argc, char ***argv, struct error *err)
{
	int ways;

	if (opts->all || opts->selector)
		pick_drop_kind(argc, argv);
	ways = (*argc > 0) + opts->all + (opts->selector != NULL);
	if (opts->selector && !*opts->selector)
		return error_set(
			err, ERR_USAGE,
			"--selector is empty; use --all for every job in the namespace");
	if (ways == 1)
		return refer_jobs(*argv, err);
	return error_set(err, ERR_USAGE,
			 ways ? "specify job names, --all or --selector (only one)"
			      : "specify job names, --all or --selector");
}

/* Call `each`. A failure is reported and sets *code; -1: the process was stopped. */
static int one(const struct pick *p,
	       int (*each)(void *ctx, const cJSON *job, struct error *err), void *ctx,
	       const cJSON *job, int *code, struct error *err)
{
	if (!each(ctx, job, err))
		return 0;
	permission_explain(err);
	if (err->kind == ERR_STOPPED || stop_requested())
		return -1;
	cmd_complain(p->cmd, "%s", err->msg);
	*err = (struct error){ 0 };
	*code = EXIT_FAILED;
	return 0;
}

bool pick_is_about_one(const struct error *err)
{
	return err->kind == ERR_NOT_FOUND || err->kind == ERR_DENIED;
}

static int by_name(const struct pick *p,
		   int (*each)(void *ctx, const cJSON *job, struct error *err), void *ctx,
		   struct error *err)
{
	int code = EXIT_OK;

	for (char **name = p->names; *name; name++) {
		cleanup_json cJSON *job = NULL;

		if (job_get(p->kube, p->ns, *name, &job, err)) {
			if (!pick_is_about_one(err))
				return -1;
			if (!p->missing_ok || err->kind != ERR_NOT_FOUND) {
				cmd_complain(p->cmd, "%s", err->msg);
				code = EXIT_FAILED;
			}
			*err = (struct error){ 0 };
			continue;
		}
		if (one(p, each, ctx, job, &code, err))
			return -1;
	}
	return code;
}

int pick_each(const struct pick *p,
	      int (*each)(void *ctx, const cJSON *job, struct error *err), void *ctx,
	      struct error *err)
{
	cleanup_json cJSON *list = NULL;
	const cJSON *job;
	int code = EXIT_OK;
	bool none = true;

	if (*p->names)
		return by_name(p, each, ctx, err);
	if (job_list(p->kube, p->ns, p->opts->selector, &list, err))
		return -1;
	json_each(job, list) {
		if (p->wanted && !p->wanted(ctx, job))
			continue;
		none = false;
		if (one(p, each, ctx, job, &code, err))
			return -1;
	}
	if (none)
		cmd_complain(p->cmd, "no %s TrainJobs in namespace %s",
			     p->only ? p->only : "matching", p->ns);
	return code;
}
