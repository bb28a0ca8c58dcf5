/* Finds members and elements without going over all of them: json_index.h. */
#include "base/json_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/xmalloc.h"

enum { FEW = 16 }; /* so many are searched without a map */

static const char *name_in(const struct json_index *ix, const cJSON *child)
{
	return ix->key ? json_str(child, ix->key) : child->string;
}

static void fill(struct json_index *ix)
{
	const cJSON *child;

	json_each(child, ix->of) {
		const char *name = name_in(ix, child);

		if (name && !map_get(&ix->map, name))
			map_put(&ix->map, name, (void *)child);
	}
	ix->filled = true;
}

/* Equal names follow each other only in lists, whose first one is meant. */
static const cJSON *search(struct json_index *ix, const char *name)
{
	const cJSON *child = ix->of ? ix->of->child : NULL;

	if (!ix->key && ix->next && !strcmp(ix->next->string, name))
		return ix->next;
	for (int n = 0; !ix->filled && child; child = child->next) {
		const char *candidate = name_in(ix, child);

		if (candidate && !strcmp(candidate, name))
			return child;
		if (++n == FEW)
			fill(ix);
	}
	return ix->filled ? map_get(&ix->map, name) : NULL;
}

cJSON *json_index_get(struct json_index *ix, const char *name)
{
	const cJSON *found = name ? search(ix, name) : NULL;

	if (found)
		ix->next = found->next;
	return (cJSON *)found;
}

static void put_in(struct json_index *ix, const cJSON *old, cJSON *take_value,
		   const char *name)
{
	cJSON *of = (cJSON *)ix->of;

	if (old)
		cJSON_ReplaceItemViaPointer(of, (cJSON *)old, take_value);
	else
		cJSON_AddItemToArray(of, take_value); /* a member has its name */
	if (ix->filled && name)
		map_put(&ix->map, name, take_value);
	ix->next = take_value->next;
}

cJSON *json_index_put(struct json_index *ix, cJSON *take_value, const char *name)
{
	const cJSON *old = json_index_get(ix, name);

	if (!take_value)
		return NULL;
	free(take_value->string);
	take_value->string = xstrdup(name);
	put_in(ix, old, take_value, name);
	return take_value;
}

cJSON *json_index_upsert(struct json_index *ix, cJSON *take_element)
{
	const char *name = json_str(take_element, ix->key);

	put_in(ix, json_index_get(ix, name), take_element, name);
	return take_element;
}

void json_index_del(struct json_index *ix, const char *name)
{
	cJSON *node = json_index_get(ix, name);

	if (!node)
		return;
	if (ix->filled)
		map_del(&ix->map, name);
	cJSON_Delete(cJSON_DetachItemViaPointer((cJSON *)ix->of, node));
}

bool json_equal_but(const cJSON *a, const cJSON *b, const char *const *but)
{
	cleanup_json_index struct json_index in_b = { .of = b };
	const cJSON *m;
	size_t n = 0;

	if (!cJSON_IsObject(a) || !cJSON_IsObject(b))
		return json_equal(a, b);
	json_each(m, a) {
		if (str_in(m->string, but))
			continue;
		if (!json_equal(m, json_index_get(&in_b, m->string)))
			return false;
		n++;
	}
	json_each(m, b)
		n -= !str_in(m->string, but);
	return n == 0;
}
