/* rerun.c - send what changed, start a job in development again (client/rerun_job.h). */
#include <errno.h>
#include <signal.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/stop.h"
#include "client/rerun_job.h"
#include "cmd/cmd.h"
#include "cmd/ui/cluster.h"
#include "cmd/ui/out.h"
#include "kube/named.h"
#include "spec/refer.h"

struct rerun_opts {
	struct where_opts where;
	const char *dir;
	struct opt_strs include;
	bool quiet;
	char **args;
};

static const struct opt opts_table[] = {
	WHERE_OPTIONS(struct rerun_opts),
	OPT_STR(0, "workspace", "DIR", "send this directory (default: that of 'submit')",
		struct rerun_opts, dir),
	OPT_STRS(0, "include", "PATH",
		 "with --workspace: include a file that would be excluded",
		 struct rerun_opts, include),
	OPT_BOOL('q', "quiet", "print only the command's output", struct rerun_opts,
		 quiet),
	OPT_REST("ARGUMENT", "arguments to append to the command, for this run",
		 struct rerun_opts, args),
	{ .type = OPT_END },
};

static void on_send(void *ctx, size_t sent, size_t files)
{
	const struct rerun_opts *o = ctx;

	if (!o->quiet)
		cmd_complain("rerun", "%zu of %zu files sent", sent, files);
}

static void on_note(void *ctx, const char *text)
{
	cmd_complain("rerun", "%s", text);
}

static int failed(const struct error *err)
{
	if (err->kind == ERR_STOPPED && stop_signal())
		return EXIT_BY_SIGNAL + stop_signal();
	if (err->kind == ERR_STOPPED && (!err->code || err->code == EPIPE))
		return EXIT_BY_SIGNAL + (err->code ? SIGPIPE : SIGINT);
	cmd_complain("rerun", "%s", err->msg);
	return EXIT_OURS;
}

static int run(const void *values, int argc, char **argv, struct error *err)
{
	struct rerun_opts o = *(const struct rerun_opts *)values;
	struct rerun_job job = {
		.want = { .path = o.dir,
			  .includes = { o.include.list, o.include.n },
			  .args = o.args,
			  .on_output = out_bytes,
			  .on_send = on_send,
			  .ctx = &o },
		.on_note = on_note,
	};
	cleanup_arena struct arena arena = { 0 };
	cleanup_kube struct kube *k = NULL;
	struct rerun_end end;

	if (argc != 1)
		return error_set(err, ERR_USAGE, "specify one job");
	if (o.include.n && !o.dir)
		return error_set(err, ERR_USAGE, "--include requires --workspace");
	if (refer_jobs(argv, err))
		return -1;
	job.name = argv[0];
	if (where_connect(&k, &job.ns, &arena, &o.where, err))
		return err->kind == ERR_USAGE ? -1 : failed(err);
	if (rerun_job(k, &job, &end, err))
		return failed(err);
	if (*end.text)
		cmd_complain("rerun", "%s; run 'kftrainer logs %s'", end.text,
			     kube_job_named(k, &arena, job.ns, job.name));
	return end.code;
}

const struct cmd cmd_rerun = {
	.name = "rerun",
	.args = "JOB [-- ARGUMENT...]",
	.summary = "send what changed, and start a job in development again",
	.about =
		"For a job of 'submit --dev': sends those files of its directory that changed to\n"
		"all of its pods, removes those that were deleted, starts the command again on\n"
		"all ranks, and follows its output. Exits with its exit code, or with 125 if this\n"
		"program fails; the job is then as before. Nothing changes, and a command that\n"
		"runs goes on, until all pods have everything.\n"
		"\n"
		"Ctrl-C ends this program, not the command. In a cluster, needs the rights to get\n"
		"and create pods/exec.",
	.example = "kftrainer rerun digits\n"
		   "kftrainer rerun digits -- --lr 0.01",
	.opts = opts_table,
	.opts_size = sizeof(struct rerun_opts),
	.run = run,
};
