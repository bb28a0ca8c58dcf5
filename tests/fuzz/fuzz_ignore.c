/*
 * Patterns of .kftrainerignore: a path, a newline, then a file of patterns. One pattern
 * alone gives what a slow and simple matcher gives.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "pack/ignore.h"
#include "tests/fuzz/fuzz.h"

/* Without sets and backslashes; the pattern is anchored, without '/' at either end. */
static bool slow(const char *p, const char *begin, const char *t)
{
	size_t stars = strspn(p, "*");
	bool first = p == begin || p[-1] == '/';

	if (!*p)
		return !*t;
	if (stars >= 2 && first && !p[stars])
		return true;
	if (stars >= 2 && first && p[stars] == '/') {
		if (slow(p + stars + 1, begin, t))
			return true;
		for (; *t; t++)
			if (*t == '/' && slow(p + stars + 1, begin, t + 1))
				return true;
		return false;
	}
	if (stars) {
		for (;; t++) {
			if (slow(p + stars, begin, t))
				return true;
			if (!*t || *t == '/')
				return false;
		}
	}
	if (*p == '?' ? *t && *t != '/' : *t == *p)
		return slow(p + 1, begin, t + 1);
	return false;
}

static bool is_simple(const char *pattern, const char *path)
{
	size_t len = strlen(pattern), n = 0;

	for (size_t i = 0; i < len; i++)
		n += pattern[i] == '*';
	return len && len < 40 && strlen(path) < 40 && n < 8 && *path &&
	       !strpbrk(pattern, "[]\\\n\r #!\xef") && strchr(pattern, '/') &&
	       pattern[len - 1] != '/' && pattern[0] != '/';
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_ignore struct ignore ig = { 0 };
	const uint8_t *line = size ? memchr(data, '\n', size) : NULL;
	const char *path, *pattern, *text;
	struct error err = { 0 };
	size_t len;
	bool ignored;

	if (!line || size > 10000)
		return 0;
	path = str_slice(&a, (const char *)data, (size_t)(line - data));
	text = (const char *)line + 1;
	len = size - (size_t)(line + 1 - data);
	if (ignore_add(&ig, "", text, len, &err))
		return 0;
	ignored = ignore_ask(&ig, path, false) == IGNORE_OUT;
	FUZZ_CHECK(!ignored || ig.n);
	pattern = str_slice(&a, text, len);
	if (strlen(pattern) == len && is_simple(pattern, path))
		FUZZ_CHECK(ignored == slow(pattern, pattern, path));
	return 0;
}
