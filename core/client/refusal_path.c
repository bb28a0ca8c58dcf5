/*
 * refusal_path.c - convert paths of server-side apply, which identifies elements of a
 * list by their keys (client/refusal.h).
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "client/refusal.h"

enum { MAX_PATH = 1 << 16 };

/* The length up to one of `ends`, ignoring those within quotes. */
static size_t span(const char *s, const char *ends)
{
	bool quoted = false;
	size_t n = 0;

	for (; s[n] && (quoted || !strchr(ends, s[n])); n++) {
		if (quoted && s[n] == '\\' && s[n + 1])
			n++;
		else if (s[n] == '"')
			quoted = !quoted;
	}
	return n;
}

size_t refusal_path_length(const char *s)
{
	size_t n = *s == '.' ? span(s, ":\n") : 0;

	return s[n] == ':' && s[n + 1] == ' ' && !memchr(s, '\n', n) ? n : 0;
}

/* Has the element this key, "name=value"? One without it has the default: true. */
static bool has_key(const cJSON *element, const char *key, size_t len,
		    struct arena *arena)
{
	size_t n = span(key, "=,]");
	const cJSON *there = n ? json_get(element, str_slice(arena, key, n)) : element;
	cleanup_json cJSON *value = NULL;

	if (n == len)
		return false;
	if (!there)
		return true;
	return !json_parse(&value, key + n + 1, len - n - 1, IGNORED) &&
	       json_equal(there, value);
}

static bool has_keys(const cJSON *element, const char *keys, struct arena *arena)
{
	for (;;) {
		size_t n = span(keys, ",]");

		if (!has_key(element, keys, n, arena))
			return false;
		if (keys[n] != ',')
			return true;
		keys += n + 1;
	}
}

/* Append "[1]" for "[name="a"]"; NULL: not found, `step` is appended unchanged. */
static const cJSON *element(struct buf *ret, const cJSON *list, const char *step,
			    size_t len, struct arena *arena)
{
	const cJSON *e;
	int i = 0;

	json_each(e, list) {
		cleanup_buf struct buf index = { .max = 32 };

		buf_printf(&index, "[%d]", i++);
		if (has_keys(e, step + 1, arena) ||
		    (index.len == len && !memcmp(index.data, step, len))) {
			buf_add(ret, index.data, index.len);
			return e;
		}
	}
	buf_add(ret, step, len);
	return NULL;
}

const char *refusal_path(struct arena *arena, const cJSON *obj, const char *s, size_t len)
{
	cleanup_buf struct buf ret = { .max = MAX_PATH };
	const char *step = str_slice(arena, s, len);

	while (*step) {
		bool keys = *step == '[';
		size_t n = keys ? span(step, "]") : 1 + strcspn(step + 1, ".[");

		n += keys && step[n];
		if (keys) {
			obj = element(&ret, obj, step, n, arena);
		} else {
			obj = json_get(obj, str_slice(arena, step + 1, n - 1));
			buf_add(&ret, step + !ret.len, n - !ret.len);
		}
		step += n;
	}
	return arena_strdup(arena, ret.data ? (const char *)ret.data : "");
}
