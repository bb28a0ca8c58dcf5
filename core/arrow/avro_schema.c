/* Parses Avro schemas: avro_schema.h. */
#include "arrow/avro_schema.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/map.h"
#include "base/str.h"

enum { MAX_DEPTH = 60, MAX_FIXED = 1 << 20, MAX_MEMBERS = 100000 };

struct builder {
	struct arena *arena;
	struct map names; /* struct avro_type: records, enums, fixed */
	struct error *err;
	int depth;
};

static const struct avro_type plain[] = {
	{ .kind = AVRO_NULL },  { .kind = AVRO_BOOLEAN }, { .kind = AVRO_INT },
	{ .kind = AVRO_LONG },  { .kind = AVRO_FLOAT },   { .kind = AVRO_DOUBLE },
	{ .kind = AVRO_BYTES }, { .kind = AVRO_STRING },
};
static const char *const plain_names[] = { "null",  "boolean", "int",   "long",
					   "float", "double",  "bytes", "string" };

static const struct avro_type *build(struct builder *b, const cJSON *node);

static const struct avro_type *bad(struct builder *b, const char *what)
{
	error_set(b->err, ERR_FORMAT, "Avro schema: %s", what);
	return NULL;
}

static const struct avro_type *type_named(struct builder *b, const char *name)
{
	cleanup_arena struct arena arena = { 0 };
	const struct avro_type *t;

	for (size_t i = 0; i < N_ELEMENTS(plain_names); i++)
		if (str_eq(name, plain_names[i]))
			return &plain[i];
	t = map_get(&b->names, name);
	if (!t)
		error_set(b->err, ERR_FORMAT, "Avro schema: unknown type '%.100s'",
			  str_visible(&arena, name, false));
	return t;
}

/* Register the name before the members are read: a type may refer to itself. */
static struct avro_type *new_type(struct builder *b, const cJSON *node,
				  enum avro_kind kind)
{
	struct avro_type *t = arena_alloc(b->arena, sizeof(*t));
	const char *name = json_str(node, "name"), *space = json_str(node, "namespace");

	t->kind = kind;
	if (name)
		map_put(&b->names, name, t);
	if (name && space)
		map_put(&b->names, arena_printf(b->arena, "%s.%s", space, name), t);
	return t;
}

static struct avro_member *alloc_members(struct builder *b, struct avro_type *t, size_t n)
{
	t->members = arena_alloc(b->arena, (n + 1) * sizeof(*t->members));
	for (size_t i = 0; i < n; i++)
		t->members[i] = (struct avro_member){ .name = "", .id = -1 };
	return t->members;
}

static const struct avro_type *one_member(struct builder *b, struct avro_type *t,
					  const struct avro_type *member)
{
	alloc_members(b, t, 1)->type = member;
	t->n = 1;
	return member ? t : NULL;
}

static size_t count(const cJSON *list)
{
	size_t n = 0;
	const cJSON *each;

	json_each(each, list)
		n++;
	return n < MAX_MEMBERS ? n : MAX_MEMBERS;
}

static const struct avro_type *build_record(struct builder *b, const cJSON *node)
{
	struct avro_type *t = new_type(b, node, AVRO_RECORD);
	const cJSON *fields = json_member(node, "fields"), *each;
	size_t n = count(fields);

	alloc_members(b, t, n);
	json_each(each, fields) {
		struct avro_member *m = &t->members[t->n];
		const char *name = json_str(each, "name");

		if (t->n == n)
			return bad(b, "too many fields");
		m->name = arena_strdup(b->arena, name ? name : "");
		m->id = (int32_t)json_int(each, -1, "field-id");
		m->type = build(b, json_member(each, "type"));
		if (!m->type)
			return NULL;
		t->n++;
	}
	return t;
}

/* Keys are strings; a map is read as an array of pairs. */
static const struct avro_type *build_map(struct builder *b, const cJSON *node)
{
	struct avro_type *pair = arena_alloc(b->arena, sizeof(*pair));
	struct avro_type *t = new_type(b, node, AVRO_MAP);

	pair->kind = AVRO_RECORD;
	pair->n = 2;
	alloc_members(b, pair, 2)[0].type = type_named(b, "string");
	pair->members[1].type = build(b, json_member(node, "values"));
	return pair->members[1].type ? one_member(b, t, pair) : NULL;
}

static const struct avro_type *build_fixed(struct builder *b, const cJSON *node)
{
	struct avro_type *t = new_type(b, node, AVRO_FIXED);
	int64_t size = json_int(node, -1, "size");

	if (size < 0 || size > MAX_FIXED)
		return bad(b, "a fixed type without a valid size");
	t->size = (size_t)size;
	return t;
}

static const struct avro_type *build_object(struct builder *b, const cJSON *node)
{
	const char *type = json_str(node, "type");

	if (!type)
		return build(b, json_member(node, "type"));
	if (str_eq(type, "record") || str_eq(type, "error"))
		return build_record(b, node);
	if (str_eq(type, "array"))
		return one_member(b, new_type(b, node, AVRO_ARRAY),
				  build(b, json_member(node, "items")));
	if (str_eq(type, "map"))
		return build_map(b, node);
	if (str_eq(type, "fixed"))
		return build_fixed(b, node);
	if (str_eq(type, "enum")) {
		struct avro_type *t = new_type(b, node, AVRO_ENUM);

		t->size = count(json_member(node, "symbols"));
		return t;
	}
	return type_named(b, type);
}

static const struct avro_type *build_union(struct builder *b, const cJSON *node)
{
	struct avro_type *t = arena_alloc(b->arena, sizeof(*t));
	size_t n = count(node);
	const cJSON *each;

	t->kind = AVRO_UNION;
	alloc_members(b, t, n);
	json_each(each, node) {
		if (t->n == n)
			return bad(b, "too many branches");
		t->members[t->n].type = build(b, each);
		if (!t->members[t->n].type)
			return NULL;
		if (t->members[t->n++].type->kind == AVRO_UNION)
			return bad(b, "a union in a union");
	}
	return n ? t : bad(b, "a union of nothing");
}

static const struct avro_type *build(struct builder *b, const cJSON *node)
{
	const struct avro_type *t = NULL;

	if (++b->depth > MAX_DEPTH)
		return bad(b, "nested too deeply");
	if (cJSON_IsString(node))
		t = type_named(b, node->valuestring);
	else if (cJSON_IsArray(node))
		t = build_union(b, node);
	else if (cJSON_IsObject(node))
		t = build_object(b, node);
	else
		bad(b, "a type is neither a name, an object nor a list");
	b->depth--;
	return t;
}

int avro_schema(const struct avro_type **ret, struct arena *arena, const void *json,
		size_t len, struct error *err)
{
	struct builder b = { .arena = arena, .err = err };
	cleanup_json cJSON *doc = NULL;

	if (json_parse(&doc, json, len, err))
		return error_wrap(err, "Avro schema");
	*ret = build(&b, doc);
	map_release(&b.names, NULL);
	return *ret ? 0 : -1;
}
