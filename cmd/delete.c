/* delete.c - delete TrainJobs, or local claims (client/deletion.h, cmd/claims.h). */
#include <inttypes.h>
#include <stdio.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "client/deletion.h"
#include "client/jobs.h"
#include "cmd/claims.h"
#include "cmd/cmd.h"
#include "cmd/ui/cluster.h"
#include "cmd/ui/pick.h"
#include "kube/named.h"
#include "trainer/trainjob.h"
#include "trainer/trainjob_status.h"

struct delete_opts {
	struct where_opts where;
	struct pick_opts pick;
	int64_t timeout, older_ms;
	bool wait, foreground, ignore, unused, finished;
};

static const struct opt opts_table[] = {
	WHERE_OPTIONS(struct delete_opts),
	PICK_OPTIONS(struct delete_opts),
	OPT_BOOL(0, "finished", "all that are complete or failed, or those of --selector",
		 struct delete_opts, finished),
	OPT_DURATION(0, "older-than", "TIME",
		     "with --finished: only if they ended before", struct delete_opts,
		     older_ms, 0, OPT_LONGEST),
	OPT_BOOL('w', "wait", "wait until the jobs and their pods are deleted",
		 struct delete_opts, wait),
	OPT_DURATION(0, "timeout", "TIME", "limit for --wait; then exit with code 124",
		     struct delete_opts, timeout, 1, OPT_LONGEST),
	OPT_BOOL(0, "foreground", "delete the pods before the job itself",
		 struct delete_opts, foreground),
	OPT_BOOL(0, "ignore-not-found", "ignore jobs that do not exist",
		 struct delete_opts, ignore),
	OPT_BOOL(0, "unused", "with 'claims': all that no local job mounts",
		 struct delete_opts, unused),
	{ .type = OPT_END },
};

struct deleting {
	struct kube *kube;
	const struct delete_opts *opts;
	cJSON *going; /* the deleted jobs, to wait for */
};

static int delete_one(void *ctx, const cJSON *job, struct error *err)
{
	struct deleting *d = ctx;
	const char *ns = meta_namespace(job), *name = meta_name(job);
	bool foreground = d->opts->wait || d->opts->foreground;
	int64_t pods = deletion_pods(d->kube, ns, name);

	if (deletion_start(d->kube, job, foreground, err))
		return -1;
	if (pods > 0)
		printf("trainjob %s deleted, with its JobSet and %" PRId64 " pod%s\n",
		       name, pods, pods == 1 ? "" : "s");
	else
		printf("trainjob %s deleted%s\n", name,
		       pods ? ", with its JobSet and pods" : "");
	fflush(stdout);
	cJSON_AddItemToArray(d->going, json_dup(job));
	return 0;
}

/* A job whose end is of no known time is not known to be old. */
static bool is_old(void *ctx, const cJSON *job)
{
	const struct deleting *d = ctx;
	const char *end = status_end_time(tj_status(job));
	int64_t since;

	if (!status_finished(tj_status(job)) || meta_is_deleted(job))
		return false;
	if (!d->opts->older_ms)
		return true;
	return end && !time_parse(&since, end, IGNORED) &&
	       (clock_now() - since) * 1000 >= d->opts->older_ms;
}

static int wait_all(struct deleting *d, struct error *err)
{
	int64_t until = d->opts->timeout ? clock_ms() + d->opts->timeout : -1;
	const cJSON *job;

	json_each(job, d->going) {
		int rc = deletion_wait(d->kube, job, until, err);

		if (rc < 0)
			return -1;
		if (!rc) {
			cmd_complain("delete",
				     "timed out waiting for TrainJob %s to be deleted; "
				     "see 'kftrainer why%s %s -n %s'",
				     meta_name(job), kube_named(d->kube), meta_name(job),
				     meta_namespace(job));
			return EXIT_TIMED_OUT;
		}
		printf("trainjob %s is gone\n", meta_name(job));
		fflush(stdout);
	}
	return EXIT_OK;
}

