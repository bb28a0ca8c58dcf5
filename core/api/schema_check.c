/*
 * schema_check.c - validate an object, with suggestions for fields (api/schema.h).
 *
 * Paths, types and wording follow the API server: kube-openapi
 * pkg/validation/validate and errors, apiextensions-apiserver
 * pkg/apiserver/schema/{listtype,cel}. Beyond it: unknown fields are errors, and
 * integers must fit their format (the API server leaves both to the typed
 * clients behind it).
 */
#include <stdlib.h>
#include <string.h>

#include "api/schema_node.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json_index.h"
#include "base/map.h"
#include "base/str.h"

enum { MAX_ADVICE = 200 };
#define SHELL_SYNTAX "\"'\\`$&|;<>()*?#~\t\n"

/* The path from here to the root, as a list on the stack. */
struct at {
	const struct at *up; /* NULL: the root */
	const char *key;     /* key of an object; NULL: index of a list */
	size_t index;
};

struct check {
	struct field_errors *errs;
	size_t n_type_errors;
};

static const char *path_text(struct check *c, const struct at *at)
{
	const char *up;

	if (!at->up || field_errors_full(c->errs))
		return "";
	up = path_text(c, at->up);
	return at->key ? field_child(c->errs, up, at->key)
		       : field_index(c->errs, up, at->index);
}

/* `found` is beyond `limit`: "... in body should <text> <limit><unit>". */
static void limit_error(struct check *c, const struct at *at, int64_t found,
			const char *text, int64_t limit, const char *unit)
{
	cleanup_json cJSON *number = json_new_int(found);
	const char *path = path_text(c, at);

	field_error_add(c->errs, FIELD_INVALID, path, number,
			"%s in body should %s %lld%s", path, text, (long long)limit,
			unit);
}

static void too_many(struct check *c, const struct at *at, int64_t found, int64_t limit)
{
	cleanup_json cJSON *number = json_new_int(found);

	field_error_add(c->errs, FIELD_TOO_MANY, path_text(c, at), number,
			"must have at most %lld item%s", (long long)limit,
			limit == 1 ? "" : "s");
}

static const char *type_of(const cJSON *value)
{
	int64_t i;

	if (cJSON_IsObject(value))
		return "object";
	if (cJSON_IsArray(value))
		return "array";
	if (cJSON_IsString(value))
		return "string";
	if (cJSON_IsBool(value))
		return "boolean";
	if (cJSON_IsNull(value))
		return "null";
	return json_int_of(value, &i) ? "integer" : "number";
}

static bool type_is(enum node_type type, const cJSON *value)
{
	int64_t i;

	switch (type) {
	case NODE_OBJECT:
		return cJSON_IsObject(value);
	case NODE_ARRAY:
		return cJSON_IsArray(value);
	case NODE_STRING:
		return cJSON_IsString(value);
	case NODE_BOOLEAN:
		return cJSON_IsBool(value);
	case NODE_INTEGER:
		return json_int_of(value, &i);
	case NODE_INT_OR_STRING:
		return cJSON_IsString(value) || json_int_of(value, &i);
	}
	return false;
}

/* The list to use instead of a command given as one text. In the arena. */
static const char *list_advice(struct arena *arena, const char *text)
{
	cleanup_json cJSON *words = cJSON_CreateArray();
	cleanup_buf struct buf list = { .max = MAX_ADVICE };
	bool plain = !text[strcspn(text, SHELL_SYNTAX)];
	const char *const shell[] = { "sh", "-c", text, NULL };
	const char *const *word = shell;

	if (plain)
		word = (const char *const *)str_split(arena, text, ' ', NULL);
	for (; *word; word++)
		if (**word)
			cJSON_AddItemToArray(words, cJSON_CreateString(*word));
	json_print(&list, words);
	return arena_printf(arena, "; write it as a list: %s",
			    list.overflowed ? "[\"python3\", \"train.py\"]"
					    : (const char *)list.data);
}

