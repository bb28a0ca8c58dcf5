/* Converts Iceberg's schemas to Arrow's fields, and maps names to ids: iceberg.h. */
#include <stdio.h>
#include <string.h>

#include "arrow/iceberg_impl.h"
#include "arrow/scalar.h"
#include "base/cleanup.h"
#include "base/str.h"

enum { MAX_DEPTH = 50, MAX_FIELDS = 100000, MAX_FIXED = 1 << 20, MAX_PRECISION = 38 };

struct builder {
	struct arena *arena;
	struct error *err;
	int depth;
};

static int build(struct builder *b, struct field *f, const cJSON *type);

/* ---- types ---- */

static const struct {
	const char *name;
	struct field is;
} primitives[] = {
	{ "boolean", { .kind = ARROW_BOOL } },
	{ "int", { .kind = ARROW_INT32, .width = 4 } },
	{ "long", { .kind = ARROW_INT64, .width = 8 } },
	{ "float", { .kind = ARROW_FLOAT, .width = 4 } },
	{ "double", { .kind = ARROW_DOUBLE, .width = 8 } },
	{ "date", { .kind = ARROW_DATE, .width = 4 } },
	{ "time", { .kind = ARROW_TIME64, .width = 8, .unit = ARROW_US } },
	{ "timestamp", { .kind = ARROW_TIMESTAMP, .width = 8, .unit = ARROW_US } },
	{ "timestamptz",
	  { .kind = ARROW_TIMESTAMP, .width = 8, .unit = ARROW_US, .utc = true } },
	{ "string", { .kind = ARROW_STRING } },
	{ "binary", { .kind = ARROW_BINARY } },
	{ "uuid", { .kind = ARROW_FIXED, .width = 16, .uuid = true } },
};

static void set_type(struct field *f, const struct field *is)
{
	f->kind = is->kind;
	f->width = is->width;
	f->unit = is->unit;
	f->utc = is->utc;
	f->uuid = is->uuid;
}

static int build_primitive(struct builder *b, struct field *f, const char *type)
{
	cleanup_arena struct arena arena = { 0 };
	int precision, scale, width, end = 0;

	for (size_t i = 0; i < N_ELEMENTS(primitives); i++)
		if (str_eq(type, primitives[i].name)) {
			set_type(f, &primitives[i].is);
			return 0;
		}
	if (sscanf(type, "decimal(%d , %d )%n", &precision, &scale, &end) == 2 && end &&
	    !type[end] && precision > 0 && precision <= MAX_PRECISION && scale >= 0 &&
	    scale <= precision) {
		f->kind = ARROW_DECIMAL;
		f->width = 16;
		f->precision = precision;
		f->scale = scale;
		return 0;
	}
	if (sscanf(type, "fixed[%d ]%n", &width, &end) == 1 && end && !type[end] &&
	    width >= 0 && width <= MAX_FIXED) {
		f->kind = ARROW_FIXED;
		f->width = (uint32_t)width;
		return 0;
	}
	return error_set(b->err, ERR_UNSUPPORTED, "column %s: type '%.60s'", f->name,
			 str_visible(&arena, type, false));
}

/* ---- initial-default ---- */

/* spec.md, "JSON single-value serialization": bytes are hexadecimal there. */
static int read_hex(struct scalar *ret, struct builder *b, const struct field *f,
		    const cJSON *v)
{
	cleanup_buf struct buf bytes = { .max = MAX_FIXED };
	const char *s = cJSON_IsString(v) ? v->valuestring : "?";

	if (hex_decode(&bytes, s, strlen(s), IGNORED) || bytes.overflowed ||
	    (f->kind == ARROW_FIXED && bytes.len != f->width))
		return error_set(b->err, ERR_FORMAT,
				 "column %s: expected bytes in hexadecimal", f->name);
	ret->bytes.data =
		(const uint8_t *)str_slice(b->arena, (const char *)bytes.data, bytes.len);
	ret->bytes.len = bytes.len;
	return 0;
}

static int read_value(struct scalar *ret, struct builder *b, const struct field *f,
		      const cJSON *v)
{
	if (f->kind == ARROW_BINARY || (f->kind == ARROW_FIXED && !f->uuid))
		return read_hex(ret, b, f, v);
	if (scalar_of_json(ret, b->arena, f, v, b->err))
		return -1;
	if ((f->width == 4 && ret->integer != (int32_t)ret->integer) ||
	    (f->width == 8 && ret->integer != (int64_t)ret->integer))
		return error_set(b->err, ERR_FORMAT, "column %s: out of range", f->name);
	return 0;
}

static struct bytes big_endian(struct arena *arena, __int128 v)
{
	uint8_t *p = arena_alloc(arena, sizeof(v));

	for (size_t i = 0; i < sizeof(v); i++)
		p[sizeof(v) - 1 - i] = (uint8_t)((unsigned __int128)v >> 8 * i);
	return (struct bytes){ p, sizeof(v) };
}

/* The value of the column in files that lack it; only format version 3 should have any. */
static int build_initial(struct builder *b, struct field *f, const cJSON *v)
{
	struct project_constant *k = arena_alloc(b->arena, sizeof(*k));
	struct scalar value = { 0 };

	if (!v || cJSON_IsNull(v))
		return 0;
	if (field_has_children(f))
		return error_set(b->err, ERR_UNSUPPORTED,
				 "column %s: an initial-default of a nested type",
				 f->name);
	if (read_value(&value, b, f, v))
		return error_wrap(b->err, "initial-default");
	k->id = f->id;
	k->number = (int64_t)value.integer;
	k->real = value.real;
	k->bytes = f->kind == ARROW_DECIMAL ? big_endian(b->arena, value.integer)
					    : value.bytes;
	f->initial = k;
	return 0;
}

