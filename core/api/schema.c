/*
 * schema.c - compile schema.yaml to nodes (api/schema.h, api/schema_node.h).
 *
 * Each definition becomes one node, shared by all references to it, or copied for a
 * reference that adds keywords. Unknown keywords are refused, so that a typo in the
 * source cannot disable a check.
 */
#include <stdlib.h>
#include <string.h>

#include "api/schema_node.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "base/yaml.h"

static const struct node *compile(struct schema *schema, const cJSON *source,
				  struct error *err);

/* A keyword; set() stores its value in the node. */
struct keyword {
	const char *name;
	int (*set)(struct schema *schema, struct node *node, const cJSON *value,
		   struct error *err);
};

static int wrong_value(const cJSON *value, struct error *err)
{
	cleanup_free char *text = json_text(value);

	return error_set(err, ERR_FORMAT, "%s: not a value of this keyword: %s",
			 value->string, text);
}

/* The index of the string in `words`, or -1. */
static int word_index(const cJSON *value, const char *const *words)
{
	const char *s = cJSON_GetStringValue(value);

	for (int i = 0; s && words[i]; i++)
		if (str_eq(s, words[i]))
			return i;
	return -1;
}

static const char *const *string_list(struct schema *schema, const cJSON *array)
{
	size_t n = (size_t)cJSON_GetArraySize(array), i = 0;
	const char **list = arena_alloc(&schema->arena, (n + 1) * sizeof(*list));
	const cJSON *element;

	json_each(element, array)
		if (cJSON_IsString(element))
			list[i++] = element->valuestring;
	return list;
}

static int set_type(struct schema *schema, struct node *node, const cJSON *value,
		    struct error *err)
{
	static const char *const names[] = {
		[NODE_OBJECT] = "object",   [NODE_ARRAY] = "array",
		[NODE_STRING] = "string",   [NODE_INTEGER] = "integer",
		[NODE_BOOLEAN] = "boolean", NULL
	};
	int i = word_index(value, names);

	if (i < 0)
		return wrong_value(value, err);
	node->type = (enum node_type)i;
	return 0;
}

static int set_format(struct schema *schema, struct node *node, const cJSON *value,
		      struct error *err)
{
	static const char *const names[] = { [FORMAT_NONE] = "",
					     [FORMAT_INT32] = "int32",
					     [FORMAT_INT64] = "int64",
					     [FORMAT_DATE_TIME] = "date-time",
					     NULL };
	int i = word_index(value, names);

	if (i < 0)
		return wrong_value(value, err);
	node->format = (enum node_format)i;
	return 0;
}

static int set_list_type(struct schema *schema, struct node *node, const cJSON *value,
			 struct error *err)
{
	static const char *const names[] = {
		[LIST_ATOMIC] = "atomic", [LIST_SET] = "set", [LIST_MAP] = "map", NULL
	};
	int i = word_index(value, names);

	if (i < 0)
		return wrong_value(value, err);
	node->list = (enum node_list)i;
	return 0;
}

static int set_nullable(struct schema *schema, struct node *node, const cJSON *value,
			struct error *err)
{
	node->nullable = cJSON_IsTrue(value);
	return 0;
}

static int set_preserve(struct schema *schema, struct node *node, const cJSON *value,
			struct error *err)
{
	node->preserves_unknown = cJSON_IsTrue(value);
	return 0;
}

static int set_map_type(struct schema *schema, struct node *node, const cJSON *value,
			struct error *err)
{
	static const char *const names[] = { "granular", "atomic", NULL };
	int i = word_index(value, names);

	if (i < 0)
		return wrong_value(value, err);
	node->atomic = i == 1;
	return 0;
}

static int set_int_or_string(struct schema *schema, struct node *node, const cJSON *value,
			     struct error *err)
{
	if (!cJSON_IsTrue(value))
		return wrong_value(value, err);
	node->type = NODE_INT_OR_STRING;
	return 0;
}

