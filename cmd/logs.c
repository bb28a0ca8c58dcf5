/* logs.c - print the output of a job's processes (client/logs.h). */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/stop.h"
#include "base/str.h"
#include "client/logs.h"
#include "cmd/cmd.h"
#include "cmd/ui/cluster.h"
#include "cmd/ui/fold.h"
#include "cmd/ui/from.h"
#include "kube/named.h"
#include "logtext/traceback.h"
#include "spec/refer.h"

enum { OUT_BYTES = 64 * 1024 };

struct logs_opts {
	struct where_opts where;
	const char *from;
	const char *rank, *step, *container, *tail, *since_time;
	int64_t since;
	bool follow, all, previous, timestamps, raw;
};

static const struct opt opts_table[] = {
	WHERE_OPTIONS(struct logs_opts),
	FROM_OPTION(struct logs_opts),
	OPT_BOOL('f', "follow", "follow the output until the job finishes",
		 struct logs_opts, follow),
	OPT_STR(0, "rank", "N",
		"only the node of this rank (PET_NODE_RANK, not a process's rank)",
		struct logs_opts, rank),
	OPT_STR(0, "step", "STEP", "only this step: initializer, launcher, node, ...",
		struct logs_opts, step),
	OPT_STR('c', "container", "NAME", "only containers with this name",
		struct logs_opts, container),
	OPT_BOOL(0, "all", "include init containers and replaced pods", struct logs_opts,
		 all),
	OPT_BOOL('p', "previous", "the run of each container before its last restart",
		 struct logs_opts, previous),
	OPT_STR(0, "tail", "N", "only the last N lines of each process; -1: all",
		struct logs_opts, tail),
	OPT_DURATION(0, "since", "TIME", "only lines newer than this: 5m, 1h30m",
		     struct logs_opts, since, 1, OPT_LONGEST),
	OPT_STR(0, "since-time", "TIME",
		"only lines after this time: 2026-11-30T14:05:00Z", struct logs_opts,
		since_time),
	OPT_BOOL(0, "timestamps", "print the time of each line", struct logs_opts,
		 timestamps),
	OPT_BOOL(0, "raw",
		 "all bytes as they were written: each state of a progress bar, escapes",
		 struct logs_opts, raw),
	{ .type = OPT_END },
};

static int number(int64_t *ret, const char *option, const char *text, int64_t min,
		  struct error *err)
{
	*ret = -1;
	if (!text || !str_int(ret, text, min, INT32_MAX, err))
		return 0;
	error_wrap(err, "%s", option);
	err->kind = ERR_USAGE;
	return -1;
}

/* --since or --since-time, as a second since 1970; 0: neither, or of 1970. */
static int since_second(int64_t *ret, const struct logs_opts *opts, struct error *err)
{
	*ret = 0;
	if (opts->since && opts->since_time)
		return error_set(err, ERR_USAGE,
				 "specify --since or --since-time, not both");
	if (opts->since)
		*ret = clock_now() - (opts->since + 999) / 1000;
	if (!opts->since_time || !time_parse(ret, opts->since_time, err))
		return 0;
	error_wrap(err, "--since-time");
	err->kind = ERR_USAGE;
	return -1;
}

struct shown {
	struct fold fold;
	bool raw, timestamps;
	bool in_turn;          /* pods follow each other, each with all of its lines */
	int64_t written_ms;    /* the line, by its timestamp */
	char last[PREFIX_MAX]; /* the prefix of the last line */
};

/* The folded lines of a pod are reported before the next pod's. */
static void begin_pod(struct shown *s, const char *prefix)
{
	if (s->last[0])
		fold_flush(&s->fold);
	snprintf(s->last, sizeof(s->last), "%s", prefix);
}

static void on_line(void *ctx, const char *prefix, const char *line, size_t len)
{
	struct shown *s = ctx;
	char room[TRACEBACK_NAME_MAX];

	if (s->in_turn && prefix && strncmp(prefix, s->last, sizeof(s->last) - 1) != 0)
		begin_pod(s, prefix);
	if (s->in_turn) /* the first error is the first in time, not in order of pods */
		s->fold.lines_ms = s->written_ms;
	if (!s->raw && !s->timestamps)
		return fold_line(&s->fold, prefix, line, len);
	if (!s->raw) {
		line = traceback_named(line, &len, room, sizeof(room));
		return bars_line(&s->fold.bars, prefix, line, len);
	}
	if (prefix)
		printf("[%s] ", prefix);
	fwrite(line, 1, len, stdout);
	putchar('\n');
}

