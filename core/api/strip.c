/* strip.c - cuts managedFields, and unused lists, out of JSON text (api/strip.h). */
#include "api/strip.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { MAX_NAME = 63 };

/* The byte after the string that begins at p; or `end`. */
static const char *skip_string(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++)
		if (*p == '\\')
			p++;
	return p < end ? p + 1 : end;
}

/* The nesting depth of the text at `to`. */
static int depth_at(const char *p, const char *to)
{
	int depth = 0;

	while (p < to) {
		if (*p == '"') {
			p = skip_string(p, to);
			continue;
		}
		depth += *p == '{' || *p == '[';
		depth -= *p == '}' || *p == ']';
		p++;
	}
	return depth;
}

/* The byte after the list that begins at p; NULL: the list has no end. */
static const char *skip_list(const char *p, const char *end)
{
	int depth = 0;

	while (p < end) {
		if (*p == '"') {
			p = skip_string(p, end);
			continue;
		}
		depth += *p == '{' || *p == '[';
		depth -= *p == '}' || *p == ']';
		p++;
		if (!depth)
			return p;
	}
	return NULL;
}

/*
 * `key` is "\"name\":[". Within a string its quotes would be escaped, so every match is a
 * key. At this depth its object is metadata or spec, because all other members of that
 * depth follow metadata and have other lists.
 */
static size_t cut(char *text, size_t len, const char *key, int depth)
{
	size_t n = strlen(key);
	char *end = text + len, *from = memmem(text, len, key, n);
	const char *to;

	if (!from || depth_at(text, from) != depth)
		return len;
	to = skip_list(from + n - 1, end);
	if (!to)
		return len;
	if (to < end && *to == ',')
		to++;
	else if (from > text && from[-1] == ',')
		from--;
	memmove(from, to, (size_t)(end - to));
	return len - (size_t)(to - from);
}

size_t strip_managed_fields(char *text, size_t len, int depth)
{
	return cut(text, len, "\"managedFields\":[", depth);
}

size_t strip_spec_list(char *text, size_t len, const char *name, int depth)
{
	char key[MAX_NAME + sizeof("\"\":[")];

	if (strlen(name) > MAX_NAME)
		return len;
	snprintf(key, sizeof(key), "\"%s\":[", name);
	return cut(text, len, key, depth);
}

void strip_nul(char *text, size_t len)
{
	static const char nul[] = "\\u0000";
	char *end = text + len, *from = text;

	for (char *at; (at = memmem(from, (size_t)(end - from), nul, strlen(nul)));) {
		char *slash = at;

		while (slash > from && slash[-1] == '\\')
			slash--;
		from = at + strlen(nul);
		if ((at - slash) % 2 == 0) /* not "\\u0000", a backslash and text */
			memcpy(at + 2, "fffd", 4);
	}
}
