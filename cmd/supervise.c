/* supervise.c - runtime supervise: start a command again where it failed (supervise/run.h). */
#include <errno.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/supervise_export.h"
#include "cmd/supervise_runs.h"
#include "cmd/supervise_track.h"
#include "cmd/ui/env.h"
#include "supervise/run.h"

enum {
	MOST_RESTARTS = 1000000,
	GRACE_MS = 5000,
	IDLE_MS = 30 * 60 * 1000,
	LAST_CODE = 255,
	LAST_PORT = 65535,
	KEY_MAX = 64 * 1024,
};

#define RANK_ENV "JOB_COMPLETION_INDEX"

struct supervise_opts {
	int64_t restarts, grace, ranks, port, idle;
	struct opt_strs final;
	const char *message, *rank, *hub, *key, *stall_after, *dev;
	struct track_opts track;
	struct runs_opts runs;
	struct finish_opts finish;
	char **command;
};

static const struct opt opts_table[] = {
	OPT_INT(0, "restarts", "N", "start it again at most N times (default: 0)",
		struct supervise_opts, restarts, 0, MOST_RESTARTS),
	OPT_DURATION(0, "restart-grace", "TIME",
		     "time from TERM to KILL before it starts again (default: 5s)",
		     struct supervise_opts, grace, 1, OPT_LONGEST),
	OPT_STRS(0, "final", "CODE",
		 "do not start it again after this exit code, or range of codes; "
		 "repeatable",
		 struct supervise_opts, final),
	OPT_STR(0, "stall-after", "TIME",
		"take it as stalled after that time without output and progress, or "
		"\"never\" (default: by the times seen)",
		struct supervise_opts, stall_after),
	OPT_STR(0, "message", "FILE",
		"file for the last 4 KiB of output after a failure (default: "
		"/dev/termination-log)",
		struct supervise_opts, message),
	OPT_INT(0, "ranks", "N", "ranks that start and restart together (default: 1)",
		struct supervise_opts, ranks, 1, MESSAGE_RANKS),
	OPT_STR(0, "rank", "N", "this rank; else JOB_COMPLETION_INDEX",
		struct supervise_opts, rank),
	OPT_STR(0, "hub", "HOST", "the host of rank 0", struct supervise_opts, hub),
	OPT_INT(0, "port", "PORT", "rank 0's port for the other ranks (default: 29390)",
		struct supervise_opts, port, 1, LAST_PORT),
	OPT_STR(0, "key", "FILE", "the job's private key, in PEM", struct supervise_opts,
		key),
	OPT_STR(0, "track", "URI",
		"send the reported metrics to mlflow+https://HOST/EXPERIMENT",
		struct supervise_opts, track.uri),
	OPT_STR(0, "track-job", "JOB", "with --track: NAMESPACE/NAME/UID of the TrainJob",
		struct supervise_opts, track.job),
	OPT_STR(0, "track-image", "IMAGE", "with --track: the container's image",
		struct supervise_opts, track.image),
	OPT_STR(0, "dev", "DIR",
		"when it ends, wait for 'kftrainer rerun' with files for this directory",
		struct supervise_opts, dev),
	OPT_DURATION(0, "idle", "TIME", "with --dev: wait so long (default: 30m)",
		     struct supervise_opts, idle, 1, OPT_LONGEST),
	OPT_STR(0, "run-dir", "URI",
		"keep logs, metrics and checkpoints there: s3://BUCKET/PREFIX, ...",
		struct supervise_opts, runs.uri),
	OPT_STR(0, "run-job", "JSON", "with --run-dir: the TrainJob",
		struct supervise_opts, runs.job),
	OPT_STR(0, "run-code", "DIR", "with --run-dir: its code", struct supervise_opts,
		runs.code),
	OPT_STR(0, "checkpoints", "DIR",
		"with --run-dir: KFTRAINER_CHECKPOINT_DIR is DIR/RANK",
		struct supervise_opts, runs.checkpoints),
	OPT_INT(0, "keep", "N",
		"with --run-dir: keep N complete checkpoints (default: 3)",
		struct supervise_opts, runs.keep, 1, INT32_MAX),
	OPT_INT(0, "run-grace", "SECONDS", "with --run-dir: from TERM to KILL",
		struct supervise_opts, runs.grace_s, 0, INT32_MAX),
	OPT_BOOL(0, "resume", "with --run-dir: it may be that of another job",
		 struct supervise_opts, runs.resume),
	OPT_STR(0, "export-to", "URI", "when all ranks have succeeded: upload the model",
		struct supervise_opts, finish.uri),
	OPT_STR(0, "export-uid", "UID", "with --export-to: of the TrainJob",
		struct supervise_opts, finish.uid),
	OPT_STR(0, "models", "DIR", "with --export-to: KFTRAINER_MODEL_DIR is DIR/RANK",
		struct supervise_opts, finish.models),
	OPT_STRS(0, "export-arg", "ARG",
		 "with --export-to: of export-model, \"--NAME=VALUE\"; repeatable",
		 struct supervise_opts, finish.args),
	OPT_REST("COMMAND", "the command, with its arguments", struct supervise_opts,
		 command),
	{ .type = OPT_END },
};

