/* traceback.c - fold repeated tracebacks (logtext/traceback.h). */
#include "logtext/traceback.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/screen.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "logtext/firsterror.h"

enum { ERROR_MAX = 512, SHOWN_MAX = 1000 };

/* A process; what PyTorch marks with "[rank0]: " is one of its own. */
struct stream {
	char *prefix, *mark;
	struct buf lines; /* of a traceback that has begun, each with its newline */
	int64_t since_ms;
	bool folding; /* its last traceback was folded, and more of it may follow */
	bool chained; /* the next one was raised because of that */
	struct first_error error;
};

struct traceback_filter {
	void (*on_line)(void *ctx, const char *prefix, const char *line, size_t len);
	void *ctx;
	struct map
		streams; /* prefix and mark -> struct stream, after a first traceback */
	struct stream *last;
	size_t holding;   /* number of streams with lines */
	struct map shown; /* the last line of a traceback -> int64_t, when */
	bool any_folded;
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

static void stream_free(void *p)
{
	struct stream *s = p;

	free(s->prefix);
	free(s->mark);
	buf_release(&s->lines);
	first_error_forget(&s->error);
	free(s);
}

void traceback_free(struct traceback_filter *f)
{
	if (!f)
		return;
	map_release(&f->streams, stream_free);
	map_release(&f->shown, free);
	free(f);
}

bool traceback_any_folded(const struct traceback_filter *f)
{
	return f->any_folded;
}

/* ---- what a line is --------------------------------------------------------------- */

const char *traceback_unranked(const char *line, size_t *len)
{
	static const struct {
		const char *begin, *end;
	} marks[] = { { "[default", "]:" }, { "[rank", "]: " } };

	if (!*len || *line != '[')
		return line;
	for (size_t i = 0; i < N_ELEMENTS(marks); i++) {
		size_t n = strlen(marks[i].begin),
		       most = *len < TRACEBACK_MARK_MAX ? *len : TRACEBACK_MARK_MAX;
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

#define ORIGINAL "Original " /* of a worker's error, in that of its DataLoader */
#define FIRST    "Traceback (most recent call last):"

static bool is_original(const char *line, size_t len)
{
	return len > strlen(ORIGINAL) && !memcmp(line, ORIGINAL, strlen(ORIGINAL));
}

bool traceback_begins(const char *line, size_t len)
{
	size_t skip;

	if (!len || (*line != 'T' && *line != 'O' && *line != '['))
		return false;
	line = traceback_unranked(line, &len);
	skip = is_original(line, len) ? strlen(ORIGINAL) : 0;
	return len - skip >= strlen(FIRST) && !memcmp(line + skip, FIRST, strlen(FIRST));
}

bool traceback_is_nested(const char *line, size_t len)
{
	static const char rank[] = FIRST " (RANK ";

	line = traceback_unranked(line, &len);
	return is_original(line, len) ||
	       (len >= sizeof(rank) - 1 && !memcmp(line, rank, sizeof(rank) - 1));
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

/* Lines after an error that belong to it: its C++ frames, and that another follows. */
static bool is_more(const char *line, size_t len)
{
	static const char *const texts[] = { "Exception raised from ", "frame #" };

	for (size_t i = 0; i < N_ELEMENTS(texts); i++)
		if (len > strlen(texts[i]) && !memcmp(line, texts[i], strlen(texts[i])))
			return true;
	return !len || first_error_is_chain(line, len);
}

/* ---- the lines -------------------------------------------------------------------- */

static void let_go(struct traceback_filter *f, struct stream *s)
{
	const char *line = (const char *)s->lines.data, *end = line + s->lines.len;

	while (line < end) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));

		f->on_line(f->ctx, s->prefix, line, (size_t)(newline - line));
		line = newline + 1;
	}
	buf_clear(&s->lines);
	f->holding--;
}

static void hold(struct traceback_filter *f, struct stream *s, const char *line,
		 size_t len)
{
	if (s->lines.len + len + 1 > TRACEBACK_MAX) {
		let_go(f, s);
		f->on_line(f->ctx, s->prefix, line, len);
		return;
	}
	buf_add(&s->lines, line, len);
	buf_adds(&s->lines, "\n");
}

static bool is_of(const struct stream *s, const char *prefix, const char *mark,
		  size_t mark_len)
{
	return str_eq(s->prefix, prefix) && strlen(s->mark) == mark_len &&
	       !memcmp(s->mark, mark, mark_len);
}

/* The stream of the line; NULL: it has had no traceback, and `add` is false. */
static struct stream *stream_of(struct traceback_filter *f, const char *prefix,
				const char *mark, size_t mark_len, bool add)
{
	cleanup_arena struct arena a = { 0 };
	struct stream *s;
	const char *key;

	if (f->last && is_of(f->last, prefix, mark, mark_len))
		return f->last;
	key = arena_printf(&a, "%s\n%.*s", prefix, (int)mark_len, mark);
	s = map_get(&f->streams, key);
	if (!s && add && f->streams.n < TRACEBACK_STREAMS) {
		s = xcalloc(1, sizeof(*s));
		s->prefix = xstrdup(prefix);
		s->mark = xstrdup(str_slice(&a, mark, mark_len));
		s->lines.max = TRACEBACK_MAX;
		map_put(&f->streams, key, s);
	}
	if (s)
		f->last = s;
	return s;
}

/* Was this error shown recently? Record that it is shown now. */
static bool shown_before(struct traceback_filter *f, const char *error, int64_t now_ms)
{
	int64_t *at = map_get(&f->shown, error);
	bool ret = at && llabs(now_ms - *at) <= TRACEBACK_TOGETHER_MS;

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

const struct first_error *traceback_first(const struct traceback_filter *f,
					  const char **ret_prefix)
{
	const struct first_error *ret = NULL;
	int64_t newest = 0;

	*ret_prefix = "";
	map_each(e, &f->streams) {
		const struct stream *s = e->value;

		if (first_error_own(&s->error) && s->error.ms > newest)
			newest = s->error.ms;
	}
	map_each(e, &f->streams) {
		const struct stream *s = e->value;

		if (s->error.ms < newest - FIRST_ERROR_TOGETHER_MS ||
		    !first_error_before(&s->error, ret))
			continue;
		ret = &s->error;
		*ret_prefix = s->prefix;
	}
	return ret;
}

static void pass_folded(struct traceback_filter *f, const struct stream *s,
			const char *line, size_t len)
{
	cleanup_arena struct arena a = { 0 };
	const char *text =
		arena_printf(&a, "%s" TRACEBACK_FOLDED, str_slice(&a, line, len));

	f->any_folded = true;
	f->on_line(f->ctx, s->prefix, text, strlen(text));
}

/* The line that names the error; `bare`: without colors and a mark. */
static void end(struct traceback_filter *f, struct stream *s, const char *line,
		size_t len, const char *bare, int64_t now_ms)
{
	bool peers =
		(s->folding && s->chained) || first_error_blames_peer(bare, strlen(bare));
	bool again = is_launchers(bare) || shown_before(f, bare, now_ms);

	s->folding = peers || again;
	s->chained = false;
	if (!s->folding) {
		let_go(f, s);
		f->on_line(f->ctx, s->prefix, line, len);
		return;
	}
	buf_clear(&s->lines);
	f->holding--;
	if (peers)
		pass_folded(f, s, line, len);
	else
		f->on_line(f->ctx, s->prefix, line, len);
}

/* A line of a stream that has had a traceback. */
static void next_line(struct traceback_filter *f, struct stream *s, const char *line,
		      size_t len, int64_t now_ms)
{
	size_t bare_len = len;
	const char *bare = traceback_unranked(line, &bare_len);
	char colourless[ERROR_MAX], named[TRACEBACK_NAME_MAX];
	cleanup_arena struct arena a = { 0 };

	bare = screen_uncoloured(bare, &bare_len, colourless, sizeof(colourless));
	bare = traceback_named(bare, &bare_len, named, sizeof(named));
	(void)first_error_line(&s->error, bare, bare_len, now_ms);
	if (!s->lines.len && traceback_begins(line, len)) {
		s->since_ms = now_ms;
		f->holding++;
		hold(f, s, line, len);
	} else if (s->lines.len && traceback_continues(line, len)) {
		hold(f, s, line, len);
	} else if (s->lines.len) {
		bare_len = bare_len < ERROR_MAX ? bare_len : ERROR_MAX;
		end(f, s, line, len, str_slice(&a, bare, bare_len), now_ms);
	} else if (s->folding && is_more(bare, bare_len)) {
		s->chained |= first_error_is_chain(bare, bare_len);
	} else {
		s->folding = false;
		f->on_line(f->ctx, s->prefix, line, len);
	}
}

void traceback_line(struct traceback_filter *f, const char *prefix, const char *line,
		    size_t len, int64_t now_ms)
{
	bool begins = traceback_begins(line, len);
	struct stream *s = NULL;
	size_t bare_len = len;

	if (begins || f->streams.n)
		s = stream_of(f, prefix, line,
			      (size_t)(traceback_unranked(line, &bare_len) - line),
			      begins);
	if (s)
		next_line(f, s, line, len, now_ms);
	else
		f->on_line(f->ctx, prefix, line, len);
}

int64_t traceback_wake_ms(const struct traceback_filter *f)
{
	int64_t first = -1;

	if (!f->holding)
		return -1;
	map_each(e, &f->streams) {
		const struct stream *s = e->value;

		if (s->lines.len && (first < 0 || s->since_ms < first))
			first = s->since_ms;
	}
	return first + TRACEBACK_WAIT_MS;
}

void traceback_flush(struct traceback_filter *f, int64_t before_ms)
{
	if (!f->holding)
		return;
	map_each(e, &f->streams) {
		struct stream *s = e->value;

		if (s->lines.len && s->since_ms < before_ms)
			let_go(f, s);
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
