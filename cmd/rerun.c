/* rerun.c - send what changed, start a job in development again (client/rerun.h). */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/thread.h"
#include "client/jobs.h"
#include "client/remote.h"
#include "client/rerun.h"
#include "cmd/cmd.h"
#include "cmd/ui/cluster.h"
#include "kubelet/enter.h"
#include "spec/refer.h"
#include "trainer/carry.h"
#include "trainer/supervise_spec.h"
#include "trainer/workspace_spec.h"

enum { EXIT_OURS = 125, BY_SIGNAL = 128, HTTP_NOT_FOUND = 404 };

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

struct client {
	const struct rerun_opts *opts;
	const char *job;
	struct rerun *r;
	int output; /* of a session on this machine */
	struct error err;
};

static int on_output(void *ctx, int fd, const char *data, size_t len, struct error *err)
{
	if (!file_write_fd(fd, data, len, "output", err))
		return 0;
	err->kind = ERR_STOPPED; /* the reader has gone, or the disk is full */
	return -1;
}

static void on_send(void *ctx, size_t sent, size_t files)
{
	const struct client *c = ctx;

	if (!c->opts->quiet)
		cmd_complain("rerun", "%zu of %zu files sent", sent, files);
}

static void on_note(void *ctx, const char *text)
{
	cmd_complain("rerun", "%s", text);
}

/* ---- the session ---- */

static int take_remote(void *ctx, int fd, const char *data, size_t len, struct error *err)
{
	struct client *c = ctx;

	return rerun_read(c->r, fd, data, len, err);
}

static int run_remote(struct kube *k, const struct remote_target *target,
		      struct client *c, struct error *err)
{
	static const char *const argv[] = { CARRY_PATH "/" CARRY_PROGRAM,
					    "runtime",
					    "rerun",
					    "--dev",
					    WORKSPACE_PATH,
					    NULL };
	struct remote_io io = { .input = true,
				.in = rerun_input(c->r),
				.on_output = take_remote,
				.on_note = on_note,
				.own_signals = true,
				.ctx = c };
	int code;

	return remote_run(k, target, argv, &io, &code, err);
}

static void *read_local(void *ctx)
{
	struct client *c = ctx;
	char data[16384];
	ssize_t n;

	while ((n = read(c->output, data, sizeof(data))) > 0 || (n < 0 && errno == EINTR))
		if (n > 0 && rerun_read(c->r, STDOUT_FILENO, data, (size_t)n, &c->err))
			break;
	close(c->output); /* the session gets SIGPIPE */
	return NULL;
}

static int run_local(const struct remote_target *target, struct client *c,
		     struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_free char *self = realpath("/proc/self/exe", NULL);
	const char *argv[] = { self, "runtime", "rerun", "--dev", WORKSPACE_PATH, NULL };
	struct enter_want want = {
		.file = arena_printf(&arena, "%s/%s" ENTER_SUFFIX, target->logs,
				     target->container),
		.argv = argv,
		.input = true,
		.in = rerun_input(c->r),
	};
	pthread_t reader;
	int ends[2], code, rc;

	if (!self || pipe2(ends, O_CLOEXEC))
		return error_errno(err, errno, "pipe");
	c->output = ends[0];
	want.output = ends[1];
	if (thread_start_quiet(&reader, read_local, c, err)) {
		close(ends[0]);
		close(ends[1]);
		return -1;
	}
	rc = enter_run(&want, &code, err);
	close(ends[1]);
	pthread_join(reader, NULL);
	if (!rc && c->err.kind) {
		*err = c->err;
		return -1;
	}
	if (!rc && code > BY_SIGNAL)
		return error_set(err, ERR_STOPPED, "stopped");
	return rc ? error_wrap(err, "pod %s", target->pod) : 0;
}