static int set_limit(struct schema *schema, struct node *node, const cJSON *value,
		     struct error *err)
{
	int64_t limit;

	if (!json_int_of(value, &limit))
		return wrong_value(value, err);
	if (str_eq(value->string, "minimum"))
		node->minimum = limit;
	else if (str_eq(value->string, "maximum"))
		node->maximum = limit;
	else if (str_starts(value->string, "min"))
		node->min_size = limit;
	else
		node->max_size = limit;
	return 0;
}

static int set_default(struct schema *schema, struct node *node, const cJSON *value,
		       struct error *err)
{
	node->fallback = value;
	return 0;
}

static int set_hint(struct schema *schema, struct node *node, const cJSON *value,
		    struct error *err)
{
	node->hint = cJSON_GetStringValue(value);
	return node->hint ? 0 : wrong_value(value, err);
}

static int set_instead(struct schema *schema, struct node *node, const cJSON *value,
		       struct error *err)
{
	node->instead = value;
	return cJSON_IsObject(value) ? 0 : wrong_value(value, err);
}

static int set_enum(struct schema *schema, struct node *node, const cJSON *value,
		    struct error *err)
{
	if (!cJSON_IsArray(value))
		return wrong_value(value, err);
	node->enums = value;
	return 0;
}

/* One compiled expression for each text; RE2's syntax and POSIX's agree on ours. */
static int set_pattern(struct schema *schema, struct node *node, const cJSON *value,
		       struct error *err)
{
	struct pattern *p;

	if (!cJSON_IsString(value))
		return wrong_value(value, err);
	for (p = schema->patterns; p; p = p->next)
		if (str_eq(p->text, value->valuestring)) {
			node->pattern = p;
			return 0;
		}
	p = arena_alloc(&schema->arena, sizeof(*p));
	if (regcomp(&p->regex, value->valuestring, REG_EXTENDED | REG_NOSUB))
		return wrong_value(value, err);
	p->text = value->valuestring;
	p->next = schema->patterns;
	schema->patterns = p;
	node->pattern = p;
	return 0;
}

static int set_keys(struct schema *schema, struct node *node, const cJSON *value,
		    struct error *err)
{
	node->keys = string_list(schema, value);
	return 0;
}

static int set_required(struct schema *schema, struct node *node, const cJSON *value,
			struct error *err)
{
	node->required = string_list(schema, value);
	return 0;
}

static int set_each(struct schema *schema, struct node *node, const cJSON *value,
		    struct error *err)
{
	node->each = compile(schema, value, err);
	return node->each ? 0 : error_wrap(err, "%s", value->string);
}

static int set_properties(struct schema *schema, struct node *node, const cJSON *value,
			  struct error *err)
{
	size_t n = (size_t)cJSON_GetArraySize(value), i = 0;
	struct prop *props = arena_alloc(&schema->arena, n * sizeof(*props));
	const cJSON *member;

	json_each(member, value) {
		props[i].name = member->string;
		props[i].node = compile(schema, member, err);
		if (!props[i++].node)
			return error_wrap(err, "%s", member->string);
	}
	node->props = props;
	node->n_props = n;
	return 0;
}

static int set_rules(struct schema *schema, struct node *node, const cJSON *value,
		     struct error *err)
{
	size_t n = (size_t)cJSON_GetArraySize(value), i = 0;
	struct rule *rules = arena_alloc(&schema->arena, n * sizeof(*rules)), *r;
	const cJSON *entry;
	const char *text;

