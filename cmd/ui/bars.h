/*
 * bars.h - print the output of several processes with their progress bars.
 *
 * Lines go to stdout, each after its prefix. On a terminal the newest state of each
 * process's unfinished line, and a status, are redrawn below them. Elsewhere a state of a
 * bar is printed as a line every BARS_MS.
 */
#ifndef CMD_BARS_H
#define CMD_BARS_H

#include <stdint.h>

#include "cmd/ui/prefix.h"

enum {
	BARS_MS = 3000,
	BARS_REDRAW_MS =
		50,       /* at most one redraw in this time, unless lines were printed */
	BARS_ROWS = 8,    /* processes whose state is shown; with more, the newest */
	BARS_TEXT = 2048, /* bytes of a state */
};

struct bar {
	char prefix[PREFIX_MAX];
	char text[BARS_TEXT];
	size_t len;
	bool used;
	bool due;         /* the state was not printed as a line */
	int64_t shown_ms; /* when a state was printed last */
	int64_t changed;  /* larger for a newer one */
};

/* {0} is empty; nothing is released. */
struct bars {
	struct prefixes prefixes;
	bool live;        /* stdout is a terminal that can erase lines */
	char status[512]; /* shown in the last line while live; "" for none */
	struct bar list[BARS_ROWS];
	size_t drawn; /* lines on the screen that bars_erase() removes */
	bool stale;   /* the screen does not show the newest states */
	int64_t drawn_ms, changes;
};

/* Finds out what stdout is. */
void bars_begin(struct bars *b);

/* A finished line; prefix NULL: none. Its process has no unfinished line any more. */
void bars_line(struct bars *b, const char *prefix, const char *line, size_t len);
/* An unfinished line; `bar`: it replaces another state. */
void bars_state(struct bars *b, const char *prefix, const char *line, size_t len,
		bool bar);

/*
 * Draws the states and the status, or prints states that are due. Returns when to call
 * it again even if nothing changes, by clock_ms(); -1: never. The caller flushes.
 */
int64_t bars_draw(struct bars *b);
/* Removes what was drawn, so that lines can be printed. */
void bars_erase(struct bars *b);

#endif