/* The API of `controller --local` has no pods/exec: its pods are this machine's. */
static int run_session(struct kube *k, const struct remote_target *target,
		       struct client *c, struct error *err)
{
	if (kube_is_inside(k))
		return run_local(target, c, err);
	if (!run_remote(k, target, c, err))
		return 0;
	if (err->code != HTTP_NOT_FOUND || !target->logs)
		return -1;
	*err = (struct error){ 0 };
	return run_local(target, c, err);
}

/* ---- the job ---- */

static int not_here(const char *path, struct error *err)
{
	return error_set(err, ERR_NOT_FOUND,
			 "%s: the job's directory is not here; specify --workspace DIR",
			 path);
}

/* DEV_FROM_ANNOTATION: the path, then those of --include, a line each. */
static int read_from(struct rerun_want *want, const cJSON *tj, struct arena *arena,
		     struct error *err)
{
	const char *from = meta_annotation(tj, DEV_FROM_ANNOTATION);
	char **lines;
	size_t n;

	if (!from || *from != '/')
		return error_set(err, ERR_USAGE, "specify --workspace DIR");
	lines = str_split(arena, from, '\n', &n);
	want->path = lines[0];
	want->includes =
		(struct exclude_includes){ (const char *const *)lines + 1, n - 1 };
	return access(want->path, R_OK) ? not_here(want->path, err) : 0;
}

static int read_job(struct rerun_want *want, struct kube *k, const char *ns,
		    const struct client *c, struct arena *arena, struct error *err)
{
	cleanup_json cJSON *tj = NULL;

	if (job_get(k, ns, c->job, &tj, err))
		return -1;
	if (!meta_annotation(tj, DEV_ANNOTATION))
		return error_set(err, ERR_CONFLICT,
				 "TrainJob %s was not submitted with --dev", c->job);
	if (!c->opts->dir)
		return read_from(want, tj, arena, err);
	want->path = c->opts->dir;
	want->includes =
		(struct exclude_includes){ c->opts->include.list, c->opts->include.n };
	return 0;
}

static int rerun(struct client *c, struct kube *k, const char *ns, struct rerun_end *ret,
		 struct error *err)
{
	const struct remote_want which = { .ns = ns, .job = c->job };
	cleanup_arena struct arena arena = { 0 };
	struct rerun_want want = { .args = c->opts->args,
				   .on_output = on_output,
				   .on_send = on_send,
				   .ctx = c };
	struct remote_target target;

	if (read_job(&want, k, ns, c, &arena, err) ||
	    remote_find(&target, &arena, k, &which, err) ||
	    rerun_begin(&c->r, &want, err))
		return -1;
	(void)!run_session(k, &target, c, err);
	return rerun_finish(c->r, ret, err);
}

static int failed(const struct error *err)
{
	if (err->kind == ERR_STOPPED)
		return BY_SIGNAL + (stop_signal()        ? stop_signal()
				    : err->code == EPIPE ? SIGPIPE
							 : SIGINT);
	cmd_complain("rerun", "%s", err->msg);
	return EXIT_OURS;
}

static int run(const void *values, int argc, char **argv, struct error *err)
{
	const struct rerun_opts *o = values;
	struct client c = { .opts = o };
	cleanup_arena struct arena arena = { 0 };
	cleanup_kube struct kube *k = NULL;
	struct rerun_end end;
	const char *ns;

	if (argc != 1)
		return error_set(err, ERR_USAGE, "specify one job");
	if (o->include.n && !o->dir)
		return error_set(err, ERR_USAGE, "--include requires --workspace");
	if (refer_jobs(argv, err))
		return -1;
	c.job = argv[0];
	if (where_connect(&k, &ns, &arena, &o->where, err))
		return err->kind == ERR_USAGE ? -1 : failed(err);
	if (rerun(&c, k, ns, &end, err))
		return failed(err);
	if (*end.text)
		cmd_complain("rerun", "%s; run 'kftrainer logs %s'", end.text, c.job);
	return end.code;
}

const struct cmd cmd_rerun = {
	.name = "rerun",
	.args = "JOB [OPTIONS] [-- ARGUMENT...]",
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
