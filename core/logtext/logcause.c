/* logcause.c - find causes of failures in log lines (logtext/logcause.h). */
#include "logtext/logcause_impl.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

static unsigned follow_bit(char c)
{
	return 1U << (c & 31);
}

/* Jobs log hundreds of megabytes: with this index a byte costs one access to `first`, and few cost more. */
static void make_index(struct log_reader *r)
{
	for (size_t i = log_n_causes; i-- > 0;) {
		const char *at = log_causes[i].text + log_causes[i].at;
		unsigned char c = (unsigned char)*at;

		r->behind[c] |= at[1] ? follow_bit(at[1]) : UINT_MAX;
		r->next[i] = r->first[c];
		r->first[c] = (unsigned short)(i + 1);
	}
	r->indexed = true;
}

struct word {
	const char *text;
	size_t len;
};

/* True: p is character `at` of the row's text in the line. *ret: the word after it. */
static bool matches(const struct log_cause *c, const char *line, const char *end,
		    const char *p, struct word *ret)
{
	const char *from = p - c->at, *stop;
	size_t len;

	if (p - line < c->at || *from != *c->text || memcmp(from, c->text, c->at))
		return false;
	len = strlen(c->text);
	if ((size_t)(end - from) < len || memcmp(from, c->text, len))
		return false;
	from += len;
	stop = c->until ? memchr(from, c->until, (size_t)(end - from)) : from;
	if (!stop && c->until == '\n')
		stop = end;
	*ret = (struct word){ from, stop ? (size_t)(stop - from) : 0 };
	return stop && (!c->until || stop != from);
}

static const struct log_cause *find(const struct log_reader *r, const char *line,
				    size_t len, struct word *ret)
{
	const struct log_cause *best = NULL;
	struct word word;

	for (const char *p = line, *end = line + len; p < end; p++) {
		unsigned row = r->first[(unsigned char)*p];

		if (row &&
		    !(r->behind[(unsigned char)*p] & follow_bit(p + 1 < end ? p[1] : 0)))
			continue;
		for (; row && (!best || &log_causes[row - 1] < best);
		     row = r->next[row - 1])
			if (matches(&log_causes[row - 1], line, end, p, &word)) {
				best = &log_causes[row - 1];
				*ret = word;
			}
	}
	return best;
}

/* The text after torchrun's prefix "[rank0]: ", if the line has one. */
static struct word without_rank(const char *line, size_t len)
{
	const char *end = line + len, *p = line;

	if (len > 5 && !memcmp(line, "[rank", 5)) {
		p = memchr(line, ']', len);
		p = p ? p + 1 : line;
		p += p < end && *p == ':';
	}
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	return (struct word){ p, (size_t)(end - p) };
}

static const struct log_cause *row_of(const char *text)
{
	for (size_t i = 0; i < log_n_causes; i++)
		if (str_eq(log_causes[i].text, text))
			return &log_causes[i];
	return NULL;
}

static bool has(const char *line, size_t len, const char *text)
{
	return memmem(line, len, text, strlen(text));
}

static bool explains_more(const struct log_reader *r, const struct log_cause *c,
			  bool last)
{
	if (!r->cause)
		return true;
	if (last && (r->warned || r->cause->general))
		return true;
	return c <= r->cause && !(r->in_last_error && c->general);
}

const struct log_cause *log_read(struct log_reader *r, const char *line, size_t len,
				 bool *ret_better)
{
	struct word word = without_rank(line, len), found;
	const struct log_cause *c;
	bool last = r->last_error && word.len;

	if (!r->indexed)
		make_index(r);
	*ret_better = false;
	c = find(r, line, len, &found);
	r->last_error = word.len == strlen(LOG_LAST_ERROR) &&
			!memcmp(word.text, LOG_LAST_ERROR, word.len);
	if (c)
		word = found;
	else if (last)
		c = row_of(LOG_LAST_ERROR);
	if (!c || !c->hint)
		return NULL;
	*ret_better = explains_more(r, c, last);
	if (*ret_better) {
		r->cause = c;
		r->in_last_error = last;
		r->warned = has(line, len, "NCCL WARN");
		word.len = utf8_cut(word.text, word.len, sizeof(r->word) - 1);
		snprintf(r->word, sizeof(r->word), "%.*s", (int)word.len, word.text);
	}
	return c;
}

void log_forget(struct log_reader *r)
{
	r->cause = NULL;
}

bool log_is_exception(const char *line, size_t len)
{
	static const char *const launchers[] = { "ChildFailedError", "SignalException",
						 "torch.distributed.elastic" };

	if (!has(line, len, "Error: ") && !has(line, len, "Exception: "))
		return false;
	for (size_t i = 0; i < N_ELEMENTS(launchers); i++)
		if (has(line, len, launchers[i]))
			return false;
	return true;
}

void log_hint(struct buf *out, const struct log_reader *r)
{
	const char *hint = r->cause->hint;
	const char *place = r->cause->until ? strstr(hint, "%s") : NULL;

	if (!place)
		return buf_adds(out, hint);
	buf_add(out, hint, (size_t)(place - hint));
	buf_adds(out, r->word);
	buf_adds(out, place + 2);
}
