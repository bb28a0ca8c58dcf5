/*
 * json_index.h - lookups in a loop.
 *
 * The members of one object, or with `key` the elements of one list by this string, found
 * without going over all of them. `{ .of = parent }` is a new index; between its lookups
 * `of` is changed only by the functions here.
 *
 *     cleanup_json_index struct json_index old = { .of = old_labels };
 *     json_each(label, labels)
 *             json_index_get(&old, label->string);
 */
#ifndef BASE_JSON_INDEX_H
#define BASE_JSON_INDEX_H

#include "base/json.h"
#include "base/map.h"

struct json_index {
	const cJSON *of; /* may be NULL */
	const char *key;
	const cJSON *next; /* after the last one found */
	struct map map;    /* the first of each name; filled where there are many */
	bool filled;
};
cJSON *json_index_get(struct json_index *ix, const char *name); /* or NULL */
/* As json_put() with one step, json_upsert() and json_del(), with the same results. */
cJSON *json_index_put(struct json_index *ix, cJSON *take_value, const char *name);
cJSON *json_index_upsert(struct json_index *ix, cJSON *take_element);
void json_index_del(struct json_index *ix, const char *name);

/* json_equal() of two objects without these members; of others, or NULL: json_equal(). */
bool json_equal_but(const cJSON *a, const cJSON *b, const char *const *but);

static inline void json_index_release(struct json_index *ix)
{
	map_release(&ix->map, NULL);
}
#define cleanup_json_index __attribute__((cleanup(json_index_release)))

#endif
