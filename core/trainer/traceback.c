/* traceback.c - fold repeated tracebacks (trainer/traceback.h). */
#include "trainer/traceback.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "trainer/logcause.h"

enum { ERROR_MAX = 512, SHOWN_MAX = 1000, FIRST_MAX = 8192 };

/* A traceback that has begun. */
struct held {
	struct buf lines; /* each with its newline; empty: no traceback is held */
	int64_t since_ms;
};

struct traceback_filter {
	void (*on_line)(void *ctx, const char *prefix, const char *line, size_t len);
	void *ctx;
	struct map streams; /* prefix -> struct held */
	size_t holding;     /* number of streams with lines */
	struct map shown;   /* the last line of a traceback -> int64_t, when */
	struct buf first, first_prefix; /* see traceback_first() */
	int64_t first_ms;
};

struct traceback_filter *traceback_new(void (*on_line)(void *ctx, const char *prefix,
						       const char *line, size_t len),
				       void *ctx)
{
	struct traceback_filter *f = xcalloc(1, sizeof(*f));

	f->on_line = on_line;
	f->ctx = ctx;
	return f;
}

static void held_free(void *p)
{
	struct held *h = p;

	buf_release(&h->lines);
	free(h);
}

void traceback_free(struct traceback_filter *f)
{
	if (!f)
		return;
	map_release(&f->streams, held_free);
	map_release(&f->shown, free);
	buf_release(&f->first);
	buf_release(&f->first_prefix);
	free(f);
}

/* ---- what a line is --------------------------------------------------------------- */

const char *traceback_unranked(const char *line, size_t *len)
{
	static const struct {
		const char *begin, *end;
	} marks[] = { { "[default", "]:" }, { "[rank", "]: " } };

	for (size_t i = 0; i < N_ELEMENTS(marks); i++) {
		size_t n = strlen(marks[i].begin), most = *len < 16 ? *len : 16;
		const char *end;

		if (*len < n + 2 || memcmp(line, marks[i].begin, n))
			continue;
		end = memmem(line, most, marks[i].end, strlen(marks[i].end));
		if (!end)
			continue;
		end += strlen(marks[i].end);
		*len -= (size_t)(end - line);
		line = end;
	}
	return line;
}

bool traceback_begins(const char *line, size_t len)
{
	static const char first[] = "Traceback (most recent call last):";

	if (!len || (*line != 'T' && *line != '['))
		return false;
	line = traceback_unranked(line, &len);
	return len >= sizeof(first) - 1 && !memcmp(line, first, sizeof(first) - 1);
}

bool traceback_continues(const char *line, size_t len)
{
	line = traceback_unranked(line, &len);
	return !len || *line == ' ' || *line == '\t' || traceback_begins(line, len);
}

/* Does the line belong to a launcher's summary? */
static bool is_launchers(const char *line)
{
	return str_starts(line, "torch.distributed.elastic.");
}

/* ---- the lines -------------------------------------------------------------------- */

static void let_go(struct traceback_filter *f, const char *prefix, struct held *h)
{
	const char *line = (const char *)h->lines.data, *end = line + h->lines.len;

	while (line < end) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));

		f->on_line(f->ctx, prefix, line, (size_t)(newline - line));
		line = newline + 1;
	}
	buf_clear(&h->lines);
	f->holding--;
}

static void hold(struct traceback_filter *f, const char *prefix, struct held *h,
		 const char *line, size_t len)
{
	if (h->lines.len + len + 1 > TRACEBACK_MAX) {
		let_go(f, prefix, h);
		f->on_line(f->ctx, prefix, line, len);
		return;
	}
	buf_add(&h->lines, line, len);
	buf_adds(&h->lines, "\n");
}

static void begin(struct traceback_filter *f, const char *prefix, const char *line,
		  size_t len, int64_t now_ms)
{
	struct held *h = map_get(&f->streams, prefix);

	if (!h) {
		h = xcalloc(1, sizeof(*h));
		h->lines.max = TRACEBACK_MAX;
		map_put(&f->streams, prefix, h);
	}
	h->since_ms = now_ms;
	f->holding++;
	hold(f, prefix, h, line, len);
}

/* Was this error shown recently? Record that it is shown now. */
static bool shown_before(struct traceback_filter *f, const char *error, int64_t now_ms)
{
	int64_t *at = map_get(&f->shown, error);
	bool ret = at && now_ms - *at <= TRACEBACK_TOGETHER_MS;

	if (ret)
		return true;
	if (!at && f->shown.n >= SHOWN_MAX)
		map_release(&f->shown, free);
	if (!at) {
		at = xmalloc(sizeof(*at));
		map_put(&f->shown, error, at);
	}
	*at = now_ms;
	return false;
}

static bool blames_a_peer(const char *error)
{
	struct log_reader reader = { 0 };
	const struct log_cause *cause;
	bool better;

	cause = log_read(&reader, error, strlen(error), &better);
	return cause && cause->side == LOG_PEER;
}

