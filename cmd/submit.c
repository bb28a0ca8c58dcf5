/*
 * submit.c - run a TrainJob: here, or (later) on a cluster.
 */
#include <stdio.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/job.h"
#include "cmd/local.h"
#include "cmd/render.h"

enum dry_run { DRY_RUN_NONE, DRY_RUN_CLIENT, DRY_RUN_SERVER };
static const char *const dry_runs[] = { "none", "client", "server", NULL };

struct submit_opts {
	struct job_opts job;
	bool local, quiet;
	int dry_run, output;
};

static const struct opt opts_table[] = {
	JOB_FILE_OPTIONS(struct submit_opts),
	OPT_BOOL(0, "local", "run it as processes of this machine", struct submit_opts,
		 local),
	{ .type = OPT_ENUM,
	  .name = "dry-run",
	  .value = "WHERE",
	  .bare = "client",
	  .help = "only show what a cluster would get",
	  .words = dry_runs,
	  .offset = OPT_ENUM_FIELD(struct submit_opts, dry_run) },
	OPT_ENUM('o', "output", "FORMAT", "how --dry-run shows it", struct submit_opts,
		 output, render_formats),
	OPT_BOOL('q', "quiet", "no progress, only the job's own output",
		 struct submit_opts, quiet),
	OPT_STR(0, "runtime", "RUNTIME", "no file: a TrainJob for this runtime",
		struct submit_opts, job.runtime),
	JOB_FLAG_OPTIONS(struct submit_opts),
	{ .type = OPT_END },
};

/* FILE may stand alone or behind -f; without one there must be a runtime. */
static int settle_file(struct job_opts *job, int argc, char **argv, struct error *err)
{
	const char *flag = job_opts_flag(job);

	if (argc > 1 || (argc && job->file))
		return error_set(err, ERR_USAGE,
				 "unexpected argument '%s': one file, and a command "
				 "after '--'",
				 argv[argc > 1]);
	if (argc)
		job->file = argv[0];
	if (job->file && flag)
		return error_set(err, ERR_USAGE,
				 "%s goes with --runtime, not with a file", flag);
	if (!job->file && !job->runtime)
		return error_set(err, ERR_USAGE,
				 flag ? "%s needs --runtime"
				      : "give a file, or --runtime%s",
				 flag ? flag : "");
	return 0;
}

static int submit_local(struct job_set *set, const struct submit_opts *opts,
			struct error *err)
{
	if (set->n > 1)
		return error_set(err, ERR_INVALID,
				 "%s has %zu TrainJobs; --local runs one", opts->job.file,
				 set->n);
	job_add_config(set, &set->list[0]);
	return local_submit(&set->list[0], opts->quiet, err);
}

static int run(const void *values, int argc, char **argv, struct error *err)
{
	struct submit_opts opts = *(const struct submit_opts *)values;
	cleanup_job_set struct job_set set = { 0 };
	int code;

	if (settle_file(&opts.job, argc, argv, err))
		return -1;
	if (opts.local && opts.dry_run)
		return error_set(err, ERR_USAGE, "--local or --dry-run, not both");
	if (!opts.local && opts.dry_run != DRY_RUN_CLIENT) {
		cmd_complain("submit",
			     "%s is not built yet; --local runs the job here, "
			     "--dry-run=client shows what a cluster would get",
			     opts.dry_run ? "--dry-run=server"
					  : "sending a job to a cluster");
		return EXIT_UNAVAILABLE;
	}
	code = job_set_load(&set, &opts.job, opts.local, "submit", err);
	if (code)
		return code;
	if (opts.local)
		return submit_local(&set, &opts, err);
	return render_jobs(&set, render_formats[opts.output], err);
}

const struct cmd cmd_submit = {
	.name = "submit",
	.args = "[FILE|-] [-- COMMAND...]",
	.summary = "run a TrainJob",
	.about = "The file holds a TrainJob, and runtimes if you like; other runtimes "
		 "are the\n"
		 "built-in ones (see 'kftrainer runtime list') and those of "
		 "--runtime-file.\n"
		 "Without a file, --runtime and the options below it describe the "
		 "TrainJob.\n"
		 "\n"
		 "With --local the exit code is the job's: 0, or that of the first "
		 "process that\n"
		 "failed. Sending a job to a cluster is not built yet.",
	.example = "kftrainer submit --local job.yaml\n"
		   "kftrainer submit --dry-run=client -o yaml job.yaml\n"
		   "kftrainer submit --local --runtime torch-distributed --nodes 2 \\\n"
		   "    --nproc-per-node 2 --env A=b -- torchrun train.py",
	.opts = opts_table,
	.opts_size = sizeof(struct submit_opts),
	.run = run,
};