	json_each(entry, value) {
		r = &rules[i++];
		text = json_str(entry, "rule");
		r->id = json_str(entry, "id");
		r->message = json_str(entry, "message");
		r->field = json_str(entry, "fieldPath");
		if (!text || !r->id || !r->message || (r->field && *r->field != '.'))
			return wrong_value(value, err);
		r->field = r->field ? r->field + 1 : NULL;
		if (json_str(entry, "at"))
			r->at = (const char *const *)str_split(
				&schema->arena, json_str(entry, "at"), '.', NULL);
		r->is_transition = strstr(text, "oldSelf") != NULL;
		r->check = rule_find(r->id);
		if (!r->check)
			return error_set(err, ERR_FORMAT, "rule %s: no such function",
					 r->id);
	}
	node->rules = rules;
	node->n_rules = n;
	return 0;
}

static const struct keyword keywords[] = {
	{ "type", set_type },
	{ "format", set_format },
	{ "nullable", set_nullable },
	{ "minimum", set_limit },
	{ "maximum", set_limit },
	{ "minLength", set_limit },
	{ "maxLength", set_limit },
	{ "minItems", set_limit },
	{ "maxItems", set_limit },
	{ "minProperties", set_limit },
	{ "maxProperties", set_limit },
	{ "default", set_default },
	{ "enum", set_enum },
	{ "pattern", set_pattern },
	{ "required", set_required },
	{ "properties", set_properties },
	{ "items", set_each },
	{ "additionalProperties", set_each },
	{ "x-kubernetes-list-type", set_list_type },
	{ "x-kubernetes-list-map-keys", set_keys },
	{ "x-kubernetes-map-type", set_map_type },
	{ "x-kubernetes-int-or-string", set_int_or_string },
	{ "x-kubernetes-preserve-unknown-fields", set_preserve },
	{ "x-kubernetes-validations", set_rules },
	{ "hint", set_hint },
	{ "instead", set_instead },
	/* Keywords that only concern the CRD and its readers. */
	{ "description", NULL },
	{ "anyOf", NULL },
	{ "$ref", NULL },
	{ NULL, NULL },
};

static const struct keyword *keyword_find(const char *name)
{
	const struct keyword *k = keywords;

	while (k->name && !str_eq(k->name, name))
		k++;
	return k->name ? k : NULL;
}

static int compare_definitions(const void *a, const void *b)
{
	const struct definition *x = a, *y = b;

	return strcmp(x->name, y->name);
}

const struct definition *schema_definition(const struct schema *schema, const char *name)
{
	struct definition key = { .name = name }, *own;

	own = bsearch(&key, schema->definitions, schema->n_definitions, sizeof(key),
		      compare_definitions);
	return own || !schema->base ? own : schema_definition(schema->base, name);
}

static const struct node *compile_ref(struct schema *schema, const char *name,
				      struct error *err)
{
	struct definition *d = (struct definition *)schema_definition(schema, name);

	if (!d || d->compiling) {
		error_set(err, ERR_FORMAT, "$ref: %s: %s", name,
			  d ? "refers to itself" : "no such definition");
		return NULL;
	}
	if (!d->node) {
		d->compiling = true;
		d->node = compile(schema, d->source, err);
		d->compiling = false;
		if (!d->node)
			error_wrap(err, "%s", name);
	}
	return d->node;
}

static const struct node *compile(struct schema *schema, const cJSON *source,
				  struct error *err)
{
	static const char *const none[] = { NULL };
	const char *ref = json_str(source, "$ref");
	const struct node *base = ref ? compile_ref(schema, ref, err) : NULL;
	const struct keyword *keyword;
	struct node *node;
	const cJSON *member;

	if ((ref && !base) || (ref && cJSON_GetArraySize(source) == 1))
		return base;
	node = arena_alloc(&schema->arena, sizeof(*node));
	if (base)
		*node = *base;
	else
		*node = (struct node){ .required = none,
				       .minimum = INT64_MIN,
				       .maximum = INT64_MAX,
				       .max_size = INT64_MAX };
	json_each(member, source) {
		keyword = keyword_find(member->string);
		if (!keyword) {
			error_set(err, ERR_FORMAT, "unknown keyword %s", member->string);
			return NULL;
		}
		if (keyword->set && keyword->set(schema, node, member, err))
			return NULL;
	}
	return node;
}

