/* lognoise.c - lines of torchrun that are folded (logtext/lognoise.h). */
#include "logtext/lognoise.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "logtext/traceback.h"

#define ELASTIC "torch.distributed.elastic.multiprocessing."
#define STARS   "*****************************************"
#define OMP     "Setting OMP_NUM_THREADS environment variable for each process to be "

enum { LINES_MAX = 300, BORDER_MIN = 10, FOLDED_MAX = 200, HINT_MAX = 1024 };

/* The message to which a line belongs. */
enum {
	NOTHING,
	BANNER,
	BOX_TOP,
	BOX_TITLE,
	BOX,
	BOX_TRACEBACK,
	FRAMES,
	BARRIER,
	BARRIER_ERROR
};

static const struct rule {
	const char *text;
	bool whole;  /* false: the line's start */
	bool logged; /* after the prefix of torch's logger */
	unsigned char within;
} rules[] = {
	{ "", true, true, BANNER },
	{ STARS, true, true, NOTHING },
	{ OMP, false, true, NOTHING },
	{ "Sending process ", false, true, NOTHING },
	{ "Closing process ", false, true, NOTHING },
	{ "Received 15 death signal, shutting down workers", true, true, NOTHING },
	{ "Error waiting on exit barrier. Elapsed: ", false, true, BARRIER },
	{ ELASTIC "errors.ChildFailedError:", true, false, BOX_TOP },
	{ ELASTIC "api.SignalException: Process ", false, false, NOTHING },
	{ "Exception raised from recvBytes at ", false, false, FRAMES },
	{ "Exception raised from recvVector at ", false, false, FRAMES },
	{ "Exception raised from sendBytes at ", false, false, FRAMES },
	{ "Exception raised from doWait at ", false, false, FRAMES },
	{ "Exception raised from checkTimeout at ", false, false, FRAMES },
}, within_frames[] = {
	{ "frame #", false, false, FRAMES },
	{ "", true, false, NOTHING },
}, within_banner[] = {
	{ STARS, true, false, BANNER },
	{ OMP, false, false, BANNER },
}, within_box[] = {
	{ "Failures:", true, false, BOX },
	{ "  <NO_OTHER_FAILURES>", true, false, BOX },
	{ "Root Cause (first observed failure):", true, false, BOX },
	{ "  time      : ", false, false, BOX },
	{ "  host      : ", false, false, BOX },
	{ "  rank      : ", false, false, BOX },
	{ "  exitcode  : ", false, false, BOX },
	{ "  error_file: ", false, false, BOX },
	{ "  traceback : ", false, false, BOX_TRACEBACK },
}, after_barrier[] = {
	{ "Exception raised from ", false, false, BARRIER_ERROR },
	{ "frame #", false, false, BARRIER_ERROR },
	{ "During handling of the above exception, another exception occurred:", true, false,
	  BARRIER },
	{ "The above exception was the direct cause of the following exception:", true, false,
	  BARRIER },
};

/* ---- one line ------------------------------------------------------------------------ */

static bool starts(const char *line, size_t len, const char *text)
{
	size_t n = strlen(text);

	return len >= n && !memcmp(line, text, n);
}

static const struct rule *match(const struct rule *list, size_t n, const char *line,
				size_t len, bool logged)
{
	for (size_t i = 0; i < n; i++)
		if (list[i].logged == logged && starts(line, len, list[i].text) &&
		    (!list[i].whole || len == strlen(list[i].text)))
			return &list[i];
	return NULL;
}

/* The text after `end` in the line's first part, if `module` comes before it; or NULL. */
static const char *after(const char *line, size_t len, const char *module,
			 const char *end)
{
	size_t most = len < FOLDED_MAX ? len : FOLDED_MAX;
	const char *at = memmem(line, most, module, strlen(module));
	const char *rest = at ? at + strlen(module) : NULL;
	const char *stop =
		rest ? memmem(rest, most - (size_t)(rest - line), end, strlen(end))
		     : NULL;

	return stop ? stop + strlen(end) : NULL;
}