/* "2", "3-9" */
static int read_range(bool final[256], const char *text, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	size_t n;
	char **ends = str_split(&arena, text, '-', &n);
	int64_t first, last;

	if (n < 1 || n > 2 || str_int(&first, ends[0], 1, LAST_CODE, IGNORED) ||
	    str_int(&last, ends[n - 1], first, LAST_CODE, IGNORED))
		return error_set(err, ERR_USAGE,
				 "--final '%s': expected an exit code, 1 to 255, or two "
				 "as in 3-9",
				 text);
	for (int64_t code = first; code <= last; code++)
		final[code] = true;
	return 0;
}

static int read_codes(bool final[256], const struct opt_strs *codes, struct error *err)
{
	for (size_t i = 0; i < codes->n; i++)
		if (read_range(final, codes->list[i], err))
			return -1;
	return 0;
}

static int read_stall(int64_t *ret, const char *text, struct error *err)
{
	*ret = -1;
	if (!text || str_eq(text, "never")) {
		*ret = text ? -1 : 0;
		return 0;
	}
	if (duration_parse(ret, text, IGNORED) || *ret < 1)
		return error_set(err, ERR_USAGE,
				 "--stall-after '%s': expected a time such as 10m, or "
				 "never",
				 text);
	return 0;
}

static void say(void *ctx, const char *text)
{
	cmd_complain("supervise", "%s", text);
	supervise_runs_log(text);
}

static int read_key(unsigned char ret[PSK_KEY_SIZE], const char *path, struct error *err)
{
	cleanup_buf struct buf pem = { .max = KEY_MAX };
	int rc = file_read(&pem, path, err);

	if (!rc)
		rc = psk_key(ret, pem.len ? (const char *)pem.data : "", STAR_KEY_INFO,
			     err);
	if (pem.data)
		explicit_bzero(pem.data, pem.len);
	return rc ? error_wrap(err, "--key %s", path) : 0;
}

static int read_rank(uint32_t *ret, const struct supervise_opts *o, struct error *err)
{
	const char *text = o->rank ? o->rank : env_variable(NULL, RANK_ENV);
	int64_t rank;

	if (!text)
		return error_set(err, ERR_USAGE,
				 "--ranks requires --rank, or " RANK_ENV
				 " in the environment");
	if (str_int(&rank, text, 0, o->ranks - 1, err))
		return error_wrap(err, "%s", o->rank ? "--rank" : RANK_ENV);
	*ret = (uint32_t)rank;
	return 0;
}

