/*
 * json.h - Kubernetes objects, as documents.
 *
 * An object of the API server is a cJSON tree from the moment it is read until
 * it is sent. There are no C structs beside it: what is absent stays absent
 * (server-side apply depends on that), what we do not know passes through.
 *
 * A path is a list of keys, not a string to be parsed, because label keys hold
 * both '/' and '.':
 *
 *     json_str(pod, "metadata", "labels", "app.kubernetes.io/name")
 *
 * Ownership is the tree's: a node belongs to its parent, a root to whoever
 * made it. `const cJSON *` is borrowed. A parameter called take_... becomes the
 * callee's in every case, also when it fails.
 *
 * The literal keys of a kind stand in that kind's own file and nowhere else
 * (trainer/trainjob.c, api/meta.c, ...).
 *
 * Numbers: cJSON is patched (vendor/patches) so that a number which an int does
 * not hold exactly keeps its literal in `valuestring` and prints it back; read
 * numbers through json_int() or json_int_of(), never through valueint. Never
 * use cJSON_GetObjectItem (ignores case) or cJSON_GetArrayItem in a loop.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"

#define JSON_PATH(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* The first member of that name, null or not; or NULL. */
cJSON *json_member(const cJSON *obj, const char *name);

/*
 * The node there, or NULL when any key on the way is absent or null. What
 * comes from a const document is const.
 */
const cJSON *json_at(const cJSON *doc, const char *const *path);
cJSON *json_at_mut(cJSON *doc, const char *const *path);
const char *json_str_at(const cJSON *doc, const char *const *path);
bool json_bool_at(const cJSON *doc, const char *const *path, bool absent);
int64_t json_int_at(const cJSON *doc, const char *const *path, int64_t absent);

#define json_get(doc, ...) \
	_Generic((doc), cJSON *                   \
		 : json_at_mut, const cJSON *     \
		 : json_at)((doc), JSON_PATH(__VA_ARGS__))
#define json_str(doc, ...)          json_str_at(doc, JSON_PATH(__VA_ARGS__))
#define json_bool(doc, absent, ...) json_bool_at(doc, JSON_PATH(__VA_ARGS__), absent)
#define json_int(doc, absent, ...)  json_int_at(doc, JSON_PATH(__VA_ARGS__), absent)

/* Is it a number that is an integer within int64 (1e3 and 1.0 are)? Then *ret has it. */
bool json_int_of(const cJSON *node, int64_t *ret);
cJSON *json_new_int(int64_t v); /* any int64, exactly */

/*
 * Put a value there, making the objects on the way (a step that is absent, null
 * or no object becomes one). An existing member keeps its place among its
 * siblings. Returns the value; NULL as value puts nothing.
 */
cJSON *json_put_at(cJSON *doc, const char *const *path, cJSON *take_value);
#define json_put(doc, take_value, ...) \
	json_put_at(doc, JSON_PATH(__VA_ARGS__), take_value)
#define json_put_str(doc, s, ...)  json_put(doc, cJSON_CreateString(s), __VA_ARGS__)
#define json_put_int(doc, v, ...)  json_put(doc, json_new_int(v), __VA_ARGS__)
#define json_put_bool(doc, v, ...) json_put(doc, cJSON_CreateBool(v), __VA_ARGS__)

/* The object or array there; made, empty, when absent or null. */
cJSON *json_obj_at(cJSON *doc, const char *const *path);
cJSON *json_list_at(cJSON *doc, const char *const *path);
#define json_obj(doc, ...)  json_obj_at(doc, JSON_PATH(__VA_ARGS__))
#define json_list(doc, ...) json_list_at(doc, JSON_PATH(__VA_ARGS__))

void json_del(cJSON *doc, const char *const *path); /* absent is fine */
cJSON *json_dup(const cJSON *doc);                  /* deep; NULL gives NULL */

/*
 * Lists that are maps: the element whose `key` has this string value.
 * json_upsert() replaces that element where it stands, or appends.
 */
cJSON *json_find(cJSON *list, const char *key, const char *value);
const cJSON *json_find_const(const cJSON *list, const char *key, const char *value);
bool json_has_str(const cJSON *list, const char *text); /* is it an element? */
cJSON *json_upsert(cJSON *list, const char *key, cJSON *take_element);

/*
 * Deep equality; the order of keys does not count, the order of lists does.
 * Numbers are equal by value (1 and 1.0), integers exactly.
 */
bool json_equal(const cJSON *a, const cJSON *b);
void json_print_identity(struct buf *out, const cJSON *scalar); /* equal ones: the same */

/* Has it more levels of objects and lists? json_parse() takes JSON_MAX_DEPTH of them. */
bool json_is_deeper(const cJSON *doc, int levels);

/* Limits of the strict door. */
enum {
	JSON_MAX_DEPTH = 200,
	JSON_MAX_MEMBERS = 100000, /* of one object */
	JSON_MAX_NODES = 5000000,
	JSON_MAX_NUMBER = 63, /* characters of a number: what cJSON reads */
};
#define JSON_MAX_BYTES ((size_t)64 * 1024 * 1024)

/*
 * Parse strictly: RFC 8259 in UTF-8, one value and nothing after it. ERR_FORMAT, as
 * "line:column: what": duplicate keys in an object, NUL in a string, invalid UTF-8,
 * numbers beyond a double; ERR_LIMIT: depth, members, nodes, size, the length of a
 * number.
 */
MUST_CHECK int json_parse(cJSON **ret, const void *data, size_t len, struct error *err);
/*
 * The same for the value at *at, whatever follows it. *at: its end, or where the error is.
 * Errors have the place in the whole text.
 */
MUST_CHECK int json_parse_at(cJSON **ret, const char *text, size_t len, size_t *at,
			     struct error *err);
/* The error "line:column: ..." of a place in a text; columns count characters. Returns -1. */
int json_fail_at(const char *text, size_t at, struct error *err, enum error_kind kind,
		 const char *fmt, ...) PRINTF_LIKE(5, 6);
/* Parse the output of json_text(), at half the cost. NULL: not such a text. */
cJSON *json_reread(const char *text);

/* Printing stops when `out` is full. */
void json_print(struct buf *out, const cJSON *doc);        /* one line, no newline */
void json_print_pretty(struct buf *out, const cJSON *doc); /* 2 spaces; closing newline */
char *json_text(const cJSON *doc);                         /* one line; free() it */
/* The printed form of a number: its literal, or made in `text`. */
const char *json_number_text(const cJSON *node, char text[JSON_MAX_NUMBER + 1]);
/* The text of a number, a bool or null. */
const char *json_scalar_text(const cJSON *node, char text[JSON_MAX_NUMBER + 1]);

CLEANUP(json, cJSON *, cJSON_Delete);
#define cleanup_json __attribute__((cleanup(cleanup_jsonp)))

#define json_each(node, parent) \
	for ((node) = (parent) ? (parent)->child : NULL; (node); (node) = (node)->next)

#endif