/*
 * The text after "W1126 16:12:37.757000 2 torch/distributed/run.py:982] ", as PyTorch
 * writes it from 2.3 on, "[2024-02-12 16:37:29,165] torch.distributed.run: [WARNING] ", or
 * "WARNING:torch.distributed.run:"; NULL: none of them is there.
 */
static const char *logged(const char *line, size_t len)
{
	if (len > 12 && strchr("WEI", *line) && isdigit((unsigned char)line[1]) &&
	    isdigit((unsigned char)line[4]) && line[5] == ' ' && line[8] == ':')
		return after(line, len, "torch/distributed/", "]");
	if (len > 12 && *line == '[' && isdigit((unsigned char)line[1]) && line[5] == '-')
		return after(line, len, " torch.distributed.", "]");
	if (starts(line, len, "WARNING:torch.distributed.") ||
	    starts(line, len, "ERROR:torch.distributed."))
		return after(line, len, ":torch.distributed.", ":");
	return NULL;
}

/* A line of "=" or "-" only. */
static bool is_border(const char *line, size_t len, char c)
{
	size_t n = 0;

	while (n < len && line[n] == c)
		n++;
	return n == len && n >= BORDER_MIN;
}

/* "[12]:" */
static bool is_number(const char *line, size_t len)
{
	size_t i = 1;

	while (i < len && isdigit((unsigned char)line[i]))
		i++;
	return len > 3 && *line == '[' && i > 1 && i + 2 == len && line[i] == ']' &&
	       line[i + 1] == ':';
}

static bool in_box(struct lognoise_state *s, const char *line, size_t len)
{
	const struct rule *r;

	if (is_border(line, len, '=')) {
		s->within = s->within == BOX_TOP ? BOX_TITLE : NOTHING;
		return true;
	}
	if (s->within == BOX_TOP) {
		s->within = NOTHING;
		return false;
	}
	if (s->within == BOX_TITLE) {
		s->within = BOX;
		return len > 7 && !memcmp(line + len - 7, " FAILED", 7);
	}
	r = match(within_box, N_ELEMENTS(within_box), line, len, false);
	if (r)
		s->within = r->within;
	else if (is_border(line, len, '-') || is_number(line, len))
		s->within = BOX;
	else
		return s->within == BOX_TRACEBACK && (!len || starts(line, len, "  "));
	return true;
}

/* "RuntimeError: ...", with or without a module before it. */
static bool is_error(const char *line, size_t len)
{
	size_t i = 0;

	while (i < len &&
	       (isalnum((unsigned char)line[i]) || line[i] == '.' || line[i] == '_'))
		i++;
	return i > 5 && !memcmp(line + i - 5, "Error", 5) && (i == len || line[i] == ':');
}

static bool in_barrier(struct lognoise_state *s, const char *line, size_t len)
{
	const struct rule *r =
		match(after_barrier, N_ELEMENTS(after_barrier), line, len, false);

	if (r && s->within == BARRIER_ERROR) {
		s->within = r->within;
		return true;
	}
	if (s->within == BARRIER && traceback_continues(line, len))
		return true;
	if (s->within == BARRIER && is_error(line, len)) {
		s->within = BARRIER_ERROR;
		return true;
	}
	s->within = NOTHING;
	return false;
}

static bool is_within(struct lognoise_state *s, const char *line, size_t len)
{
	const struct rule *r;

	if (s->within == NOTHING)
		return false;
	if (++s->lines > LINES_MAX) {
		s->within = NOTHING;
		return false;
	}
	if (s->within >= BARRIER)
		return in_barrier(s, line, len);
	if (s->within >= BOX_TOP && s->within < FRAMES)
		return in_box(s, line, len);
	if (s->within == FRAMES)
		r = match(within_frames, N_ELEMENTS(within_frames), line, len, false);
	else
		r = match(within_banner, N_ELEMENTS(within_banner), line, len, false);
	s->within = r ? r->within : NOTHING;
	return r != NULL;
}

