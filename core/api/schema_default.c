/*
 * schema_default.c - set defaults, drop unknown fields (api/schema.h).
 *
 * Follows k8s.io/apiextensions-apiserver pkg/apiserver/schema/{defaulting,pruning}.
 */
#include "api/schema_node.h"
#include "base/str.h"

static void fill(const struct node *node, cJSON *value);

/* The node of a member of an object; NULL: unknown. */
static const struct node *member_node(const struct node *node, const char *name)
{
	const struct node *known = node_prop(node, name);

	if (known)
		return known;
	return node->type == NODE_OBJECT ? node->each : NULL;
}

static bool is_bad_null(const struct node *node, const cJSON *value)
{
	return cJSON_IsNull(value) && !node->nullable;
}

/*
 * A null that is not allowed counts as absent: it is replaced by the default or removed.
 * In a list it remains, and validation reports it.
 */
static void fill_object(const struct node *node, cJSON *obj)
{
	const struct node *child;
	cJSON *member, *next;

	for (member = obj->child; member; member = next) {
		next = member->next;
		child = member_node(node, member->string);
		if (!child)
			continue;
		if (!is_bad_null(child, member)) {
			fill(child, member);
		} else if (child->fallback) {
			cJSON *copy = json_dup(child->fallback);

			fill(child, copy);
			json_put(obj, copy, member->string);
		} else {
			cJSON_Delete(cJSON_DetachItemViaPointer(obj, member));
		}
	}
	for (size_t i = 0; i < node->n_props; i++) {
		const struct prop *prop = &node->props[i];

		if (!prop->node->fallback || json_member(obj, prop->name))
			continue;
		member = json_dup(prop->node->fallback);
		fill(prop->node, member);
		cJSON_AddItemToObject(obj, prop->name, member);
	}
}

static void fill(const struct node *node, cJSON *value)
{
	cJSON *element;

	if (cJSON_IsObject(value))
		fill_object(node, value);
	else if (cJSON_IsArray(value) && node->type == NODE_ARRAY)
		json_each(element, value)
			fill(node->each, element);
}

static void prune(const struct node *node, cJSON *value);

static void prune_object(const struct node *node, cJSON *obj)
{
	const struct node *child;
	cJSON *member, *next;

	for (member = obj->child; member; member = next) {
		next = member->next;
		child = member_node(node, member->string);
		if (child)
			prune(child, member);
		else if (!node->preserves_unknown)
			cJSON_Delete(cJSON_DetachItemViaPointer(obj, member));
	}
}

static void prune(const struct node *node, cJSON *value)
{
	cJSON *element;

	if (cJSON_IsObject(value))
		prune_object(node, value);
	else if (cJSON_IsArray(value) && node->type == NODE_ARRAY)
		json_each(element, value)
			prune(node->each, element);
}

static const struct kind *kind_of(const struct schema *schema, const cJSON *obj)
{
	return schema_knows(schema, obj) ? schema_kind(schema, json_str(obj, "kind"))
					 : NULL;
}

void schema_default(const struct schema *schema, cJSON *obj)
{
	const struct kind *kind = kind_of(schema, obj);

	if (kind)
		fill(kind->node, obj);
}

void schema_prune(const struct schema *schema, cJSON *obj)
{
	const struct kind *kind = kind_of(schema, obj);

	if (kind)
		prune(kind->node, obj);
}
