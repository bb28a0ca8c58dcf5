/* viewer.c - output of a job above one line of status (cmd/ui/viewer.h). */
#include "cmd/ui/viewer.h"

#include <errno.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/screen.h"
#include "base/str.h"
#include "base/terminal.h"
#include "base/xmalloc.h"
#include "cmd/ui/out.h"
#include "trainer/lognoise.h"
#include "trainer/traceback.h"

/* A buffer for output: a write(2) for each line would be slow. */
enum { OUTPUT_BUFFER = 65536 };

/* Lines after both filters; a process without a prefix has "" there. */
static void show_line(void *ctx, const char *prefix, const char *line, size_t len)
{
	struct viewer *v = ctx;
	char room[TRACEBACK_NAME_MAX];

	line = traceback_named(line, &len, room, sizeof(room));
	bars_line(&v->bars, *prefix ? prefix : NULL, line, len);
}

static void pass_line(void *ctx, const char *prefix, const char *line, size_t len)
{
	struct viewer *v = ctx;

	lognoise_line(v->noise, prefix, line, len,
		      v->lines_ms < 0 ? clock_ms() : v->lines_ms);
}

void viewer_begin(struct viewer *v, const char *name, bool quiet)
{
	*v = (struct viewer){ .name = name, .quiet = quiet, .lines_ms = -1 };
	v->noise = lognoise_new(show_line, v, name);
	v->tracebacks = traceback_new(pass_line, v);
	v->live = !quiet && out_terminal(STDOUT_FILENO) && out_terminal(STDERR_FILENO);
	bars_begin(&v->bars);
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
		strerror(errno), v->name);
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
	bars_erase(&v->bars);
	flush_lines(v);
	print_line(line);
	bars_draw(&v->bars);
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
	bars_erase(&v->bars);
	snprintf(v->bars.status, sizeof(v->bars.status), "%s",
		 str_visible(&arena, line, false));
	bars_draw(&v->bars);
	flush_lines(v);
}

void viewer_line(void *ctx, const char *prefix, const char *line, size_t len)
{
	struct viewer *v = ctx;
	char room[PREFIX_MAX];

	if (v->stdout_closed)
		return;
	if (v->lines_ms < 0)
		v->lines_ms = clock_ms();
	prefix = prefix_process(prefix, &line, &len, room);
	traceback_line(v->tracebacks, prefix ? prefix : "", line, len, v->lines_ms);
	if (ferror(stdout))
		flush_lines(v);
}

void viewer_state(void *ctx, const char *prefix, const char *line, size_t len, bool bar)
{
	struct viewer *v = ctx;

	if (!v->stdout_closed)
		bars_state(&v->bars, prefix, line, len, bar);
}

int64_t viewer_pause(void *ctx, bool last)
{
	struct viewer *v = ctx;
	int64_t now = clock_ms(), next = -1, times[3];

	if (v->stdout_closed)
		return -1;
	traceback_flush(v->tracebacks, last ? INT64_MAX : now - TRACEBACK_WAIT_MS);
	lognoise_flush(v->noise, last ? INT64_MAX : now - LOGNOISE_WAIT_MS);
	v->lines_ms = -1;
	times[0] = bars_draw(&v->bars);
	times[1] = traceback_wake_ms(v->tracebacks);
	times[2] = lognoise_wake_ms(v->noise);
	flush_lines(v);
	for (size_t i = 0; i < N_ELEMENTS(times); i++)
		if (times[i] >= 0 && (next < 0 || times[i] < next))
			next = times[i];
	return next;
}

void viewer_erase(struct viewer *v)
{
	(void)viewer_pause(v, true);
	bars_erase(&v->bars);
	v->bars.status[0] = 0;
	flush_lines(v);
}

void viewer_traceback(struct viewer *v)
{
	cleanup_arena struct arena arena = { 0 };
	const char *prefix, *text = traceback_first(v->tracebacks, &prefix);

	text = screen_text(&arena, text);
	if (*text)
		fprintf(stderr, "traceback%s%s:\n%s%s", *prefix ? " of " : "", prefix,
			str_visible(&arena, text, true),
			str_ends(text, "\n") ? "" : "\n");
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
