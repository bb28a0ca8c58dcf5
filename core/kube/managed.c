#include "kube/managed.h"

#include <stdbool.h>
#include <string.h>

/* The end of the string that begins at p, behind its quote; or `end`. */
static const char *skip_string(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++)
		if (*p == '\\')
			p++;
	return p < end ? p + 1 : end;
}

/* How deep the text is nested where `to` stands. */
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

/* Behind the list that begins at p, or NULL. */
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
 * Within a string the quotes of such a key would be escaped: where it is found, it is a
 * key. Its object is metadata when it is so deep, as all else of that depth stands
 * behind metadata.
 */
size_t managed_cut(char *text, size_t len, int depth)
{
	static const char key[] = "\"managedFields\":[";
	char *end = text + len, *from = memmem(text, len, key, sizeof(key) - 1);
	const char *to;

	if (!from || depth_at(text, from) != depth)
		return len;
	to = skip_list(from + sizeof(key) - 2, end);
	if (!to)
		return len;
	if (to < end && *to == ',')
		to++;
	else if (from > text && from[-1] == ',')
		from--;
	memmove(from, to, (size_t)(end - to));
	return len - (size_t)(to - from);
}
