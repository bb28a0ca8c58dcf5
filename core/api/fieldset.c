/* fieldset.c - combines sets of fields (api/fieldset.h). */
#include "api/fieldset.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"

#define SELF "."

enum { MAX_DEPTH = 100, MAX_PATH = 4096 };

bool fieldset_is_empty(const cJSON *set)
{
	return !set || !set->child;
}

bool fieldset_has(const cJSON *node)
{
	return node && (!node->child || json_member(node, SELF));
}

static int by_name(const void *a, const void *b)
{
	const cJSON *const *x = a, *const *y = b;

	return strcmp((*x)->string, (*y)->string);
}

static bool is_sorted(const cJSON *set)
{
	const cJSON *c;

	json_each(c, set)
		if (c->next && strcmp(c->string, c->next->string) > 0)
			return false;
	return true;
}

void fieldset_sort(cJSON *set)
{
	size_t n = (size_t)cJSON_GetArraySize(set), i = 0;
	cleanup_free cJSON **all = NULL;

	if (is_sorted(set))
		return;
	all = xcalloc(n, sizeof(*all));
	while (set->child)
		all[i++] = cJSON_DetachItemViaPointer(set, set->child);
	qsort(all, n, sizeof(*all), by_name);
	for (i = 0; i < n; i++)
		cJSON_AddItemToArray(set, all[i]); /* with its name */
}

void fieldset_add(cJSON *set, const char *step, cJSON *take_children, bool self)
{
	bool some = take_children && take_children->child;

	if (!some && !self) {
		cJSON_Delete(take_children);
		return;
	}
	if (!take_children)
		take_children = cJSON_CreateObject();
	if (some && self) {
		cJSON_AddItemToObject(take_children, SELF, cJSON_CreateObject());
		fieldset_sort(take_children);
	}
	cJSON_AddItemToObject(set, step, take_children);
}

/* ---- combine two sets -------------------------------------------------------------- */

/* An operation on two sets: the paths of a, b or both that the result has. */
struct op {
	bool only_a, only_b; /* include the paths that only a, only b has? */
	bool (*self)(bool a, bool b);
	bool below; /* exclude the paths below a field of b, too? */
};

static const cJSON *first(const cJSON *set)
{
	const cJSON *c = set ? set->child : NULL;

	return c && str_eq(c->string, SELF) ? c->next : c;
}

static cJSON *combine(const struct op *op, const cJSON *a, const cJSON *b)
{
	const cJSON *x = first(a), *y = first(b);
	cJSON *set = cJSON_CreateObject();

	while (x || y) {
		int order = !x ? 1 : !y ? -1 : strcmp(x->string, y->string);

		if (order < 0) {
			if (op->only_a)
				cJSON_AddItemToObject(set, x->string, json_dup(x));
		} else if (order > 0) {
			if (op->only_b)
				cJSON_AddItemToObject(set, y->string, json_dup(y));
		} else if (!op->below || !fieldset_has(y)) {
			fieldset_add(set, x->string, combine(op, x, y),
				     op->self(fieldset_has(x), fieldset_has(y)));
		}
		x = order <= 0 ? x->next : x;
		y = order >= 0 ? y->next : y;
	}
	return set;
}

static bool either(bool a, bool b)
{
	return a || b;
}

static bool both(bool a, bool b)
{
	return a && b;
}

static bool first_only(bool a, bool b)
{
	return a && !b;
}

cJSON *fieldset_union(const cJSON *a, const cJSON *b)
{
	static const struct op op = { true, true, either, false };

	return combine(&op, a, b);
}

cJSON *fieldset_difference(const cJSON *a, const cJSON *b)
{
	static const struct op op = { true, false, first_only, false };

	return combine(&op, a, b);
}

cJSON *fieldset_without(const cJSON *a, const cJSON *b)
{
	static const struct op op = { true, false, first_only, true };

	return combine(&op, a, b);
}

cJSON *fieldset_intersection(const cJSON *a, const cJSON *b)
{
	static const struct op op = { false, false, both, false };

	return combine(&op, a, b);
}

/* ---- from outside ------------------------------------------------------------------ */

static bool is_step(const char *step)
{
	return str_eq(step, SELF) ||
	       (step[0] && strchr("fkvi", step[0]) && step[1] == ':');
}

static bool read_level(cJSON *set, int depth)
{
	cJSON *c;

	if (!cJSON_IsObject(set) || depth > MAX_DEPTH)
		return false;
	json_each(c, set)
		if (!is_step(c->string) || !read_level(c, depth + 1))
			return false;
	fieldset_sort(set);
	return true;
}

cJSON *fieldset_read(const cJSON *from_outside)
{
	cleanup_json cJSON *set = json_dup(from_outside);

	return set && read_level(set, 0) ? STEAL(set) : NULL;
}

/* ---- as text ----------------------------------------------------------------------- */

struct walk {
	struct buf path;
	void (*use)(void *ctx, const char *path);
	void *ctx;
};

/* {"a":1,"b":"x"} as a=1,b="x". */
static void add_keys(struct buf *path, const char *text)
{
	cleanup_json cJSON *keys = json_reread(text);
	const cJSON *key;
	const char *comma = "";

	json_each(key, keys) {
		buf_printf(path, "%s%s=", comma, key->string);
		json_print(path, key);
		comma = ",";
	}
}

static void add_step(struct buf *path, const char *step)
{
	switch (*step) {
	case 'f':
		buf_printf(path, ".%s", step + 2);
		return;
	case 'k':
		buf_adds(path, "[");
		add_keys(path, step + 2);
		break;
	case 'v':
		buf_printf(path, "[=%s", step + 2);
		break;
	default:
		buf_printf(path, "[%s", step + 2);
	}
	buf_adds(path, "]");
}

static void walk(struct walk *w, const cJSON *set)
{
	for (const cJSON *c = first(set); c; c = c->next) {
		size_t len = w->path.len;

		add_step(&w->path, c->string);
		if (fieldset_has(c) && w->path.data)
			w->use(w->ctx, (const char *)w->path.data);
		walk(w, c);
		if (w->path.data) {
			w->path.len = len;
			w->path.data[len] = 0;
		}
	}
}

void fieldset_each(const cJSON *set, void (*use)(void *ctx, const char *path), void *ctx)
{
	struct walk w = { .path = { .max = MAX_PATH }, .use = use, .ctx = ctx };

	walk(&w, set);
	buf_release(&w.path);
}
