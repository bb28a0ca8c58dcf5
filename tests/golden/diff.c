#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "tests/golden/golden.h"

static const char *const list_keys[] = { "name", "mountPath", "containerPort", "manager",
					 NULL };

static void say(struct buf *out, const char *path, const cJSON *expected,
		const cJSON *got)
{
	cleanup_free char *e = expected ? json_text(expected) : NULL;
	cleanup_free char *g = got ? json_text(got) : NULL;

	buf_printf(out, "%s: expected %.300s, got %.300s\n", *path ? path : "/",
		   e ? e : "nothing", g ? g : "nothing");
}

static void diff_maps(struct buf *out, const char *path, const cJSON *e, const cJSON *g)
{
	cleanup_arena struct arena arena = { 0 };
	const cJSON *child;

	json_each(child, e)
		diff_docs(out, arena_printf(&arena, "%s/%s", path, child->string), child,
			  json_get(g, child->string));
	json_each(child, g)
		if (!json_get(e, child->string))
			say(out, arena_printf(&arena, "%s/%s", path, child->string), NULL,
			    child);
}

/* Which elements, in which order: for a line that a person can read. */
static char *outline(struct arena *arena, const cJSON *list)
{
	char *all = arena_strdup(arena, "");
	const cJSON *child;

	json_each(child, list) {
		const char *name = cJSON_GetStringValue(child);

		for (size_t i = 0; !name && list_keys[i]; i++)
			name = json_str(child, list_keys[i]);
		all = arena_printf(arena, "%s%s%s", all, *all ? "," : "",
				   name ? name : "?");
	}
	return all;
}

static void diff_lists(struct buf *out, const char *path, const cJSON *e, const cJSON *g)
{
	cleanup_arena struct arena arena = { 0 };
	const char *e_line = outline(&arena, e), *g_line = outline(&arena, g);
	const cJSON *ec, *gc = g->child;
	size_t i = 0;

	if (!str_eq(e_line, g_line) || cJSON_GetArraySize(e) != cJSON_GetArraySize(g)) {
		buf_printf(out, "%s: elements: expected [%s], got [%s]\n", path, e_line,
			   g_line);
		return;
	}
	json_each(ec, e) {
		diff_docs(out, arena_printf(&arena, "%s[%zu]", path, i++), ec, gc);
		gc = gc->next;
	}
}

void diff_docs(struct buf *out, const char *path, const cJSON *expected, const cJSON *got)
{
	if (cJSON_IsObject(expected) && cJSON_IsObject(got))
		diff_maps(out, path, expected, got);
	else if (cJSON_IsArray(expected) && cJSON_IsArray(got))
		diff_lists(out, path, expected, got);
	else if (!json_equal(expected, got))
		say(out, path, expected, got);
}

static const cJSON *element(const cJSON *list, const char *name)
{
	const cJSON *child;
	size_t i = 0;

	if (cJSON_IsObject(list))
		return json_get(list, name);
	json_each(child, list) {
		if (strspn(name, "0123456789") == strlen(name) &&
		    i == strtoul(name, NULL, 10))
			return child;
		i++;
	}
	for (size_t k = 0; list_keys[k]; k++)
		if (json_find_const(list, list_keys[k], name))
			return json_find_const(list, list_keys[k], name);
	return NULL;
}

const cJSON *node_at(const cJSON *doc, const char *path)
{
	cleanup_arena struct arena arena = { 0 };

	while (doc && *path) {
		size_t n;

		path += *path == '.';
		if (*path == '[') {
			n = strcspn(++path, "]");
			doc = element(doc, str_slice(&arena, path, n));
			n += path[n] == ']';
		} else {
			n = strcspn(path, ".[");
			doc = json_get(doc, str_slice(&arena, path, n));
		}
		path += n;
	}
	return doc;
}
