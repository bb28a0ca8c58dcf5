/* firsterror.c - find the error that ended a process (logtext/firsterror.h). */
#include "logtext/firsterror.h"

#include <ctype.h>
#include <string.h>

#include "base/str.h"
#include "logtext/logcause.h"
#include "logtext/traceback.h"

enum { MORE_LINES = 24 }; /* of an error's text */

#define PROCESS "-- Process " /* "0 terminated with the following error:" */

bool first_error_blames_peer(const char *line, size_t len)
{
	struct log_reader reader = { 0 };
	const struct log_cause *cause;
	bool better;

	cause = log_read(&reader, line, len, &better);
	return cause && cause->side == LOG_PEER;
}

bool first_error_is_chain(const char *line, size_t len)
{
	static const char *const texts[] = { "During handling of the above exception, ",
					     FIRST_ERROR_CAUSE, PROCESS };

	for (size_t i = 0; i < N_ELEMENTS(texts); i++)
		if (len >= strlen(texts[i]) && !memcmp(line, texts[i], strlen(texts[i])))
			return true;
	return false;
}

bool first_error_is_open(const char *line, size_t len)
{
	while (len && line[len - 1] == ' ')
		len--;
	return len && line[len - 1] == ':';
}

/* "AssertionError" or "package.Error: text". */
static bool is_name(const char *line, size_t len)
{
	static const char *const others[] = { "KeyboardInterrupt", "SystemExit" };
	size_t i = 0, name = 0;

	for (; i < len && (isalnum((unsigned char)line[i]) || strchr("._", line[i])); i++)
		if (line[i] == '.')
			name = i + 1;
	for (size_t k = 0; k < N_ELEMENTS(others); k++)
		if (i - name == strlen(others[k]) &&
		    !memcmp(line + name, others[k], i - name))
			return false;
	return i > name && isupper((unsigned char)line[name]) &&
	       (i == len || line[i] == ':') &&
	       !(len > 26 && !memcmp(line, "torch.distributed.elastic.", 26));
}

bool first_error_names(const char *line, size_t len, bool ends_traceback)
{
	if (log_is_exception(line, len))
		return true;
	line = traceback_unranked(line, &len);
	return ends_traceback && is_name(line, len);
}

static void add(struct buf *b, const char *line, size_t len)
{
	buf_printf(b, "    %.*s\n",
		   (int)(len < FIRST_ERROR_LINE ? len : FIRST_ERROR_LINE), line);
}

/* The first line of a traceback. */
static void begin(struct first_error *e, const char *line, size_t len)
{
	if (e->chained) {
		add(&e->begun, line, len);
		return;
	}
	e->more = 0;
	buf_clear(&e->begun);
	e->begun.overflowed = false;
	e->begun.max = FIRST_ERROR_TEXT;
}

/* The next traceback belongs to the last one. */
static void chain(struct first_error *e, bool nested)
{
	if (!e->recorded || !e->traceback.len || e->chained)
		return;
	e->chained = true;
	e->nested = nested;
	buf_clear(&e->begun);
	e->begun.overflowed = false;
	e->begun.max = FIRST_ERROR_TEXT;
	buf_add(&e->begun, e->traceback.data, e->traceback.len);
}

/*
 * Is the line one more of the error's text? Python's messages of several lines are
 * indented, or follow a colon; XGBoost's begin with "- ".
 */
static bool add_more(struct first_error *e, const char *line, size_t len)
{
	static const char dash[] = "- ";
	const char *end = line + len;
	bool more = e->open || !len || strchr(" \t", *line) ||
		    (len >= 2 && !memcmp(line, dash, 2));

	e->more = more && e->more ? e->more - 1 : 0;
	if (!e->more)
		return false;
	while (line < end && strchr(" \t", *line))
		line++;
	if (line == end)
		return true;
	if (e->traceback.len)
		add(&e->traceback, end - len, len);
	if (e->open)
		buf_add(&e->line, line, (size_t)(end - line));
	e->open = false;
	return true;
}

/* The line names an error; `ends`: it ends the traceback that has begun. */
static void record(struct first_error *e, const char *line, size_t len, bool ends,
		   int64_t now_ms)
{
	bool peer = first_error_blames_peer(line, len);
	bool together = e->line.len && now_ms - e->ms <= FIRST_ERROR_TOGETHER_MS;
	struct buf spare = e->traceback;

	e->recorded = (e->chained && ends) || !together || (e->peer && !peer);
	if (!e->recorded)
		return;
	if (!e->chained)
		e->ms = now_ms;
	if (!e->chained || e->nested)
		e->peer = peer;
	e->chained = false;
	e->open = first_error_is_open(line, len);
	e->more = MORE_LINES;
	buf_clear(&e->line);
	e->line.max = FIRST_ERROR_LINE;
	buf_add(&e->line, line, len < FIRST_ERROR_LINE ? len : FIRST_ERROR_LINE);
	buf_clear(&e->traceback);
	if (!ends)
		return;
	add(&e->begun, line, len);
	e->traceback = e->begun;
	buf_clear(&spare);
	e->begun = spare;
}

bool first_error_line(struct first_error *e, const char *line, size_t len, int64_t now_ms)
{
	bool ends = e->within, begins = !ends && traceback_begins(line, len);

	e->within = ends ? traceback_continues(line, len) : begins;
	if (begins && traceback_is_nested(line, len))
		chain(e, true);
	if (begins)
		begin(e, line, len);
	else if (e->within)
		add(&e->begun, line, len);
	if (e->within)
		return true;
	if (first_error_is_chain(line, len)) {
		chain(e, !memcmp(line, PROCESS, strlen(PROCESS)));
		if (e->chained)
			add(&e->begun, line, len);
	} else if (!ends && add_more(e, line, len)) {
		return false;
	} else if (first_error_names(line, len, ends)) {
		record(e, line, len, ends, now_ms);
	} else if (ends) {
		e->chained = false;
	}
	return false;
}

const char *first_error_text(const struct buf *b)
{
	return b->data ? (const char *)b->data : "";
}

const char *first_error_own(const struct first_error *e)
{
	return e->line.len && !e->peer ? (const char *)e->line.data : NULL;
}

const struct buf *first_error_unfinished(const struct first_error *e)
{
	return e->within && e->begun.len ? &e->begun : NULL;
}

bool first_error_before(const struct first_error *e, const struct first_error *than)
{
	if (!e->line.len)
		return false;
	if (!than || e->peer != than->peer)
		return !than || !e->peer;
	return e->ms < than->ms;
}

void first_error_forget(struct first_error *e)
{
	buf_release(&e->line);
	buf_release(&e->traceback);
	buf_release(&e->begun);
	*e = (struct first_error){ 0 };
}
