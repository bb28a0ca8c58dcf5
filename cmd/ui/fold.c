/* fold.c - print a job's lines, folded (cmd/ui/fold.h). */
#include "cmd/ui/fold.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/screen.h"
#include "base/str.h"
#include "logtext/firsterror.h"
#include "logtext/lognoise.h"
#include "logtext/traceback.h"

/* Lines after both filters; a process without a prefix has "" there. */
static void show_line(void *ctx, const char *prefix, const char *line, size_t len)
{
	struct fold *f = ctx;
	char room[TRACEBACK_NAME_MAX];

	line = traceback_named(line, &len, room, sizeof(room));
	bars_line(&f->bars, *prefix ? prefix : NULL, line, len);
}

static void pass_line(void *ctx, const char *prefix, const char *line, size_t len)
{
	struct fold *f = ctx;

	lognoise_line(f->noise, prefix, line, len,
		      f->lines_ms < 0 ? clock_ms() : f->lines_ms);
}

void fold_begin(struct fold *f, const char *named)
{
	*f = (struct fold){ .lines_ms = -1 };
	f->noise = lognoise_new(show_line, f, named);
	f->tracebacks = traceback_new(pass_line, f);
	bars_begin(&f->bars);
}

void fold_line(struct fold *f, const char *prefix, const char *line, size_t len)
{
	char room[PREFIX_MAX];

	if (f->lines_ms < 0)
		f->lines_ms = clock_ms();
	prefix = prefix_process(prefix, &line, &len, room);
	traceback_line(f->tracebacks, prefix ? prefix : "", line, len, f->lines_ms);
}

void fold_flush(struct fold *f)
{
	traceback_flush(f->tracebacks, INT64_MAX);
	lognoise_flush(f->noise, INT64_MAX);
}

int64_t fold_pause(struct fold *f, bool last)
{
	int64_t now = clock_ms(), next = -1, times[3];

	traceback_flush(f->tracebacks, last ? INT64_MAX : now - TRACEBACK_WAIT_MS);
	lognoise_flush(f->noise, last ? INT64_MAX : now - LOGNOISE_WAIT_MS);
	f->lines_ms = -1;
	times[0] = bars_draw(&f->bars);
	times[1] = traceback_wake_ms(f->tracebacks);
	times[2] = lognoise_wake_ms(f->noise);
	for (size_t i = 0; i < N_ELEMENTS(times); i++)
		if (times[i] >= 0 && (next < 0 || times[i] < next))
			next = times[i];
	return next;
}

bool fold_any(const struct fold *f)
{
	return traceback_any_folded(f->tracebacks);
}

void fold_traceback(const struct fold *f)
{
	cleanup_arena struct arena arena = { 0 };
	const char *prefix, *text;
	const struct first_error *e = traceback_first(f->tracebacks, &prefix);

	if (!e || !e->traceback.len)
		return;
	text = screen_text(&arena, first_error_text(&e->traceback));
	fprintf(stderr, "traceback%s%s:\n%s%s", *prefix ? " of " : "", prefix,
		str_visible(&arena, text, true), str_ends(text, "\n") ? "" : "\n");
}