static int delete_all(struct kube *k, const char *ns, const struct delete_opts *opts,
		      char **names, struct error *err)
{
	cleanup_json cJSON *going = cJSON_CreateArray();
	struct deleting d = { k, opts, going };
	const struct pick pick = { "delete",
				   k,
				   ns,
				   &opts->pick,
				   names,
				   opts->ignore,
				   opts->finished ? is_old : NULL,
				   !opts->finished  ? NULL
				   : opts->older_ms ? "finished and old enough"
						    : "finished" };
	int code = pick_each(&pick, delete_one, &d, err), waited;

	if (code < 0 || !opts->wait)
		return code;
	waited = wait_all(&d, err);
	return waited ? waited : code;
}

/* --finished is --all, or --selector, of fewer jobs. */
static int check(struct delete_opts *opts, int *argc, char ***argv, struct error *err)
{
	if (opts->older_ms && !opts->finished)
		return error_set(err, ERR_USAGE, "--older-than is for --finished");
	if (opts->finished && *argc)
		return error_set(err, ERR_USAGE,
				 "specify job names or --finished, not both");
	if (opts->finished && !opts->pick.selector)
		opts->pick.all = true;
	return pick_check(&opts->pick, argc, argv, err);
}

/* An option that is given, and would choose or wait for jobs; or NULL. */
static const char *job_option(const struct delete_opts *opts)
{
	const struct {
		const char *name;
		bool given;
	} list[] = {
		{ "--all", opts->pick.all },
		{ "--selector", opts->pick.selector },
		{ "--finished", opts->finished },
		{ "--older-than", opts->older_ms },
		{ "--wait", opts->wait },
		{ "--timeout", opts->timeout },
		{ "--foreground", opts->foreground },
	};

	for (size_t i = 0; i < N_ELEMENTS(list); i++)
		if (list[i].given)
			return list[i].name;
	return NULL;
}

static int delete_claims(const struct delete_opts *opts, char **argv, struct error *err)
{
	if (opts->unused && (!str_eq(*argv, "claims") || argv[1]))
		return error_set(err, ERR_USAGE,
				 "--unused is for claims: 'kftrainer delete claims "
				 "--unused'");
	if (job_option(opts))
		return error_set(err, ERR_USAGE, "%s cannot be used with claims",
				 job_option(opts));
	return opts->unused ? claims_delete_unused(&opts->where, err)
			    : claims_delete(&opts->where, opts->ignore, argv, err);
}

static int run(const void *values, int argc, char **argv, struct error *err)
{
	struct delete_opts opts = *(const struct delete_opts *)values;
	cleanup_arena struct arena arena = { 0 };
	cleanup_kube struct kube *k = NULL;
	const char *ns;
	int code;

	if (opts.unused || (claims_are_named(argv) && !str_eq(*argv, "claims")))
		return delete_claims(&opts, argv, err);
	if (check(&opts, &argc, &argv, err) ||
	    where_connect(&k, &ns, &arena, &opts.where, err))
		return -1;
	pick_skip_kind(k, ns, false, &argc, &argv);
	code = delete_all(k, ns, &opts, argv, err);
	return code < 0 ? cmd_failed(err) : code;
}

const struct cmd cmd_delete = {
	.name = "delete",
	.args = "JOB... | --finished | claims --unused",
	.summary = "delete TrainJobs and their objects",
	.about =
		"Also deletes the JobSet, Jobs, pods and all other objects of the job. A local\n"
		"job is stopped first; its logs and the volume claims of its JobSet's templates\n"
		"are deleted (unless whenDeleted is Retain), other claims are kept. 'delete\n"
		"claim/NAME' deletes a claim and its data, 'delete claims --unused' all that no\n"
		"job mounts, running, finished or suspended.",
	.example = "kftrainer delete bert\n"
		   "kftrainer delete bert gpt --wait --timeout 2m\n"
		   "kftrainer delete --finished --older-than 7d",
	.opts = opts_table,
	.opts_size = sizeof(struct delete_opts),
	.run = run,
};
