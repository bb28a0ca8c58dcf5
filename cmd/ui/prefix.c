/* prefix.c - print a line after the name of its process (cmd/ui/prefix.h). */
#include "cmd/ui/prefix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* Cyan, yellow, green, magenta, blue, red: in the order of ranks. */
static const int colours[] = { 36, 33, 32, 35, 34, 31 };
enum { N_COLOURS = N_ELEMENTS(colours) };

/* "node-3" is rank 3; a name without a rank (an initializer) counts as 0. */
static int colour_of(const char *prefix)
{
	const char *dash = strrchr(prefix, '-');
	unsigned long rank = dash ? strtoul(dash + 1, NULL, 10) : 0;

	return colours[rank % N_COLOURS];
}

/* Called for each line of output: printf() would take most of the time. */
static void put_plain(const char *prefix, size_t len)
{
	putchar_unlocked('[');
	fwrite_unlocked(prefix, 1, len, stdout);
	putchar_unlocked(']');
}

void prefix_line(struct prefixes *p, const char *prefix, const char *line, size_t len)
{
	size_t width = prefix ? strlen(prefix) : 0;

	if (width > p->width)
		p->width = width;
	if (prefix && p->colour)
		printf("\033[%dm[%s]\033[0m", colour_of(prefix), prefix);
	else if (prefix)
		put_plain(prefix, width);
	for (size_t i = width; prefix && i <= p->width; i++)
		putchar_unlocked(' ');
	fwrite_unlocked(line, 1, len, stdout);
	putchar_unlocked('\n');
}