static void add_indented(struct buf *b, const char *line, size_t len)
{
	line = traceback_unranked(line, &len);
	buf_printf(b, "    %.*s\n", (int)(len < ERROR_MAX ? len : ERROR_MAX), line);
}

static void keep_first(struct traceback_filter *f, const char *prefix,
		       const struct held *h, const char *error, int64_t now_ms)
{
	const char *at = (const char *)h->lines.data, *end = at + h->lines.len, *newline;

	if ((f->first.len && now_ms - f->first_ms <= TRACEBACK_TOGETHER_MS) ||
	    blames_a_peer(error))
		return;
	f->first_ms = now_ms;
	buf_clear(&f->first);
	buf_clear(&f->first_prefix);
	f->first = (struct buf){ .data = f->first.data,
				 .cap = f->first.cap,
				 .max = FIRST_MAX };
	f->first_prefix.max = ERROR_MAX;
	buf_adds(&f->first_prefix, prefix);
	for (bool headline = true; at < end; at = newline + 1, headline = false) {
		newline = memchr(at, '\n', (size_t)(end - at));
		if (!headline)
			add_indented(&f->first, at, (size_t)(newline - at));
	}
	add_indented(&f->first, error, strlen(error));
}

const char *traceback_first(const struct traceback_filter *f, const char **ret_prefix)
{
	*ret_prefix = f->first_prefix.data ? (const char *)f->first_prefix.data : "";
	return f->first.data ? (const char *)f->first.data : "";
}

/* The line that names the error. */
static void end(struct traceback_filter *f, const char *prefix, struct held *h,
		const char *line, size_t len, int64_t now_ms)
{
	size_t bare_len = len;
	const char *bare = traceback_unranked(line, &bare_len);
	cleanup_arena struct arena a = { 0 };
	const char *error =
		str_slice(&a, bare, bare_len < ERROR_MAX ? bare_len : ERROR_MAX);

	if (is_launchers(error) || shown_before(f, error, now_ms)) {
		buf_clear(&h->lines);
		f->holding--;
	} else {
		keep_first(f, prefix, h, error, now_ms);
		let_go(f, prefix, h);
	}
	f->on_line(f->ctx, prefix, line, len);
}

void traceback_line(struct traceback_filter *f, const char *prefix, const char *line,
		    size_t len, int64_t now_ms)
{
	struct held *h = f->holding ? map_get(&f->streams, prefix) : NULL;

	if (!h || !h->lines.len) {
		if (traceback_begins(line, len))
			begin(f, prefix, line, len, now_ms);
		else
			f->on_line(f->ctx, prefix, line, len);
	} else if (traceback_continues(line, len)) {
		hold(f, prefix, h, line, len);
	} else {
		end(f, prefix, h, line, len, now_ms);
	}
}

int64_t traceback_wake_ms(const struct traceback_filter *f)
{
	int64_t first = -1;

	map_each(e, &f->streams) {
		const struct held *h = e->value;

		if (h->lines.len && (first < 0 || h->since_ms < first))
			first = h->since_ms;
	}
	return first < 0 ? -1 : first + TRACEBACK_WAIT_MS;
}

void traceback_flush(struct traceback_filter *f, int64_t before_ms)
{
	map_each(e, &f->streams) {
		struct held *h = e->value;

		if (h->lines.len && h->since_ms < before_ms)
			let_go(f, e->key, h);
	}
}

/* ---- names of files ------------------------------------------------------------------ */

#define COPY "/kftrainer-"
enum { COPY_RANDOM = 6 }; /* of mktemp's XXXXXX */

/* The script's name in the last directory of that kind, or NULL. */
static const char *copied_name(const char *line, size_t len)
{
	const char *end = line + len, *at = line, *ret = NULL, *name;

	while ((at = memmem(at, (size_t)(end - at), COPY, strlen(COPY)))) {
		size_t n = 0;

		at += strlen(COPY);
		name = at + COPY_RANDOM + 1;
		while (at + n < end && isalnum((unsigned char)at[n]))
			n++;
		if (n == COPY_RANDOM && name < end && name[-1] == '/')
			ret = name;
	}
	return ret;
}

const char *traceback_named(const char *line, size_t *len, char *room, size_t size)
{
	static const char file[] = "File \"/";
	size_t bare_len = *len;
	const char *bare, *from, *name, *stop, *end = line + *len;

	if (!memchr(line, '/', *len) || *len >= size || !(name = copied_name(line, *len)))
		return line;
	bare = traceback_unranked(line, &bare_len);
	from = memmem(bare, bare_len, file, sizeof(file) - 1);
	from = from ? from + sizeof(file) - 2 : bare;
	stop = from;
	while (stop < end && *stop != '"' && (from != bare || *stop != ' '))
		stop++;
	if (*from != '/' || name > stop || memchr(name, '/', (size_t)(stop - name)))
		return line;
	if (from == bare &&
	    (!memchr(name, ':', (size_t)(stop - name)) || stop[-1] != ':'))
		return line;
	memcpy(room, line, (size_t)(from - line));
	memcpy(room + (from - line), name, (size_t)(end - name));
	*len -= (size_t)(name - from);
	return room;
}
