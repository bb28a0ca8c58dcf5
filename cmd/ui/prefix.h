/*
 * prefix.h - output lines of several processes, each prefixed with "[node-0] ".
 *
 * Lines are those of base/screen.h: without escape sequences but colors. Where stdout is a
 * terminal, other control characters are removed too, colors end with their line, and
 * NO_COLOR and TERM=dumb remove them. Elsewhere the bytes of a line pass.
 */
#ifndef CMD_PREFIX_H
#define CMD_PREFIX_H

#include <stdbool.h>
#include <stddef.h>

/* Holds no memory: {0} is empty, nothing is released. */
struct prefixes {
	size_t width;  /* the widest prefix so far, to align lines */
	bool colour;   /* a color for each rank, and those of the lines */
	bool terminal; /* stdout is a terminal */
};

/* Finds out what stdout is. */
void prefix_begin(struct prefixes *p);

enum { PREFIX_MAX = 128 };

/*
 * The prefix of the process that wrote the line: "node-0:1" in `room` if torchrun says so
 * ("[default1]:" before the text, with --tee), which is then removed; else `prefix`.
 */
const char *prefix_process(const char *prefix, const char **line, size_t *len,
			   char room[PREFIX_MAX]);

/* Prints a line and a newline to stdout. Prefix NULL: none. */
void prefix_line(struct prefixes *p, const char *prefix, const char *line, size_t len);

/* For a terminal: prints at most `columns` columns of the line, and no newline. */
void prefix_part(struct prefixes *p, const char *prefix, const char *line, size_t len,
		 size_t columns);

#endif
