/* supervise_runs.c - runtime supervise --run-dir, and its other half, runtime resume. */
#include "cmd/supervise_runs.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/ui/env.h"
#include "runs/resume.h"
#include "runs/runs.h"

enum {
	END_MS = 60 * 1000,
	POLL_MS = 50,
	GRACE_MS = 30 * 1000, /* of a pod that says none */
	LAST_MS = 3 * 1000,   /* of the grace: for the end of this process */
	MOST_ATTEMPTS = INT32_MAX,
};

/* One in a process. */
static struct uploads {
	struct runs_conf conf;
	_Atomic(struct runs *) runs; /* NULL: not open yet; its threads ask, too */
	const struct runs_opts *opts;
	cJSON *job;
	bool flushing, given_up;
	int64_t until; /* then what is not sent is given up; by clock_ms() */
} uploads = { .until = INT64_MAX };

static void say(void *ctx, const char *text)
{
	cmd_complain("supervise", "%s", text);
	supervise_runs_log(text);
}

void supervise_runs_log(const char *text)
{
	if (uploads.runs)
		runs_log(uploads.runs, text);
}

static int open_it(void *ctx, int *ret_fd, struct error *err)
{
	struct uploads *k = ctx;
	struct runs *runs;

	if (runs_open(&runs, &k->conf, err))
		return -1;
	k->runs = runs;
	*ret_fd = runs ? runs_fd(runs) : -1;
	if (!runs)
		say(k, "run directory: all ranks of this job have succeeded before: this "
		       "one has nothing left to do");
	return 0;
}

static void limit_uploads(void *ctx, bool at_once)
{
	struct uploads *k = ctx;
	int64_t grace = k->conf.grace_ms ? k->conf.grace_ms : GRACE_MS;

	grace -= grace / 3 < LAST_MS ? grace / 3 : LAST_MS;
	if (at_once)
		k->until = clock_ms();
	else if (k->until == INT64_MAX)
		k->until = clock_ms() + grace;
}

static uint32_t attempt(void *ctx)
{
	return runs_attempt(((struct uploads *)ctx)->runs);
}

/* kftrainer runtime resume ... -- COMMAND: as a child, it may wait and fail. */
static char *const *command(void *ctx, struct arena *arena, char *const *own,
			    uint32_t number, int64_t restart)
{
	struct uploads *k = ctx;
	size_t n = 0, i = 0;
	const char **argv;

	runs_begin(k->runs, number, restart);
	if (!k->conf.dir)
		return own;
	while (own[n])
		n++;
	argv = arena_alloc(arena, (n + 16) * sizeof(*argv));
	argv[i++] = "/proc/self/exe";
	argv[i++] = "runtime";
	argv[i++] = "resume";
	argv[i++] = "--run-dir";
	argv[i++] = k->conf.uri;
	argv[i++] = "--rank";
	argv[i++] = arena_printf(arena, "%u", k->conf.rank);
	argv[i++] = "--ranks";
	argv[i++] = arena_printf(arena, "%u", k->conf.ranks);
	argv[i++] = "--attempt";
	argv[i++] = arena_printf(arena, "%u", number);
	if (k->opts->job) {
		argv[i++] = "--run-job";
		argv[i++] = k->opts->job;
	}
	argv[i++] = "--";
	memcpy(argv + i, own, n * sizeof(*argv));
	return (char *const *)argv;
}

static void output(void *ctx, const void *data, size_t len)
{
	struct uploads *k = ctx;

	if (k->runs)
		runs_output(k->runs, data, len);
}

static uint32_t exchange_sync(void *ctx, uint32_t received)
{
	struct uploads *k = ctx;

	if (k->conf.rank) {
		runs_sync_received(k->runs, received);
		return runs_sync_acked(k->runs);
	}
	runs_sync_acked_by_all(k->runs, received);
	return runs_sync(k->runs);
}

static void report_counts(void *ctx, const void *body, size_t len)
{
	runs_count(((struct uploads *)ctx)->runs, body, len);
}

static void ended(void *ctx, int status)
{
	runs_ended(((struct uploads *)ctx)->runs, status);
}

static void flush(void *ctx, bool on)
{
	struct uploads *k = ctx;

	k->flushing = on;
	if (on)
		runs_flush(k->runs);
	else
		runs_unflush(k->runs);
}

/* Print once which files are not uploaded. */
static void give_up(struct uploads *k)
{
	char text[1100];

	if (k->given_up || !runs_unsent(k->runs, text, sizeof(text)))
		return;
	k->given_up = true;
	say(k, text);
}

static bool flushed(void *ctx)
{
	struct uploads *k = ctx;

	if (runs_is_flushed(k->runs))
		return true;
	if (clock_ms() < k->until)
		return false;
	give_up(k);
	return true;
}

static void end(void *ctx, int status, bool stopped)
{
	runs_end(((struct uploads *)ctx)->runs, status, stopped);
}

static void alone(void *ctx)
{
	runs_alone(((struct uploads *)ctx)->runs);
}

static void close_it(void *ctx, int status, bool stopped)
{
	struct uploads *k = ctx;
	int64_t until = clock_ms() + END_MS;

	if (!k->runs)
		return;
	if (!k->flushing)
		flush(k, true);
	else if (!runs_is_flushed(k->runs))
		until = 0;
	while (!flushed(k) && clock_ms() < until)
		clock_sleep_ms(POLL_MS);
	give_up(k);
	runs_close(k->runs, status, stopped, k->given_up ? LAST_MS / 4 : END_MS);
}