/* List all known fields if they are few. */
static const char *field_names(struct arena *arena, const struct node *node)
{
	cleanup_buf struct buf text = { .max = 200 };

	for (size_t i = 0; i < node->n_props; i++)
		buf_printf(&text, "%s%s", i ? ", " : "the fields are ",
			   node->props[i].name);
	return text.overflowed || !text.data ? ""
					     : arena_strdup(arena, (char *)text.data);
}

/* A mapping is missing: the fields that it has, or what made a text of "name:value". */
static const char *object_advice(struct arena *arena, const struct node *node,
				 const char *text)
{
	const char *fields = field_names(arena, node);
	size_t key = strcspn(text, ": ");

	if (key && text[key] == ':' && text[key + 1] && !strchr(" /", text[key + 1]))
		return "; write a space after the ':'";
	return *fields ? arena_printf(arena, "; %s", fields) : "";
}

/* For a text where another type is wanted. */
static const char *text_advice(struct arena *arena, const struct node *node,
			       const char *text)
{
	const char *behind = text + strspn(text, "0123456789");
	const char *instead = json_str(node->instead, text);
	bool digits = *text && !*behind;
	uint32_t foreign = 0; /* not ASCII, and maybe invisible */

	if ((unsigned char)*behind >= 0x80)
		utf8_decode(behind, behind + strlen(behind), &foreign);

	if (node->type == NODE_ARRAY && node->each && node->each->type == NODE_STRING)
		return list_advice(arena, text);
	if (node->type == NODE_OBJECT)
		return object_advice(arena, node, text);
	if (node->type == NODE_INTEGER && digits)
		return "; write it without quotes";
	if (node->type == NODE_INTEGER && foreign)
		return arena_printf(arena,
				    "; it has the character U+%04X, which is no digit",
				    (unsigned)foreign);
	return instead ? arena_printf(arena, "; %s", instead) : "";
}

/* YAML guesses the type of unquoted text. */
static const char *advice(struct arena *arena, const struct node *node,
			  const cJSON *value)
{
	if (cJSON_IsString(value))
		return text_advice(arena, node, value->valuestring);
	if (node->type == NODE_STRING && (cJSON_IsNumber(value) || cJSON_IsBool(value)))
		return "; write it in quotes";
	if (node->type == NODE_INT_OR_STRING && cJSON_IsNumber(value))
		return "; write it in quotes";
	if (node->type == NODE_ARRAY && cJSON_IsObject(value))
		return "; begin each item with '- '";
	return "";
}

static void type_error(struct check *c, const struct at *at, const struct node *node,
		       const cJSON *value)
{
	static const char *const names[] = {
		[NODE_OBJECT] = "object",   [NODE_ARRAY] = "array",
		[NODE_STRING] = "string",   [NODE_INTEGER] = "integer",
		[NODE_BOOLEAN] = "boolean", [NODE_INT_OR_STRING] = "integer,string",
	};
	const char *path = path_text(c, at), *found = type_of(value);
	cleanup_json cJSON *text = cJSON_CreateString(found);

	c->n_type_errors++;
	field_error_add(c->errs, FIELD_TYPE_INVALID, path, text,
			"%s in body must be of type %s: \"%s\"%s", path,
			names[node->type], found, advice(&c->errs->arena, node, value));
}

static void check_integer(struct check *c, const struct at *at, const struct node *node,
			  const cJSON *value)
{
	int64_t least = node->minimum > INT32_MIN ? node->minimum : INT32_MIN, i;

	if (!json_int_of(value, &i))
		return;
	if (i < node->minimum)
		limit_error(c, at, i, "be greater than or equal to", node->minimum, "");
	if (i > node->maximum)
		limit_error(c, at, i, "be less than or equal to", node->maximum, "");
	if (node->format == FORMAT_INT32 && (i < INT32_MIN || i > INT32_MAX))
		field_error_add(c->errs, FIELD_INVALID, path_text(c, at), value,
				"must be from %lld to %d", (long long)least, INT32_MAX);
}

