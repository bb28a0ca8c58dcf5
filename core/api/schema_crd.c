/*
 * schema_crd.c - generate CustomResourceDefinitions (api/schema.h).
 *
 * References are expanded (a structural schema has none), ids of rules are removed, and
 * metadata is a plain object.
 */
#include <ctype.h>
#include <string.h>

#include "api/schema_node.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"

static cJSON *expand(const struct schema *schema, const cJSON *source);

/*
 * Copy the members of a source node, with references expanded, over existing ones. No
 * field of our kinds has the name of an omitted key.
 */
static void expand_members(const struct schema *schema, const cJSON *source, cJSON *onto)
{
	static const char *const ours[] = { "$ref", "hint", "instead", NULL };
	const char *ref = json_str(source, "$ref");
	const cJSON *member;

	if (ref)
		expand_members(schema, schema_definition(schema, ref)->source, onto);
	json_each(member, source)
		if (!str_in(member->string, ours))
			json_put(onto, expand(schema, member), member->string);
}

/* No literal of the source (default, enum, rule) is an object with a $ref. */
static cJSON *expand(const struct schema *schema, const cJSON *source)
{
	const cJSON *element;
	cJSON *copy;

	if (cJSON_IsObject(source)) {
		copy = cJSON_CreateObject();
		expand_members(schema, source, copy);
		return copy;
	}
	if (!cJSON_IsArray(source))
		return json_dup(source);
	copy = cJSON_CreateArray();
	json_each(element, source)
		cJSON_AddItemToArray(copy, expand(schema, element));
	return copy;
}

/* Remove `id` and `at` from rules: a CRD does not have these keys. */
static void drop_ids(cJSON *node)
{
	cJSON *child, *rule;

	if (cJSON_IsObject(node))
		json_each(rule, json_get(node, "x-kubernetes-validations")) {
			json_del(rule, JSON_PATH("id"));
			json_del(rule, JSON_PATH("at"));
		}
	json_each(child, node)
		if (cJSON_IsObject(child) || cJSON_IsArray(child))
			drop_ids(child);
}

/* {name, served, storage, schema, subresources, additionalPrinterColumns} */
static cJSON *crd_version(const struct schema *schema, const struct kind *kind)
{
	static const char *const parts[] = { "subresources", "additionalPrinterColumns" };
	cJSON *version = cJSON_CreateObject(), *root;
	const cJSON *part;

	json_put_str(version, schema->version, "name");
	json_put_bool(version, true, "served");
	json_put_bool(version, true, "storage");
	for (size_t i = 0; i < N_ELEMENTS(parts); i++) {
		part = json_get(kind->source, parts[i]);
		if (part)
			json_put(version, json_dup(part), parts[i]);
	}
	root = expand(schema, json_get(kind->source, "schema"));
	json_del(root, JSON_PATH("properties", "metadata"));
	json_put_str(root, "object", "properties", "metadata", "type");
	drop_ids(root);
	json_put(version, root, "schema", "openAPIV3Schema");
	return version;
}

static void crd_names(const struct kind *kind, const char *plural, cJSON *crd)
{
	cleanup_free char *singular = xstrdup(kind->name);
	cleanup_arena struct arena arena = { 0 };

	for (char *c = singular; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	json_put_str(crd, kind->name, "spec", "names", "kind");
	json_put_str(crd, arena_printf(&arena, "%sList", kind->name), "spec", "names",
		     "listKind");
	json_put_str(crd, plural, "spec", "names", "plural");
	json_put_str(crd, singular, "spec", "names", "singular");
}

cJSON *schema_crd(const struct schema *schema, const char *name)
{
	const struct kind *kind = schema_kind(schema, name);
	cleanup_arena struct arena arena = { 0 };
	const char *plural;
	cJSON *crd;

	if (!kind)
		return NULL;
	plural = json_str(kind->source, "plural");
	crd = cJSON_CreateObject();
	json_put_str(crd, "apiextensions.k8s.io/v1", "apiVersion");
	json_put_str(crd, "CustomResourceDefinition", "kind");
	json_put_str(crd, arena_printf(&arena, "%s.%s", plural, schema->group),
		     "metadata", "name");
	json_put_str(crd, schema->group, "spec", "group");
	crd_names(kind, plural, crd);
	json_put_str(crd, json_str(kind->source, "scope"), "spec", "scope");
	cJSON_AddItemToArray(json_list(crd, "spec", "versions"),
			     crd_version(schema, kind));
	return crd;
}
