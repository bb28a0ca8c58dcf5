/* bars.c - progress bars below the lines of processes (cmd/ui/bars.h). */
#include "cmd/ui/bars.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "base/terminal.h"
#include "cmd/ui/out.h"

void bars_begin(struct bars *b)
{
	*b = (struct bars){ .live = out_terminal(STDOUT_FILENO) };
	prefix_begin(&b->prefixes);
}

void bars_erase(struct bars *b)
{
	if (b->drawn)
		fputs("\r\033[K", stdout);
	for (; b->drawn > 1; b->drawn--)
		fputs("\033[A\033[K", stdout);
	b->drawn = 0;
}

static struct bar *find(struct bars *b, const char *prefix)
{
	for (size_t i = 0; i < BARS_ROWS; i++)
		if (b->list[i].used && str_eq(b->list[i].prefix, prefix ? prefix : ""))
			return &b->list[i];
	return NULL;
}

/* An unused place, or that of the state that is oldest. */
static struct bar *add(struct bars *b, const char *prefix)
{
	struct bar *ret = &b->list[0];

	for (size_t i = 0; i < BARS_ROWS; i++) {
		struct bar *bar = &b->list[i];

		if (!bar->used || (ret->used && bar->changed < ret->changed))
			ret = bar;
		if (!ret->used)
			break;
	}
	*ret = (struct bar){ .used = true, .shown_ms = clock_ms() };
	snprintf(ret->prefix, sizeof(ret->prefix), "%s", prefix ? prefix : "");
	return ret;
}

static const char *prefix_of(const struct bar *bar)
{
	return *bar->prefix ? bar->prefix : NULL;
}

void bars_line(struct bars *b, const char *prefix, const char *line, size_t len)
{
	struct bar *bar = find(b, prefix);
	bool shown = bar && !b->live && !bar->due && bar->len == len &&
		     !memcmp(bar->text, line, len);

	bars_erase(b);
	if (bar)
		bar->used = false;
	if (!shown)
		prefix_line(&b->prefixes, prefix, line, len);
}

void bars_state(struct bars *b, const char *prefix, const char *line, size_t len,
		bool bar_only)
{
	struct bar *bar = find(b, prefix);

	len = utf8_cut(line, len, BARS_TEXT);
	if (!b->live && !bar_only)
		return;
	if (bar && bar->len == len && !memcmp(bar->text, line, len))
		return;
	if (!bar)
		bar = add(b, prefix);
	memcpy(bar->text, line, len);
	bar->len = len;
	bar->due = b->stale = true;
	bar->changed = ++b->changes;
}

/* Elsewhere than on a terminal: print the states that are due. */
static int64_t print_due(struct bars *b, int64_t now)
{
	int64_t next = -1;

	for (size_t i = 0; i < BARS_ROWS; i++) {
		struct bar *bar = &b->list[i];

		if (!bar->used || !bar->due)
			continue;
		if (now - bar->shown_ms >= BARS_MS) {
			prefix_line(&b->prefixes, prefix_of(bar), bar->text, bar->len);
			bar->due = false;
			bar->shown_ms = now;
		} else if (next < 0 || bar->shown_ms + BARS_MS < next) {
			next = bar->shown_ms + BARS_MS;
		}
	}
	return next;
}

static void begin_row(struct bars *b)
{
	if (b->drawn++)
		putchar_unlocked('\n');
}

/* As many rows as leave half of the terminal to lines; each is one line of it. */
static void draw(struct bars *b)
{
	int columns = terminal_columns(STDOUT_FILENO),
	    rows = terminal_rows(STDOUT_FILENO);
	size_t width = columns > 1 ? (size_t)columns - 1 : 79;
	size_t most = rows > 1 ? (size_t)rows / 2 : 1;

	for (size_t i = 0; i < BARS_ROWS; i++) {
		const struct bar *bar = &b->list[i];

		if (!bar->used || b->drawn >= most)
			continue;
		begin_row(b);
		prefix_part(&b->prefixes, prefix_of(bar), bar->text, bar->len, width);
	}
	if (b->status[0]) {
		begin_row(b);
		printf("%.*s", (int)utf8_cut(b->status, strlen(b->status), width),
		       b->status);
	}
}

int64_t bars_draw(struct bars *b)
{
	int64_t now = clock_ms();

	if (!b->live)
		return print_due(b, now);
	if (b->drawn && !b->stale)
		return -1;
	if (b->drawn && now - b->drawn_ms < BARS_REDRAW_MS)
		return b->drawn_ms + BARS_REDRAW_MS;
	bars_erase(b);
	draw(b);
	b->stale = false;
	b->drawn_ms = now;
	return -1;
}
