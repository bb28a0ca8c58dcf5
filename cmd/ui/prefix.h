/*
 * prefix.h - output lines of several processes, each prefixed with "[node-0] ".
 */
#ifndef CMD_PREFIX_H
#define CMD_PREFIX_H

#include <stdbool.h>
#include <stddef.h>

/* Holds no memory: {0} is empty, nothing is released. */
struct prefixes {
	size_t width; /* the widest prefix so far, to align lines */
	bool colour;  /* a color for each rank */
};

/* Prints a line and a newline to stdout. Prefix NULL: none. */
void prefix_line(struct prefixes *p, const char *prefix, const char *line, size_t len);

#endif
