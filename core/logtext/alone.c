/* alone.c - signs of processes that train alone (logtext/alone.h). */
#include "logtext/alone.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

enum { MAX_LINE = 400, MAX_LINES = 20000 };

/* Text after which the number of processes follows, in lower case. */
static const char *const before[] = {
	"world size", "world_size", "worldsize",     "num processes",    "num_processes",
	"rank 0 of",  "rank 0/",    "rank: 0/",      "process 0 of",     "process 0/",
	"member: 1/", "nranks",     "process_count", "jax process: 0 /", NULL,
};

static int64_t number_after(const char *at)
{
	char *end;
	long n;

	at += strspn(at, " :=\"'()");
	n = isdigit((unsigned char)*at) ? strtol(at, &end, 10) : -1;
	return n < 0 || *end == '.' || isalnum((unsigned char)*end) ? -1 : n;
}

int64_t alone_world_size(const char *line, size_t len)
{
	char text[MAX_LINE + 1];
	int64_t ret = -1;

	len = len < MAX_LINE ? len : MAX_LINE;
	for (size_t i = 0; i < len; i++)
		text[i] = (char)tolower((unsigned char)line[i]);
	text[len] = 0;
	if (strstr(text, "parallel") || strstr(text, "group"))
		return -1;
	for (const char *const *word = before; *word && ret < 0; word++) {
		const char *at = strstr(text, *word);

		ret = at ? number_after(at + strlen(*word)) : -1;
	}
	if (ret < 0 && strstr(text, "distributed training: false")) /* transformers */
		ret = 1;
	return ret;
}

bool alone_set(struct alone *a, const char *text)
{
	if (a->text[0])
		return false;
	snprintf(a->text, sizeof(a->text), "%s", text);
	return true;
}

bool alone_line(struct alone *a, const char *prefix, const char *line, size_t len)
{
	bool over = a->ended || a->text[0] || a->lines++ > MAX_LINES;
	int64_t size = over ? -1 : alone_world_size(line, len);

	if (size < 0)
		return false;
	if (size != 1) {
		a->ended = true;
		return false;
	}
	if (!a->first[0]) {
		snprintf(a->first, sizeof(a->first), "%s", prefix);
		snprintf(a->quote, sizeof(a->quote), "%.*s",
			 (int)utf8_cut(line, len, sizeof(a->quote) - 1), line);
		return false;
	}
	if (str_eq(a->first, prefix))
		return false;
	snprintf(a->text, sizeof(a->text),
		 "%s and %s each log a world of one process (\"%s\"); %s", a->first,
		 prefix, a->quote, ALONE_REMEDY);
	return true;
}