/* Characters, as the limits count them. */
static int64_t count_characters(const char *s)
{
	int64_t n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

static bool is_date_time(const char *s)
{
	int64_t seconds;

	return !time_parse(&seconds, s, IGNORED);
}

static void check_string(struct check *c, const struct at *at, const struct node *node,
			 const cJSON *value)
{
	const char *s = value->valuestring, *path;
	int64_t n = count_characters(s);

	if (!utf8_valid(s, strlen(s))) {
		field_error_add(c->errs, FIELD_INVALID, path_text(c, at), value,
				"must be UTF-8, as all text of an object");
	} else if (n > node->max_size) {
		field_error_add(c->errs, FIELD_TOO_LONG, path_text(c, at), NULL,
				"may not be more than %lld bytes",
				(long long)node->max_size);
	} else if (n < node->min_size) {
		path = path_text(c, at);
		field_error_add(c->errs, FIELD_INVALID, path, value,
				"%s in body should be at least %lld chars long", path,
				(long long)node->min_size);
	} else if (node->pattern && regexec(&node->pattern->regex, s, 0, NULL, 0)) {
		path = path_text(c, at);
		if (node->hint)
			field_error_add(c->errs, FIELD_INVALID, path, value, "must be %s",
					node->hint);
		else
			field_error_add(c->errs, FIELD_INVALID, path, value,
					"%s in body should match '%s'", path,
					node->pattern->text);
	}
	if (node->format == FORMAT_DATE_TIME && !is_date_time(s)) {
		path = path_text(c, at);
		field_error_add(c->errs, FIELD_INVALID, path, value,
				"%s in body must be of type date-time, such as %s", path,
				"2026-01-31T23:59:59Z");
	}
}

static void check_enum(struct check *c, const struct at *at, const struct node *node,
		       const cJSON *value)
{
	cleanup_buf struct buf words = { .max = 4096 };
	const cJSON *word;

	json_each(word, node->enums) {
		if (json_equal(word, value))
			return;
		buf_adds(&words, words.len ? ", " : "");
		json_print(&words, word);
	}
	field_error_add(c->errs, FIELD_NOT_SUPPORTED, path_text(c, at), value,
			"supported values: %s",
			words.data ? (const char *)words.data : "");
}

/* The value of a map's key, given or by default. */
static const cJSON *key_value(const struct node *element_node, const cJSON *element,
			      const char *key)
{
	const cJSON *value = json_member(element, key);
	const struct node *node = node_prop(element_node, key);

	if (!value || cJSON_IsNull(value))
		return node ? node->fallback : NULL;
	return value;
}

/*
 * The element's keys, {containerPort: 80, protocol: TCP}, owned by the caller. NULL: one
 * is missing, which is reported.
 */
static cJSON *map_keys(const struct node *list, const cJSON *element)
{
	cleanup_json cJSON *keys = cJSON_CreateObject();
	const cJSON *value;

	for (const char *const *k = list->keys; *k; k++) {
		value = key_value(list->each, element, *k);
		if (!value && str_in(*k, list->each->required))
			return NULL;
		if (value)
			cJSON_AddItemToObject(keys, *k, json_dup(value));
	}
	return STEAL(keys);
}

char *node_keys_text(const struct node *list, const cJSON *element)
{
	cleanup_json cJSON *keys = map_keys(list, element);

	return keys ? json_text(keys) : NULL;
}

/* Report duplicate values of a set, or duplicate keys of a map. */
static void check_unique(struct check *c, const struct at *at, const struct node *node,
			 const cJSON *array)
{
	static char once, twice;
	cleanup_map struct map counts = { 0 };
	struct at here = { .up = at, .index = (size_t)-1 };
	const cJSON *element;
	void *before;

	json_each(element, array) {
		cleanup_json cJSON *keys = NULL;
		cleanup_free char *text = NULL;

		here.index++;
		if (node->list == LIST_MAP) {
			keys = map_keys(node, element);
			if (!keys)
				continue;
		}
		text = json_text(keys ? keys : element);
		before = map_put(&counts, text, &once);
		if (before)
			map_put(&counts, text, &twice);
		if (before == &once && cJSON_IsObject(element) == (keys != NULL))
			field_error_add(c->errs, FIELD_DUPLICATE, path_text(c, &here),
					keys ? keys : element, "%s", "");
	}
}

static void check_value(struct check *c, const struct at *at, const struct node *node,
			const cJSON *value, const cJSON *old);

/* The elements of the old list by their keys; only maps have them. */
static void index_elements(struct map *ret, const struct node *list, const cJSON *old)
{
	const cJSON *element;

	if (list->list != LIST_MAP)
		return;
	json_each(element, old) {
		cleanup_free char *keys = node_keys_text(list, element);

		if (keys && !map_get(ret, keys))
			map_put(ret, keys, (void *)element);
	}
}

static const cJSON *old_element(const struct map *by_keys, const struct node *list,
				const cJSON *element)
{
	cleanup_free char *keys = by_keys->n ? node_keys_text(list, element) : NULL;

	return keys ? map_get(by_keys, keys) : NULL;
}

static void check_array(struct check *c, const struct at *at, const struct node *node,
			const cJSON *array, const cJSON *old)
{
	int64_t n = cJSON_GetArraySize(array);
	cleanup_map struct map before = { 0 };
	struct at here = { .up = at };
	const cJSON *element;

	index_elements(&before, node, old);
	json_each(element, array) {
		check_value(c, &here, node->each, element,
			    old_element(&before, node, element));
		here.index++;
	}
	if (n < node->min_size)
		limit_error(c, at, n, "have at least", node->min_size, " items");
	if (n > node->max_size)
		too_many(c, at, n, node->max_size);
	if (node->list != LIST_ATOMIC)
		check_unique(c, at, node, array);
}

/* The advice of `instead` for a field of this value. */
static const char *use_instead(struct arena *arena, const cJSON *instead,
			       const cJSON *value)
{
	const char *word = cJSON_GetStringValue(value);

	if (cJSON_IsString(instead))
		return arena_printf(arena, "use %s", instead->valuestring);
	word = word ? json_str(instead, word) : NULL;
	return word ? word : json_str(instead, "");
}

/* The field beside it that has a field of this name, as where lines are not indented. */
static const char *home_of(const struct node *node, const char *key)
{
	for (size_t i = 0; i < node->n_props; i++)
		if (node_prop(node->props[i].node, key))
			return node->props[i].name;
	return NULL;
}

static void unknown_field(struct check *c, const struct at *at, const struct node *node,
			  const cJSON *value)
{
	cleanup_arena struct arena arena = { 0 };
	size_t max = node->n_props + (size_t)cJSON_GetArraySize(node->instead) + 1;
	const char **names = arena_alloc(&arena, max * sizeof(*names));
	const cJSON *other;
	const char *home = home_of(node, at->key), *near, *detail = "";
	const cJSON *instead;
	size_t n = 0;

	if (field_errors_full(c->errs)) {
		c->errs->more++;
		return;
	}
	for (; n < node->n_props; n++)
		names[n] = node->props[n].name;
	json_each(other, node->instead)
		names[n++] = other->string;
	near = nearest_word(at->key, names);
	instead = near ? json_get(node->instead, near) : NULL;
	if (near && !instead)
		detail = nearest_did_you_mean(&arena, near);
	else if (instead)
		detail = use_instead(&arena, instead, value);
	else if (home)
		detail = arena_printf(&arena, "it belongs in %s: indent it", home);
	else
		detail = field_names(&arena, node);
	field_error_add(c->errs, FIELD_UNKNOWN, path_text(c, at), NULL, "%s", detail);
}

/* An unknown key of a map: `instead` is suggested. */
static void foreign_key(struct check *c, const struct at *at, const char *instead)
{
	cleanup_json cJSON *key = cJSON_CreateString(at->key);

	field_error_add(c->errs, FIELD_INVALID, path_text(c, at), key, "use %s", instead);
}

/* Count members as the API server does: after defaulting and pruning. */
static int64_t count_members(const struct node *node, const cJSON *obj)
{
	const cJSON *member;
	int64_t n = 0;

	for (size_t i = 0; i < node->n_props; i++) {
		member = json_member(obj, node->props[i].name);
		n += (member && !cJSON_IsNull(member)) || node->props[i].node->fallback;
	}
	json_each(member, obj)
		n += node->each && !node_prop(node, member->string) &&
		     !cJSON_IsNull(member);
	return n;
}

/*
 * Go's encoding of an unset struct: every ObjectMeta has creationTimestamp, every object a
 * status, also where the schema has neither.
 */
static bool is_unset(const cJSON *member)
{
	if (str_eq(member->string, "creationTimestamp"))
		return cJSON_IsNull(member);
	return str_eq(member->string, "status") &&
	       (cJSON_IsNull(member) || (cJSON_IsObject(member) && !member->child));
}

static void check_members(struct check *c, const struct at *at, const struct node *node,
			  const cJSON *obj, const cJSON *old)
{
	cleanup_json_index struct json_index before = { .of = old };
	struct at here = { .up = at };
	const struct node *child;
	const cJSON *member;

	json_each(member, obj) {
		here.key = member->string;
		child = node_prop(node, member->string);
		child = child ? child : node->each;
		if (!child && !node->preserves_unknown && !is_unset(member))
			unknown_field(c, &here, node, member);
		else if (child == node->each && json_str(node->instead, here.key))
			foreign_key(c, &here, json_str(node->instead, here.key));
		if (child && !cJSON_IsNull(member)) /* null counts as absent */
			check_value(c, &here, child, member,
				    json_index_get(&before, member->string));
	}
}

static void check_object(struct check *c, const struct at *at, const struct node *node,
			 const cJSON *obj, const cJSON *old)
{
	int64_t n = count_members(node, obj);
	struct at here = { .up = at };
	const struct node *child;
	const cJSON *member;

	if (n < node->min_size)
		limit_error(c, at, n, "have at least", node->min_size, " properties");
	if (n > node->max_size)
		too_many(c, at, n, node->max_size);
	check_members(c, at, node, obj, old);
	for (const char *const *name = node->required; *name; name++) {
		member = json_member(obj, *name);
		child = node_prop(node, *name);
		if ((member && !cJSON_IsNull(member)) || (child && child->fallback))
			continue;
		here.key = *name;
		field_error_add(c->errs, FIELD_REQUIRED, path_text(c, &here), NULL, "%s",
				"");
	}
}

static bool is_faulty(const struct field_errors *errs, const char *path)
{
	for (size_t i = 0; i < errs->n; i++)
		if (str_eq(errs->list[i].path, path))
			return true;
	return field_errors_full(errs);
}

/* Report a broken rule, unless the field already has an error. */
static void rule_error(struct check *c, const struct at *at, const struct rule *rule,
		       const cJSON *value)
{
	const char *path = path_text(c, at);
	cleanup_json cJSON *type = NULL;

	if (rule->field)
		path = field_child(c->errs, path, rule->field);
	for (const char *const *key = rule->at; key && *key; key++)
		path = field_child(c->errs, path, *key);
	if (rule->at)
		value = json_at(value, rule->at);
	if (is_faulty(c->errs, path))
		return;
	if (cJSON_IsObject(value) || cJSON_IsArray(value))
		value = type = cJSON_CreateString(type_of(value));
	field_error_add(c->errs, FIELD_INVALID, path, value, "%s", rule->message);
}

/* Skip the rules of values with type errors, which are reported already. */
static void check_rules(struct check *c, const struct at *at, const struct node *node,
			const cJSON *value, const cJSON *old)
{
	for (size_t i = 0; i < node->n_rules; i++) {
		const struct rule *rule = &node->rules[i];

		if (rule->is_transition && (!old || cJSON_IsNull(old)))
			continue;
		if (!rule->check->holds(rule, node, value, old))
			rule_error(c, at, rule, value);
	}
}

static void check_value(struct check *c, const struct at *at, const struct node *node,
			const cJSON *value, const cJSON *old)
{
	size_t before = c->n_type_errors;

	if (cJSON_IsNull(value) && node->nullable)
		return;
	if (!type_is(node->type, value)) {
		type_error(c, at, node, value);
		return;
	}
	if (cJSON_IsObject(value))
		check_object(c, at, node, value, old);
	else if (cJSON_IsArray(value))
		check_array(c, at, node, value, old);
	else if (cJSON_IsString(value))
		check_string(c, at, node, value);
	else
		check_integer(c, at, node, value);
	if (node->enums)
		check_enum(c, at, node, value);
	if (c->n_type_errors == before)
		check_rules(c, at, node, value, old);
}

/* Find the kind; adds errors of apiVersion and kind. */
static const struct kind *check_type_meta(const struct schema *schema, const cJSON *obj,
					  struct field_errors *errs)
{
	const cJSON *version = json_get(obj, "apiVersion"), *name = json_get(obj, "kind");
	const struct kind *kind = schema_kind(schema, cJSON_GetStringValue(name));
	const char *wanted = kind ? kind->api_version : schema->api_version;
	cleanup_arena struct arena arena = { 0 };
	const char **names;
	const char *near;

	if (!version)
		field_error_add(errs, FIELD_REQUIRED, "apiVersion", NULL, "%s", wanted);
	else if (!str_eq(cJSON_GetStringValue(version), wanted))
		field_error_add(errs, FIELD_INVALID, "apiVersion", version, "must be %s",
				wanted);
	if (kind)
		return kind;
	names = arena_alloc(&arena, (schema->n_kinds + 1) * sizeof(*names));
	for (size_t i = 0; i < schema->n_kinds; i++)
		names[i] = schema->kinds[i].name;
	near = cJSON_IsString(name) ? nearest_word(name->valuestring, names) : NULL;
	if (!name)
		field_error_add(errs, FIELD_REQUIRED, "kind", NULL, "one of %s",
				str_join(&arena, names, ", "));
	else if (near)
		field_error_add(errs, FIELD_NOT_SUPPORTED, "kind", name, "%s",
				nearest_did_you_mean(&arena, near));
	else
		field_error_add(errs, FIELD_NOT_SUPPORTED, "kind", name,
				"must be one of %s", str_join(&arena, names, ", "));
	return NULL;
}

void schema_validate(const struct schema *schema, const cJSON *obj, const cJSON *old,
		     struct field_errors *errs)
{
	struct check c = { .errs = errs };
	struct at root = { 0 };
	cleanup_json cJSON *new_copy = NULL, *old_copy = NULL;
	const struct kind *kind;

	if (!cJSON_IsObject(obj)) {
		field_error_add(
			errs, FIELD_TYPE_INVALID, "", NULL,
			"an object with apiVersion, kind, metadata and spec is wanted");
		return;
	}
	kind = check_type_meta(schema, obj, errs);
	if (!kind)
		return;
	if (old) { /* one may have defaults that the other omits */
		new_copy = json_dup(obj);
		old_copy = json_dup(old);
		schema_default(schema, new_copy);
		schema_default(schema, old_copy);
		obj = new_copy;
	}
	schema_check_meta(kind, obj, errs);
	check_value(&c, &root, kind->node, obj, old_copy);
}