static void on_state(void *ctx, const char *prefix, const char *line, size_t len,
		     bool bar)
{
	struct shown *s = ctx;

	if (!s->raw)
		bars_state(&s->fold.bars, prefix, line, len, bar);
}

static void on_bytes(void *ctx, const char *data, size_t len)
{
	fwrite(data, 1, len, stdout);
}

/* Our messages: what is drawn must be gone from the terminal before. */
static void erase(struct shown *s)
{
	bars_erase(&s->fold.bars);
	fflush(stdout);
}

static void on_note(void *ctx, const char *text)
{
	erase(ctx);
	cmd_complain("logs", "%s", text);
}

static void on_alone(void *ctx, const char *text)
{
	erase(ctx);
	cmd_complain("logs", "warning: %s", text);
}

/* main() reports errors of stdout. */
static int on_pause(void *ctx, struct error *err)
{
	struct shown *s = ctx;

	if (s->in_turn) /* lines that are held are old, but soon complete */
		(void)bars_draw(&s->fold.bars);
	else
		(void)fold_pause(&s->fold, false);
	return fflush(stdout) ? error_set(err, ERR_STOPPED, "output closed") : 0;
}

/* The cause, where the output has folded what other processes said of it. */
static void end_lines(struct shown *s)
{
	(void)fold_pause(&s->fold, true);
	erase(s);
	if (fold_any(&s->fold) && !ferror(stdout))
		fold_traceback(&s->fold);
}

static int show(struct kube *k, const struct logs_want *want, struct error *err)
{
	struct shown s = { .raw = want->raw,
			   .timestamps = want->timestamps,
			   .in_turn = !want->follow };
	const struct logs_out out = { .on_line = on_line,
				      .on_state = on_state,
				      .on_bytes = on_bytes,
				      .on_note = on_note,
				      .on_alone = on_alone,
				      .on_pause = on_pause,
				      .written_ms = &s.written_ms,
				      .ctx = &s };
	cleanup_arena struct arena arena = { 0 };
	int failed;

	setvbuf(stdout, NULL, _IOFBF, OUT_BYTES);
	fold_begin(&s.fold, kube_job_named(k, &arena, want->ns, want->job));
	failed = logs_run(k, want, &out, err);
	end_lines(&s);
	if (!failed)
		return EXIT_OK;
	if (err->kind == ERR_STOPPED && !stop_signal())
		return EXIT_FAILED; /* stdout was closed */
	return cmd_failed(err);
}

static int run(const void *values, int argc, char **argv, struct error *err)
{
	const struct logs_opts *opts = values;
	struct logs_want want = {
		.step = opts->step,
		.container = opts->container,
		.all = opts->all,
		.previous = opts->previous,
		.follow = opts->follow,
		.timestamps = opts->timestamps,
		.raw = opts->raw,
	};
	const struct from from = { .uri = opts->from,
				   .logs = true,
				   .follow = opts->follow };
	struct where_opts where = opts->where;
	cleanup_arena struct arena arena = { 0 };
	cleanup_history struct history *history = NULL;
	cleanup_kube struct kube *k = NULL;
	int damaged = from_open(&history, &from, &where, &argc, &argv, err), code;

	if (damaged < 0)
		return -1;
	if (damaged)
		cmd_complain("logs", "%s", err->msg);
	*err = (struct error){ 0 };
	if (argc != 1)
		return error_set(err, ERR_USAGE, "specify one job");
	if (opts->follow && opts->previous)
		return error_set(err, ERR_USAGE,
				 "specify --follow or --previous, not both");
	if (refer_jobs(argv, err) || number(&want.rank, "--rank", opts->rank, 0, err) ||
	    number(&want.tail, "--tail", opts->tail, -1, err) ||
	    since_second(&want.since, opts, err) ||
	    where_connect(&k, &want.ns, &arena, &where, err))
		return -1;
	want.job = argv[0];
	code = show(k, &want, err);
	return code == EXIT_OK && damaged ? EXIT_FAILED : code;
}

const struct cmd cmd_logs = {
	.name = "logs",
	.args = "JOB | --from URI",
	.summary = "print the output of a job's processes",
	.about =
		"With several processes, each line is prefixed with its process. Waits until one\n"
		"has started; -f waits for all, and continues across restarts, replaced pods and\n"
		"lost connections without losing or repeating lines, and shows reported progress\n"
		"on standard error. Without a cluster: local jobs (submit --local).",
	.example = "kftrainer logs -f digits\n"
		   "kftrainer logs digits --rank 0 --tail 20\n"
		   "kftrainer logs digits --step initializer --since 10m",
	.opts = opts_table,
	.opts_size = sizeof(struct logs_opts),
	.run = run,
};