static void report(void *ctx, const char *json, size_t len, int64_t unix_ms)
{
	struct uploads *k = ctx;

	if (k->runs)
		runs_report(k->runs, json, len, unix_ms);
}

static int parse_job(cJSON **ret, const char *text, struct error *err)
{
	*ret = NULL;
	return text && json_parse(ret, text, strlen(text), err)
		       ? error_wrap(err, "--run-job")
		       : 0;
}

int supervise_runs(struct supervise_rundir *ret, struct report_sink *ret_sink,
		   const struct runs_opts *o, const struct star_conf *star,
		   struct error *err)
{
	struct uploads *k = &uploads;
	char dir[PATH_MAX];

	if (parse_job(&k->job, o->job, err))
		return -1;
	snprintf(dir, sizeof(dir), "%s/%u", o->checkpoints ? o->checkpoints : "",
		 star ? star->rank : 0);
	if (o->checkpoints)
		setenv(RUNS_DIR_ENV, dir, 1);
	k->opts = o;
	k->conf = (struct runs_conf){ .uri = o->uri,
				      .env = env_variable,
				      .job = k->job,
				      .code = o->code,
				      .dir = env_variable(NULL, RUNS_DIR_ENV),
				      .version = VERSION,
				      .rank = star ? star->rank : 0,
				      .ranks = star ? star->ranks : 1,
				      .keep = o->keep ? o->keep : RUNS_KEEP,
				      .grace_ms = o->grace_s * 1000,
				      .resume = o->resume,
				      .say = say };
	*ret_sink = (struct report_sink){ report, k };
	*ret = (struct supervise_rundir){ .open = open_it,
					  .stop_requested = limit_uploads,
					  .attempt = attempt,
					  .command = command,
					  .output = output,
					  .sync = exchange_sync,
					  .report = report_counts,
					  .ended = ended,
					  .flush = flush,
					  .flushed = flushed,
					  .end = end,
					  .alone = alone,
					  .close = close_it,
					  .ctx = k };
	return 0;
}

/* ---- runtime resume ---- */

struct resume_opts {
	const char *uri, *job;
	int64_t rank, ranks, attempt;
	char **command;
};

static const struct opt resume_table[] = {
	OPT_STR(0, "run-dir", "URI", "the run directory", struct resume_opts, uri),
	OPT_STR(0, "run-job", "JSON", "the TrainJob", struct resume_opts, job),
	OPT_INT(0, "rank", "N", "this rank", struct resume_opts, rank, 0, MESSAGE_RANKS),
	OPT_INT(0, "ranks", "N", "of so many", struct resume_opts, ranks, 1,
		MESSAGE_RANKS),
	OPT_INT(0, "attempt", "N", "of this attempt", struct resume_opts, attempt, 0,
		MOST_ATTEMPTS),
	OPT_REST("COMMAND", "the command, with its arguments", struct resume_opts,
		 command),
	{ .type = OPT_END },
};

static void say_alone(void *ctx, const char *text)
{
	cmd_complain("supervise", "%s", text);
}

static int prepare(const struct resume_opts *o, const char *dir, struct arena *arena,
		   const char **ret, struct error *err)
{
	const char *restart = env_variable(NULL, "KFTRAINER_RESTART");
	cleanup_json cJSON *job = NULL;
	struct resume_conf conf = { .dir = dir,
				    .rank = (uint32_t)o->rank,
				    .ranks = (uint32_t)o->ranks,
				    .attempt = (uint32_t)o->attempt,
				    .say = say_alone };
	struct rundir rundir;
	int rc;

	if (parse_job(&job, o->job, err) || !restart ||
	    str_int(&conf.restart, restart, 0, INT32_MAX, err) ||
	    rundir_open(&rundir, o->uri, env_variable, NULL, err))
		return restart ? -1 : error_set(err, ERR_USAGE, "no KFTRAINER_RESTART");
	conf.job = job;
	rc = resume_prepare(&conf, &rundir, arena, ret, err);
	rundir_close(&rundir);
	return rc;
}

static int run(const void *values, int argc, char **argv, struct error *err)
{
	const struct resume_opts *o = values;
	const char *dir = env_variable(NULL, RUNS_DIR_ENV), *name = NULL;
	cleanup_arena struct arena arena = { 0 };
	int why;

	if (!o->uri || !o->ranks || !dir || !o->command || !o->command[0])
		return error_set(err, ERR_USAGE,
				 "--run-dir, --ranks, a command and " RUNS_DIR_ENV
				 " are required");
	signal(SIGPIPE, SIG_IGN);
	if (prepare(o, dir, &arena, &name, err)) {
		cmd_complain("supervise", "run directory: %s", err->msg);
		return EXIT_FAILED;
	}
	signal(SIGPIPE, SIG_DFL);
	if (name)
		setenv("KFTRAINER_RESUME_FROM", path_join(&arena, dir, name), 1);
	else
		unsetenv("KFTRAINER_RESUME_FROM");
	execvp(o->command[0], o->command);
	why = errno;
	cmd_complain("supervise", "%s: %s", o->command[0], strerror(why));
	return why == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
}

const struct cmd cmd_runtime_resume = {
	.name = "resume",
	.args = "-- COMMAND...",
	.summary = "fetch the newest checkpoint of a run directory, then run a command",
	.opts = resume_table,
	.opts_size = sizeof(struct resume_opts),
	.flags = CMD_HIDDEN,
	.run = run,
};
