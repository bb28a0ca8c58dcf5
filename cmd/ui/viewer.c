/* viewer.c - output of a job above one line of status (cmd/ui/viewer.h). */
#include "cmd/ui/viewer.h"

#include <errno.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/terminal.h"
#include "base/xmalloc.h"
#include "cmd/ui/out.h"

/* A buffer for output: a write(2) for each line would be slow. */
enum { OUTPUT_BUFFER = 65536 };

void viewer_begin(struct viewer *v, const char *name, const char *named, bool quiet)
{
	*v = (struct viewer){ .name = name, .named = named, .quiet = quiet };
	fold_begin(&v->fold, named);
	v->live = !quiet && out_terminal(STDOUT_FILENO) && out_terminal(STDERR_FILENO);
	fflush(stdout);
	setvbuf(stdout, xmalloc(OUTPUT_BUFFER), _IOFBF, OUTPUT_BUFFER);
}

/* A closed stdout does not end the job: its logs are on disk. */
static void flush_lines(struct viewer *v)
{
	if (!fflush(stdout) && !ferror(stdout))
		return;
	v->stdout_closed = true;
	fprintf(stderr,
		"kftrainer submit: writing the output failed: %s; the job keeps running, "
		"see 'kftrainer logs %s'\n",
		strerror(errno), v->named);
	__fpurge(stdout);
	clearerr(stdout);
}

static void print_line(const char *line)
{
	cleanup_arena struct arena arena = { 0 };

	fprintf(stderr, "%s\n", str_visible(&arena, line, false));
}

void viewer_note(void *ctx, const char *line)
{
	struct viewer *v = ctx;

	if (v->quiet)
		return;
	bars_erase(&v->fold.bars);
	flush_lines(v);
	print_line(line);
	bars_draw(&v->fold.bars);
	flush_lines(v);
}

void viewer_progress(void *ctx, const char *line)
{
	cleanup_arena struct arena arena = { 0 };
	struct viewer *v = ctx;

	if (v->quiet)
		return;
	if (!v->live) {
		if (progress_is_due(&v->pace, line, clock_ms()))
			print_line(line);
		return;
	}
	if (progress_turns_nan(&v->pace, line))
		viewer_note(v, line);
	bars_erase(&v->fold.bars);
	snprintf(v->fold.bars.status, sizeof(v->fold.bars.status), "%s",
		 str_visible(&arena, line, false));
	bars_draw(&v->fold.bars);
	flush_lines(v);
}

void viewer_line(void *ctx, const char *prefix, const char *line, size_t len)
{
	struct viewer *v = ctx;

	if (v->stdout_closed)
		return;
	fold_line(&v->fold, prefix, line, len);
	if (ferror(stdout))
		flush_lines(v);
}

void viewer_state(void *ctx, const char *prefix, const char *line, size_t len, bool bar)
{
	struct viewer *v = ctx;

	if (!v->stdout_closed)
		bars_state(&v->fold.bars, prefix, line, len, bar);
}

int64_t viewer_pause(void *ctx, bool last)
{
	struct viewer *v = ctx;
	int64_t next;

	if (v->stdout_closed)
		return -1;
	next = fold_pause(&v->fold, last);
	flush_lines(v);
	return next;
}

void viewer_erase(struct viewer *v)
{
	(void)viewer_pause(v, true);
	bars_erase(&v->fold.bars);
	v->fold.bars.status[0] = 0;
	flush_lines(v);
}

void viewer_end(struct viewer *v, const char *word, int exit_code, int64_t ms)
{
	cleanup_arena struct arena arena = { 0 };
	bool colour = out_colour(STDERR_FILENO);
	char why[50] = "";

	viewer_erase(v);
	if (v->quiet && !exit_code)
		return;
	if (exit_code)
		snprintf(why, sizeof(why), ", exit code %d", exit_code);
	fprintf(stderr, "%s: %s%s%s in %s%s\n", v->name,
		!colour     ? ""
		: exit_code ? "\033[31m"
			    : "\033[32m",
		word, colour ? "\033[0m" : "", out_duration(&arena, ms), why);
}
