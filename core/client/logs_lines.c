/* logs_lines.c - split a log into lines, each once (client/logs_lines.h). */
#include "client/logs_lines.h"

#include <ctype.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"

#define MARK " ... [line truncated]"

enum {
	SECOND = sizeof("2026-01-31T23:59:59") - 1,
	MAX_ZONE = sizeof("+00:00") - 1,
	KEEP_PART = 16 * 1024,
};

/* ---- timestamps -------------------------------------------------------------------- */

/* The number of digits after the point; the first nine are the nanoseconds. */
static size_t read_fraction(const char *p, size_t len, int32_t *ret)
{
	size_t i = 0;
	int32_t n = 0;

	for (; i < len && isdigit((unsigned char)p[i]); i++)
		if (i < 9)
			n = 10 * n + (p[i] - '0');
	for (size_t k = i; k < 9; k++)
		n *= 10;
	*ret = n;
	return i;
}

/* Set l->sec, without parsing if the last line had the same second. */
static bool read_second(struct log_lines *l, const char *second, const char *zone,
			size_t zone_len)
{
	char text[SECOND + MAX_ZONE + 1];

	if (!memcmp(l->second, second, SECOND) && strlen(l->zone) == zone_len &&
	    !memcmp(l->zone, zone, zone_len))
		return true;
	memcpy(text, second, SECOND);
	memcpy(text + SECOND, zone, zone_len);
	text[SECOND + zone_len] = 0;
	if (time_parse(&l->sec, text, IGNORED)) {
		l->second[0] = 0;
		return false;
	}
	memcpy(l->second, second, SECOND);
	memcpy(l->zone, zone, zone_len);
	l->zone[zone_len] = 0;
	return true;
}

/* The length of the line's timestamp, including the space after it; 0: none. */
static size_t read_stamp(struct log_lines *l, const char *line, size_t len,
			 struct log_stamp *ret)
{
	size_t at = SECOND, zone;
	const char *space;

	*ret = (struct log_stamp){ 0 };
	if (len <= SECOND || line[4] != '-' || line[10] != 'T')
		return 0;
	if (line[at] == '.') {
		at++;
		at += read_fraction(line + at, len - at, &ret->nsec);
	}
	space = memchr(line + at, ' ', len - at < MAX_ZONE + 1 ? len - at : MAX_ZONE + 1);
	zone = space ? (size_t)(space - line) - at : 0;
	if (!zone || !read_second(l, line, line + at, zone))
		return 0;
	ret->sec = l->sec;
	return at + zone + 1;
}

static int compare(const struct log_stamp *a, const struct log_stamp *b)
{
	if (a->sec != b->sec)
		return a->sec < b->sec ? -1 : 1;
	return (a->nsec > b->nsec) - (a->nsec < b->nsec);
}

/* ---- each line once ------------------------------------------------------------------ */

static void count_line(struct log_lines *l, const struct log_stamp *at)
{
	if (!l->any) {
		l->any = true;
		l->first = l->newest = *at;
		l->n_last = 1;
		l->n_before = 0;
		return;
	}
	if (at->sec > l->newest.sec) {
		l->n_before = at->sec == l->newest.sec + 1 ? l->n_last : 0;
		l->n_last = 0;
	}
	if (at->sec >= l->newest.sec)
		l->n_last++;
	else if (at->sec == l->newest.sec - 1)
		l->n_before++;
	if (compare(at, &l->newest) > 0)
		l->newest = *at;
}

/* Was the line already shown? */
static bool was_shown(struct log_lines *l, const struct log_stamp *at)
{
	if (!l->skip)
		return false;
	if (compare(at, &l->newest) > 0) {
		l->skip = 0; /* the file was rotated: the lines to skip are gone */
		return false;
	}
	if (at->sec >= log_lines_since(l) && !(l->partial && compare(at, &l->first) < 0))
		l->skip--;
	return true;
}

static void show_line(struct log_lines *l, const char *line, size_t len)
{
	struct log_stamp at;
	size_t stamp = read_stamp(l, line, len, &at);

	if (stamp && was_shown(l, &at))
		return;
	if (stamp)
		count_line(l, &at);
	if (l->timestamps)
		stamp = 0;
	l->on_line(l->ctx, line + stamp, len - stamp);
}

static void show_part(struct log_lines *l)
{
	show_line(l, (char *)l->part.data, l->part.len);
	if (l->part.cap > KEEP_PART)
		buf_release(&l->part);
	buf_clear(&l->part);
}

/* Append to an incomplete line; cut it at l->max. */
static void add_part(struct log_lines *l, const char *data, size_t len)
{
	size_t room = l->max - l->part.len;

	if (l->cut)
		return;
	l->part.max = l->max + sizeof(MARK);
	buf_add(&l->part, data, len < room ? len : room);
	if (len <= room)
		return;
	buf_adds(&l->part, MARK);
	show_part(l);
	l->cut = true;
}

void log_lines_feed(struct log_lines *l, const char *data, size_t len)
{
	const char *newline;

	while ((newline = memchr(data, '\n', len))) {
		size_t n = (size_t)(newline - data);

		if (!l->part.len && !l->cut && n <= l->max) {
			show_line(l, data, n);
		} else {
			add_part(l, data, n);
			if (!l->cut)
				show_part(l);
			l->cut = false;
		}
		data += n + 1;
		len -= n + 1;
	}
	if (len)
		add_part(l, data, len);
}

void log_lines_begin(struct log_lines *l)
{
	buf_clear(&l->part); /* will be sent again, whole */
	l->cut = false;
	l->skip = l->any ? l->n_last + l->n_before : 0;
}

int64_t log_lines_since(const struct log_lines *l)
{
	return l->any ? l->newest.sec - 1 : -1;
}

void log_lines_end(struct log_lines *l)
{
	if (l->part.len)
		show_part(l);
	l->cut = false;
	buf_release(&l->part);
}

void log_lines_release(struct log_lines *l)
{
	buf_release(&l->part);
}