/* Can a line that begins with it be the first of a message? */
static bool may_begin(char c)
{
	return c == 'W' || c == 'E' || c == 'I' || c == '[' || c == 't';
}

bool lognoise_is(struct lognoise_state *s, const char *line, size_t len)
{
	const char *text;
	const struct rule *r;

	while (len && (line[len - 1] == ' ' || line[len - 1] == '\r'))
		len--;
	if (s->within && is_within(s, line, len))
		return true;
	if (!len || !may_begin(*line))
		return false;
	text = logged(line, len);
	while (text && text < line + len && *text == ' ')
		text++;
	r = match(rules, N_ELEMENTS(rules), text ? text : line,
		  (size_t)(line + len - (text ? text : line)), text != NULL);
	if (r) {
		s->within = r->within;
		s->lines = 0;
	}
	return r != NULL;
}

/* ---- several processes --------------------------------------------------------------- */

struct stream {
	char *prefix;
	struct lognoise_state state;
	size_t n; /* folded, and not reported */
	int64_t last_ms;
};

struct lognoise {
	void (*on_line)(void *ctx, const char *prefix, const char *line, size_t len);
	void *ctx;
	const char *name;
	struct map streams; /* prefix -> struct stream */
	struct stream *last;
	size_t folding; /* streams with lines to report */
};

struct lognoise *lognoise_new(void (*on_line)(void *ctx, const char *prefix,
					      const char *line, size_t len),
			      void *ctx, const char *name)
{
	struct lognoise *f = xcalloc(1, sizeof(*f));

	f->on_line = on_line;
	f->ctx = ctx;
	f->name = name;
	return f;
}

static void stream_free(void *p)
{
	struct stream *s = p;

	free(s->prefix);
	free(s);
}

void lognoise_free(struct lognoise *f)
{
	if (!f)
		return;
	map_release(&f->streams, stream_free);
	free(f);
}

static struct stream *stream_of(struct lognoise *f, const char *prefix)
{
	struct stream *s = f->last;

	if (s && str_eq(s->prefix, prefix))
		return s;
	s = map_get(&f->streams, prefix);
	if (!s) {
		s = xcalloc(1, sizeof(*s));
		s->prefix = xstrdup(prefix);
		map_put(&f->streams, prefix, s);
	}
	f->last = s;
	return s;
}

static void report(struct lognoise *f, struct stream *s)
{
	char text[HINT_MAX];

	snprintf(text, sizeof(text),
		 "PyTorch: %zu line%s folded, see 'kftrainer logs --raw %.900s'", s->n,
		 s->n == 1 ? "" : "s", f->name);
	s->n = 0;
	f->folding--;
	f->on_line(f->ctx, s->prefix, text, strlen(text));
}

void lognoise_line(struct lognoise *f, const char *prefix, const char *line, size_t len,
		   int64_t now_ms)
{
	struct stream *s = stream_of(f, prefix);

	if (lognoise_is(&s->state, line, len)) {
		f->folding += !s->n++;
		s->last_ms = now_ms;
		return;
	}
	if (s->n)
		report(f, s);
	f->on_line(f->ctx, prefix, line, len);
}

int64_t lognoise_wake_ms(const struct lognoise *f)
{
	int64_t first = -1;

	if (!f->folding)
		return -1;
	map_each(e, &f->streams) {
		const struct stream *s = e->value;

		if (s->n && (first < 0 || s->last_ms < first))
			first = s->last_ms;
	}
	return first + LOGNOISE_WAIT_MS;
}

void lognoise_flush(struct lognoise *f, int64_t before_ms)
{
	if (!f->folding)
		return;
	map_each(e, &f->streams) {
		struct stream *s = e->value;

		if (s->n && s->last_ms < before_ms)
			report(f, s);
	}
}