static int load_definitions(struct schema *schema, struct error *err)
{
	const cJSON *all = json_get((const cJSON *)schema->doc, "definitions"), *member;
	size_t n = (size_t)cJSON_GetArraySize(all), i = 0;

	schema->definitions =
		arena_alloc(&schema->arena, n * sizeof(*schema->definitions));
	schema->n_definitions = n;
	json_each(member, all) {
		schema->definitions[i].name = member->string;
		schema->definitions[i++].source = member;
	}
	qsort(schema->definitions, n, sizeof(*schema->definitions), compare_definitions);
	/* Compile all definitions, so that every error is found. */
	for (i = 0; i < n; i++)
		if (!compile_ref(schema, schema->definitions[i].name, err))
			return error_wrap(err, "definitions");
	return 0;
}

static int load_kinds(struct schema *schema, struct error *err)
{
	const cJSON *all = json_get((const cJSON *)schema->doc, "kinds"), *member;
	size_t n = (size_t)cJSON_GetArraySize(all);
	struct kind *k;

	schema->group = json_str(schema->doc, "group");
	schema->version = json_str(schema->doc, "version");
	if (!n || !schema->group || !schema->version)
		return error_set(err, ERR_FORMAT, "kinds, group or version is missing");
	schema->api_version =
		arena_printf(&schema->arena, "%s/%s", schema->group, schema->version);
	schema->kinds = arena_alloc(&schema->arena, n * sizeof(*schema->kinds));
	json_each(member, all) {
		k = &schema->kinds[schema->n_kinds++];
		k->name = member->string;
		k->source = member;
		k->api_version = json_str(member, "apiVersion");
		if (!k->api_version)
			k->api_version = schema->api_version;
		k->namespaced = str_eq(json_str(member, "scope"), "Namespaced");
		k->node = compile(schema, json_get(member, "schema"), err);
		if (!k->node)
			return error_wrap(err, "kinds: %s", k->name);
	}
	return 0;
}

int schema_load_on(struct schema **ret, const struct schema *base, const void *text,
		   size_t len, struct error *err)
{
	struct schema *schema = xcalloc(1, sizeof(*schema));
	cleanup_json cJSON *docs = NULL;
	int failed = yaml_parse(&docs, text, len, err);

	schema->base = base;
	if (!failed)
		schema->doc = cJSON_DetachItemFromArray(docs, 0);
	if (failed || load_definitions(schema, err) || load_kinds(schema, err)) {
		schema_free(schema);
		return error_wrap(err, "schema");
	}
	*ret = schema;
	return 0;
}

int schema_load(struct schema **ret, const void *text, size_t len, struct error *err)
{
	return schema_load_on(ret, NULL, text, len, err);
}

void schema_free(struct schema *schema)
{
	if (!schema)
		return;
	for (struct pattern *p = schema->patterns; p; p = p->next)
		regfree(&p->regex);
	cJSON_Delete(schema->doc);
	arena_clear(&schema->arena);
	free(schema);
}

const struct kind *schema_kind(const struct schema *schema, const char *name)
{
	for (size_t i = 0; name && i < schema->n_kinds; i++)
		if (str_eq(schema->kinds[i].name, name))
			return &schema->kinds[i];
	return NULL;
}

bool schema_knows(const struct schema *schema, const cJSON *obj)
{
	const struct kind *kind = schema_kind(schema, json_str(obj, "kind"));

	return kind && str_eq(json_str(obj, "apiVersion"), kind->api_version);
}

const struct node *node_prop(const struct node *node, const char *name)
{
	/* As json_member(): most names differ in the first character. */
	for (size_t i = 0; i < node->n_props; i++) {
		const struct prop *p = &node->props[i];

		if (*p->name == *name && !strcmp(p->name, name))
			return p->node;
	}
	return NULL;
}