/* ---- nested types ---- */

static struct field *alloc_fields(struct builder *b, size_t n)
{
	struct field *f = arena_alloc(b->arena, (n + 1) * sizeof(*f));

	for (size_t i = 0; i < n; i++)
		f[i].id = -1;
	return f;
}

/* A field of a struct: its name, whether it is required, its type. */
static int build_member(struct builder *b, struct field *f, const cJSON *node)
{
	const char *name = json_str(node, "name");
	int64_t id = json_int(node, -1, "id");

	if (!name || id < 0 || id > INT32_MAX)
		return error_set(b->err, ERR_FORMAT, "a field without a name and an id");
	f->name = arena_strdup(b->arena, name);
	f->id = (int32_t)id;
	f->nullable = !json_bool(node, false, "required");
	return build(b, f, json_member(node, "type")) ||
			       build_initial(b, f, json_member(node, "initial-default"))
		       ? -1
		       : 0;
}

static int build_struct(struct builder *b, struct field *f, const cJSON *fields)
{
	const cJSON *each;
	size_t n = 0;

	json_each(each, fields)
		n++;
	if (!cJSON_IsArray(fields) || n > MAX_FIELDS)
		return error_set(b->err, ERR_FORMAT, "a struct without a list of fields");
	f->kind = ARROW_STRUCT;
	f->children = alloc_fields(b, n);
	json_each(each, fields)
		if (build_member(b, &f->children[f->n_children++], each))
			return -1;
	return 0;
}

static int build_part(struct builder *b, struct field *f, const cJSON *node,
		      const char *part)
{
	cleanup_arena struct arena arena = { 0 };

	f->name = arena_strdup(b->arena, part);
	f->id = (int32_t)json_int(node, -1, arena_printf(&arena, "%s-id", part));
	f->nullable = !str_eq(part, "key") &&
		      !json_bool(node, false, arena_printf(&arena, "%s-required", part));
	return build(b, f, json_member(node, part));
}

static int build_list(struct builder *b, struct field *f, const cJSON *node)
{
	f->kind = ARROW_LIST;
	f->children = alloc_fields(b, 1);
	f->n_children = 1;
	return build_part(b, f->children, node, "element");
}

static int build_map(struct builder *b, struct field *f, const cJSON *node)
{
	struct field *entries = alloc_fields(b, 1);

	f->kind = ARROW_MAP;
	f->children = entries;
	f->n_children = 1;
	entries->name = arena_strdup(b->arena, "entries");
	entries->kind = ARROW_STRUCT;
	entries->children = alloc_fields(b, 2);
	entries->n_children = 2;
	return build_part(b, &entries->children[0], node, "key") ||
			       build_part(b, &entries->children[1], node, "value")
		       ? -1
		       : 0;
}

static int build_nested(struct builder *b, struct field *f, const cJSON *node)
{
	const char *type = json_str(node, "type");

	if (str_eq(type, "struct"))
		return build_struct(b, f, json_member(node, "fields"));
	if (str_eq(type, "list"))
		return build_list(b, f, node);
	if (str_eq(type, "map"))
		return build_map(b, f, node);
	return error_set(b->err, ERR_UNSUPPORTED, "column %s: unknown type", f->name);
}

static int build(struct builder *b, struct field *f, const cJSON *type)
{
	int rc;

	if (++b->depth > MAX_DEPTH)
		return error_set(b->err, ERR_FORMAT, "nested too deeply");
	rc = cJSON_IsString(type) ? build_primitive(b, f, type->valuestring)
				  : build_nested(b, f, type);
	b->depth--;
	return rc;
}

int iceberg_schema_read(struct iceberg_schema *ret, struct arena *arena, const cJSON *doc,
			struct error *err)
{
	struct builder b = { arena, err, 0 };
	struct field root = { .name = arena_strdup(arena, "") };

	if (build_struct(&b, &root, json_member(doc, "fields")))
		return error_wrap(err, "schema");
	ret->id = (int32_t)json_int(doc, 0, "schema-id");
	ret->fields = root.children;
	ret->n = root.n_children;
	return 0;
}

/* ---- name mapping ---- */

static const cJSON *find_mapping(const cJSON *list, const char *name)
{
	const cJSON *each;

	json_each(each, list)
		if (json_has_str(json_member(each, "names"), name))
			return each;
	return NULL;
}

static void map_fields(struct field *f, size_t n, const cJSON *list);

static void map_field(struct field *f, const cJSON *mapping)
{
	static const char *const parts[] = { "key", "value" };
	const cJSON *inner = json_member(mapping, "fields");

	f->id = (int32_t)json_int(mapping, -1, "field-id");
	if (f->kind == ARROW_STRUCT)
		map_fields(f->children, f->n_children, inner);
	else if (f->kind == ARROW_LIST)
		map_field(f->children, find_mapping(inner, "element"));
	else if (f->kind == ARROW_MAP)
		for (size_t i = 0; i < 2; i++)
			map_field(&f->children->children[i],
				  find_mapping(inner, parts[i]));
}

static void map_fields(struct field *f, size_t n, const cJSON *list)
{
	for (size_t i = 0; i < n; i++)
		map_field(&f[i], find_mapping(list, f[i].name));
}

int iceberg_map_names(const struct iceberg *t, struct field *columns, size_t n,
		      struct error *err)
{
	if (!t->names)
		return error_set(err, ERR_UNSUPPORTED,
				 "its columns have no field ids, and the table has no "
				 "name mapping (schema.name-mapping.default)");
	map_fields(columns, n, t->names);
	return 0;
}
