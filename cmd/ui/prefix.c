/* prefix.c - print a line after the name of its process (cmd/ui/prefix.h). */
#include "cmd/ui/prefix.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/screen.h"
#include "base/str.h"
#include "cmd/ui/out.h"

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

/* Returns the columns it takes. */
static size_t put_prefix(struct prefixes *p, const char *prefix)
{
	size_t width = prefix ? strlen(prefix) : 0;

	if (!prefix)
		return 0;
	if (width > p->width)
		p->width = width;
	if (p->colour)
		printf("\033[%dm[%s]\033[0m", colour_of(prefix), prefix);
	else
		put_plain(prefix, width);
	for (size_t i = width; i <= p->width; i++)
		putchar_unlocked(' ');
	return p->width + 3;
}

enum { TAB = 8, HEX = sizeof("\\x9b") - 1 };

/*
 * The columns of a character; 0: it is not shown. Wide ones count as two; in doubt, more
 * than it takes. A byte that may be a control character is shown as "\x9b".
 */
static size_t columns_of(uint32_t c, bool valid)
{
	if (c == '\t')
		return TAB;
	if (c < 0x20 || c == 0x7f)
		return 0;
	if (!valid && c < 0xa0)
		return HEX;
	return c < 0x1100 || (c >= 0x2000 && c < 0x2e80) ? 1 : 2;
}

/* For a terminal: no control characters, at most so many columns. */
static void put_visible(const char *line, size_t len, size_t columns, bool colour)
{
	const char *end = line + len;
	bool coloured = false;

	while (line < end) {
		size_t n = screen_colour(line, (size_t)(end - line)), width = 0;
		uint32_t c = (unsigned char)*line;

		if (!n) {
			n = utf8_decode(line, end, &c);
			width = columns_of(c, n);
			n = n ? n : 1;
		} else if (colour) {
			coloured = true;
			fwrite_unlocked(line, 1, n, stdout);
		}
		if (width > columns)
			break;
		columns -= width;
		if (width == HEX)
			printf("\\x%02x", (unsigned)c);
		else if (width)
			fwrite_unlocked(line, 1, n, stdout);
		line += n;
	}
	if (coloured)
		fputs("\033[0m", stdout);
}

void prefix_begin(struct prefixes *p)
{
	*p = (struct prefixes){ .colour = out_colour(STDOUT_FILENO),
				.terminal = isatty(STDOUT_FILENO) };
}

void prefix_line(struct prefixes *p, const char *prefix, const char *line, size_t len)
{
	put_prefix(p, prefix);
	if (p->terminal)
		put_visible(line, len, SIZE_MAX, p->colour);
	else
		fwrite_unlocked(line, 1, len, stdout);
	putchar_unlocked('\n');
}

void prefix_part(struct prefixes *p, const char *prefix, const char *line, size_t len,
		 size_t columns)
{
	size_t width = put_prefix(p, prefix);

	put_visible(line, len, columns > width ? columns - width : 0, p->colour);
}

const char *prefix_process(const char *prefix, const char **line, size_t *len,
			   char room[PREFIX_MAX])
{
	static const char role[] = "[default";
	size_t n = sizeof(role) - 1, digits = 0;

	if (!prefix || *len <= n || **line != '[' || memcmp(*line, role, n))
		return prefix;
	while (n + digits < *len && (*line)[n + digits] >= '0' &&
	       (*line)[n + digits] <= '9')
		digits++;
	if (!digits || digits > 4 || n + digits + 2 > *len ||
	    memcmp(*line + n + digits, "]:", 2))
		return prefix;
	snprintf(room, PREFIX_MAX, "%.100s:%.*s", prefix, (int)digits, *line + n);
	*line += n + digits + 2;
	*len -= n + digits + 2;
	return room;
}
