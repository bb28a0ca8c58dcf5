/* logs_lines.c - split a log into lines, each once (client/logs_lines.h). */
#include "client/logs_lines.h"

#include <ctype.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"

enum {
	SECOND = sizeof("2026-01-31T23:59:59") - 1,
	MAX_ZONE = sizeof("+00:00") - 1,
	LOG_STAMP_MAX = 64,
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

/* ---- text ---------------------------------------------------------------------------- */

static void pass(struct log_lines *l, const char *data, size_t len)
{
	if (l->on_bytes)
		l->on_bytes(l->ctx, data, len);
	else if (!l->raw)
		screen_write(&l->screen, data, len);
}

/* Each piece of a line that is too long is a line. */
static void pass_raw_line(struct log_lines *l, const char *data, size_t len)
{
	const char *newline = memchr(data, '\n', len);
	size_t n = newline ? (size_t)(newline - data) : len;

	l->line.max = l->max;
	while (l->line.len + n > l->max) {
		size_t room = l->max - l->line.len;

		buf_add(&l->line, data, room);
		l->on_line(l->ctx, (char *)l->line.data, l->line.len);
		buf_clear(&l->line);
		data += room;
		n -= room;
	}
	buf_add(&l->line, data, n);
	if (!newline)
		return;
	l->on_line(l->ctx, l->line.data ? (char *)l->line.data : "", l->line.len);
	buf_clear(&l->line);
}

/* Text of the line that has begun, perhaps with its newline. */
static void add_text(struct log_lines *l, const char *data, size_t len)
{
	size_t again = len < l->again ? len : l->again;

	if (l->skipped)
		return;
	l->again -= again;
	data += again;
	len -= again;
	if (!len)
		return;
	l->passed += len;
	pass(l, data, len);
	if (l->raw && !l->on_bytes)
		pass_raw_line(l, data, len);
}

/* The line begins with these bytes: its stamp, or the line has none. */
static void begin_line(struct log_lines *l, const char *data, size_t stamp,
		       const struct log_stamp *at)
{
	bool same = l->passed && l->stamped == (stamp > 0) && !compare(&l->at, at);

	l->begun = true;
	l->stamped = stamp > 0;
	l->skipped = l->stamped && was_shown(l, at);
	if (l->skipped)
		return;
	if (!same && l->passed) {
		l->again = 0;
		add_text(l, "\n", 1); /* the rest of the line before is lost */
	}
	if (!same)
		l->passed = 0;
	l->again = l->passed;
	l->at = *at;
	if (l->timestamps && !l->raw)
		screen_tag(&l->screen, data, stamp);
	if (l->timestamps && l->raw)
		add_text(l, data, stamp);
}

static void end_line(struct log_lines *l)
{
	if (l->stamped && !l->skipped)
		count_line(l, &l->at);
	if (!l->skipped)
		l->passed = l->again = 0;
	l->begun = l->skipped = false;
}

/* Collects the start of a line until its stamp is known. Returns how many bytes it took. */
static size_t find_stamp(struct log_lines *l, const char *data, size_t len)
{
	struct log_stamp at;
	const char *newline = memchr(data, '\n', len);
	size_t n = newline ? (size_t)(newline - data) : len, stamp;
	size_t had = l->part.len, room = LOG_STAMP_MAX - had;

	if (!had && (newline || len >= LOG_STAMP_MAX)) {
		stamp = read_stamp(l, data, n, &at);
		begin_line(l, data, stamp, &at);
		return stamp;
	}
	l->part.max = LOG_STAMP_MAX;
	n = n < room ? n : room;
	buf_add(&l->part, data, n);
	stamp = read_stamp(l, l->part.data ? (char *)l->part.data : "", l->part.len, &at);
	if (!stamp && !newline && l->part.len < LOG_STAMP_MAX)
		return n;
	begin_line(l, (char *)l->part.data, stamp, &at);
	if (l->part.len > stamp)
		add_text(l, (char *)l->part.data + stamp, l->part.len - stamp);
	buf_clear(&l->part);
	return n;
}

static void report_state(struct log_lines *l)
{
	size_t len;
	bool bar;
	const char *text = l->on_state ? screen_state(&l->screen, &len, &bar) : NULL;

	if (text)
		l->on_state(l->ctx, text, len, bar);
}

void log_lines_feed(struct log_lines *l, const char *data, size_t len)
{
	if (!l->raw)
		screen_look_ahead(&l->screen, data, len);
	while (len) {
		size_t n = l->begun ? 0 : find_stamp(l, data, len);
		const char *newline = memchr(data + n, '\n', len - n);
		size_t end = newline ? (size_t)(newline - data) + 1 : len;

		if (!l->begun)
			return;
		add_text(l, data + n, end - n);
		if (newline)
			end_line(l);
		data += end;
		len -= end;
	}
	report_state(l);
}

void log_lines_begin(struct log_lines *l)
{
	buf_clear(&l->part); /* will be sent again, whole */
	l->screen.on_line = l->on_line;
	l->screen.ctx = l->ctx;
	l->screen.max = l->max;
	l->screen.mark = SCREEN_CUT;
	l->begun = l->skipped = false;
	l->skip = l->any ? l->n_last + l->n_before : 0;
}

int64_t log_lines_since(const struct log_lines *l)
{
	return l->any ? l->newest.sec - 1 : -1;
}

void log_lines_end(struct log_lines *l)
{
	struct log_stamp none = { 0 };

	if (!l->begun && l->part.len) {
		begin_line(l, (char *)l->part.data, 0, &none);
		add_text(l, (char *)l->part.data, l->part.len);
	}
	if (l->begun)
		end_line(l);
	if (l->line.len)
		l->on_line(l->ctx, (char *)l->line.data, l->line.len);
	screen_end(&l->screen);
	log_lines_release(l);
}

void log_lines_release(struct log_lines *l)
{
	screen_release(&l->screen);
	buf_release(&l->part);
	buf_release(&l->line);
}
