/* follow.c - show a job of a cluster until it ends (cmd/ui/follow.h). */
#include "cmd/ui/follow.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/stop.h"
#include "base/str.h"
#include "client/follow.h"
#include "cmd/cmd.h"
#include "cmd/ui/viewer.h"
#include "kube/named.h"

/* last: the last note, so that print_why() does not print the same reason again. */
struct shown {
	struct viewer viewer;
	char last[1000];
};

static void on_progress(void *ctx, const char *line)
{
	struct shown *s = ctx;

	s->last[0] = 0;
	viewer_progress(&s->viewer, line);
}

static void on_note(void *ctx, const char *line)
{
	struct shown *s = ctx;

	if (!s->viewer.quiet)
		snprintf(s->last, sizeof(s->last), "%s", line);
	viewer_note(&s->viewer, line);
}

static void on_line(void *ctx, const char *prefix, const char *line, size_t len)
{
	struct shown *s = ctx;

	s->last[0] = 0;
	viewer_line(&s->viewer, prefix, line, len);
}

static void on_state(void *ctx, const char *prefix, const char *line, size_t len,
		     bool bar)
{
	struct shown *s = ctx;

	viewer_state(&s->viewer, prefix, line, len, bar);
}

static void on_pause(void *ctx)
{
	struct shown *s = ctx;

	(void)viewer_pause(&s->viewer, false);
}

static void no_progress(void *ctx, const char *line)
{
}

static void no_line(void *ctx, const char *prefix, const char *line, size_t len)
{
}

/* The exit code if following has ended before the job. */
static int unfinished_code(const struct submit_follow *how, const char *where,
			   struct error *err)
{
	bool timeout = err->kind == ERR_TIMEOUT;

	if (!timeout && err->kind != ERR_STOPPED)
		return -1;
	cmd_complain("submit",
		     "%s: TrainJob %s keeps running; follow it with 'kftrainer "
		     "logs -f%s %s -n %s'",
		     timeout ? "timed out" : "interrupted", how->name, where, how->name,
		     how->ns);
	return timeout ? EXIT_TIMED_OUT : EXIT_BY_SIGNAL + stop_signal();
}

static void print_why(const struct submit_follow *how, const char *where,
		      const struct follow_end *end, struct shown *s)
{
	const char *last = s->last;
	cleanup_arena struct arena arena = { 0 };
	const char *again = strstr(last, end->why);

	if (*end->why && (!again || strlen(again) != strlen(end->why)))
		fprintf(stderr, "%s\n", str_visible(&arena, end->why, true));
	fold_traceback(&s->viewer.fold);
	fprintf(stderr, "see 'kftrainer why%s %s -n %s'\n", where, how->name, how->ns);
}

int submit_follow(struct kube *k, const struct submit_follow *how, struct error *err)
{
	const struct follow_opts opts = { .ns = how->ns,
					  .name = how->name,
					  .logs = how->show,
					  .timeout_ms = how->timeout_ms };
	const char *where = kube_named(k);
	struct shown s = { 0 };
	const struct follow_out out = {
		.on_progress = how->show ? on_progress : no_progress,
		.on_note = on_note,
		.on_line = how->show ? on_line : no_line,
		.on_state = on_state,
		.on_pause = on_pause,
		.ctx = &s,
	};
	cleanup_arena struct arena arena = { 0 };
	struct follow_end end = { 0 };

	viewer_begin(&s.viewer, how->name, kube_job_named(k, &arena, how->ns, how->name),
		     how->quiet);
	if (follow_job(k, &opts, &out, &end, err)) {
		viewer_erase(&s.viewer);
		return unfinished_code(how, where, err);
	}
	viewer_erase(&s.viewer);
	if (!end.complete)
		print_why(how, where, &end, &s);
	viewer_end(&s.viewer, end.complete ? "complete" : "failed", end.exit_code,
		   clock_ms() - how->start_ms);
	return end.exit_code;
}