static int read_star(struct star_conf *ret, const struct supervise_opts *o,
		     struct error *err)
{
	*ret = (struct star_conf){ .ranks = (uint32_t)o->ranks,
				   .hub = o->hub,
				   .port = o->port ? (int)o->port : STAR_PORT,
				   .idle_ms = !o->dev   ? 0
					      : o->idle ? o->idle
							: IDLE_MS };
	if (o->ranks < 2) {
		ret->ranks = 1;
		return 0;
	}
	if (!o->hub || !o->key)
		return error_set(err, ERR_USAGE, "--ranks requires --hub and --key");
	return read_rank(&ret->rank, o, err) || read_key(ret->key, o->key, err) ? -1 : 0;
}

/* The other users of the job's reports and output. */
static int follow(struct supervise_conf *conf, const struct supervise_opts *o,
		  struct error *err)
{
	static struct supervise_tracker tracker;
	static struct supervise_rundir rundir;
	static struct report_sink sinks[3];
	static struct supervise_finish finish;

	conf->sinks = sinks;
	if (o->track.uri) {
		static struct track_opts track;

		track = o->track;
		track.kept = o->runs.uri;
		if (supervise_track(&tracker, &sinks[conf->n_sinks++], &track, o->ranks,
				    o->command, err))
			return -1;
		conf->tracker = &tracker;
	}
	if (o->runs.uri) {
		if (supervise_runs(&rundir, &sinks[conf->n_sinks++], &o->runs, conf->star,
				   err))
			return -1;
		conf->rundir = &rundir;
	}
	if (o->finish.uri) {
		if (supervise_export(&finish, &sinks[conf->n_sinks++], &o->finish,
				     conf->star ? conf->star->rank : 0, err))
			return -1;
		conf->finish = &finish;
	}
	return 0;
}

static int run(const void *values, int argc, char **argv, struct error *err)
{
	const struct supervise_opts *o = values;
	struct supervise_conf conf = {
		.rules = { .restarts = o->restarts,
			   .grace_ms = o->grace ? o->grace : GRACE_MS },
		.argv = o->command,
		.message_file = o->message ? o->message : "/dev/termination-log",
		.dev = o->dev,
		.say = say,
	};
	struct star_conf star = { 0 };
	int status;

	if (argc)
		return error_set(err, ERR_USAGE, "unexpected argument '%s'", argv[0]);
	if (!o->command || !o->command[0])
		return error_set(err, ERR_USAGE, "a command is required, after --");
	if (read_codes(conf.rules.final, &o->final, err) ||
	    read_stall(&conf.rules.stall_after_ms, o->stall_after, err))
		return -1;
	if (o->ranks > 1 || o->dev) {
		if (read_star(&star, o, err))
			return -1;
		conf.star = &star;
	}
	if (follow(&conf, o, err))
		return -1;
	if (!supervise_run(&conf, &status, err))
		return status;
	cmd_complain("supervise", "%s", err->msg);
	return err->code == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
}

const struct cmd cmd_runtime_supervise = {
	.name = "supervise",
	.args = "-- COMMAND...",
	.summary = "run a command in a pod, and start it again when it fails",
	.about =
		"Runs COMMAND in a process group, passes on its output and the signals sent to\n"
		"this process, reaps orphans, and exits with COMMAND's status (128 + N if\n"
		"signal N ended it). With --restarts, a command that fails is started again in\n"
		"the same pod once all of its processes have ended, with KFTRAINER_RESTART=1,\n"
		"2, ... in its environment. After TERM, INT or QUIT it is not started again;\n"
		"after TERM its exit codes 0 and 1 are 143, as its work was not done. A shell\n"
		"that TERM ends has not passed it on: what it ran gets it, and may end first.\n"
		"With --ranks, the commands of all ranks start and restart together. A job that\n"
		"stalls shows its processes and their Python stacks, and is started again.\n"
		"With --dev, COMMAND starts again only by 'kftrainer rerun', however it ends.",
	.example = "kftrainer runtime supervise -- echo trained\n"
		   "kftrainer runtime supervise --track mlflow+https://host/digits -- "
		   "echo trained\n"
		   "kftrainer runtime supervise --restarts 3 --final 2 -- echo trained",
	.opts = opts_table,
	.opts_size = sizeof(struct supervise_opts),
	.flags = CMD_IN_POD,
	.run = run,
};
