/* patch.c - applies strategic merge patches (api/patch.h). */
#include "api/patch.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_index.h"
#include "base/map.h"
#include "base/str.h"
#include "base/xmalloc.h"

/*
 * The types whose fields have patch tags, and the types that contain them. All others
 * are ANY_TYPE: maps are merged recursively, lists are replaced.
 */
enum patch_of {
	ANY_TYPE,
	OBJECT_META,
	JOBSET_SPEC,
	REPLICATED_JOB,
	JOB_TEMPLATE,
	JOB_SPEC,
	POD_TEMPLATE,
	POD_SPEC,
	CONTAINER,
};

static const struct patch_field {
	enum patch_of of; /* ANY_TYPE: a field of that name in any type */
	const char *name;
	enum patch_of type; /* of the value, or of the list's elements */
	bool merge;         /* a list whose patchStrategy is merge */
	const char *key;    /* its patchMergeKey; NULL: elements are scalars */
} fields[] = {
	/* jobset.x-k8s.io/v1alpha2 */
	{ JOBSET_SPEC, "replicatedJobs", REPLICATED_JOB, true, "name" },
	{ REPLICATED_JOB, "dependsOn", ANY_TYPE, true, "name" },
	{ REPLICATED_JOB, "template", JOB_TEMPLATE, false, NULL },
	/* batch/v1 */
	{ JOB_TEMPLATE, "metadata", OBJECT_META, false, NULL },
	{ JOB_TEMPLATE, "spec", JOB_SPEC, false, NULL },
	{ JOB_SPEC, "template", POD_TEMPLATE, false, NULL },
	/* core/v1 */
	{ POD_TEMPLATE, "metadata", OBJECT_META, false, NULL },
	{ POD_TEMPLATE, "spec", POD_SPEC, false, NULL },
	{ POD_SPEC, "volumes", ANY_TYPE, true, "name" },
	{ POD_SPEC, "initContainers", CONTAINER, true, "name" },
	{ POD_SPEC, "containers", CONTAINER, true, "name" },
	{ POD_SPEC, "ephemeralContainers", CONTAINER, true, "name" },
	{ POD_SPEC, "imagePullSecrets", ANY_TYPE, true, "name" },
	{ POD_SPEC, "hostAliases", ANY_TYPE, true, "ip" },
	{ POD_SPEC, "topologySpreadConstraints", ANY_TYPE, true, "topologyKey" },
	{ POD_SPEC, "schedulingGates", ANY_TYPE, true, "name" },
	{ POD_SPEC, "resourceClaims", ANY_TYPE, true, "name" },
	{ CONTAINER, "ports", ANY_TYPE, true, "containerPort" },
	{ CONTAINER, "env", ANY_TYPE, true, "name" },
	{ CONTAINER, "volumeMounts", ANY_TYPE, true, "mountPath" },
	{ CONTAINER, "volumeDevices", ANY_TYPE, true, "devicePath" },
	/* meta/v1 */
	{ OBJECT_META, "finalizers", ANY_TYPE, true, NULL },
	{ OBJECT_META, "ownerReferences", ANY_TYPE, true, "uid" },
	{ ANY_TYPE, "metadata", OBJECT_META, false, NULL },
};

static struct patch_field field_of(enum patch_of of, const char *name)
{
	struct patch_field none = { of, name, ANY_TYPE, false, NULL };

	for (size_t i = 0; i < N_ELEMENTS(fields); i++)
		if ((fields[i].of == of || !fields[i].of) && str_eq(fields[i].name, name))
			return fields[i];
	return none;
}

#define DIRECTIVE     "$patch"
#define RETAIN_KEYS   "$retainKeys"
#define ELEMENT_ORDER "$setElementOrder/"
#define DELETE_VALUES "$deleteFromPrimitiveList/"

/* Limits: elements of a list to merge (no list of a pod has more), bytes of a key. */
enum { MAX_ELEMENTS = 10000, MAX_IDENTITY = JSON_MAX_BYTES + 1 };

static int merge_map(cJSON *doc, const cJSON *patch, enum patch_of type,
		     struct error *err);

/* The $patch of a map, also of a map whose keys are the user's, such as labels. */
static const char *directive_of(const cJSON *map)
{
	return json_str(map, DIRECTIVE);
}

static bool is_directive(const char *key)
{
	return str_eq(key, DIRECTIVE) || str_eq(key, RETAIN_KEYS) ||
	       str_starts(key, ELEMENT_ORDER) || str_starts(key, DELETE_VALUES);
}

static bool is_nested(const cJSON *value)
{
	return cJSON_IsObject(value) || cJSON_IsArray(value);
}

static cJSON *taken(const cJSON *value, enum patch_of type);

/* An object or list without nulls and directives. */
static cJSON *taken_members(const cJSON *value, enum patch_of type)
{
	cJSON *copy, *part;
	const cJSON *child;

	copy = cJSON_IsObject(value) ? cJSON_CreateObject() : cJSON_CreateArray();
	json_each(child, value) {
		if (cJSON_IsArray(value)) {
			part = taken(child, type);
			if (part)
				cJSON_AddItemToArray(copy, part);
			continue;
		}
		if (cJSON_IsNull(child) || is_directive(child->string))
			continue;
		part = taken(child, field_of(type, child->string).type);
		if (part)
			cJSON_AddItemToObject(copy, child->string, part);
	}
	return copy;
}

/*
 * A patch's value for a field that the document lacks: without nulls and directives.
 * NULL: the value itself is a directive.
 */
static cJSON *taken(const cJSON *value, enum patch_of type)
{
	if (!is_nested(value))
		return json_dup(value);
	return directive_of(value) ? NULL : taken_members(value, type);
}

/* ---- lists that merge ------------------------------------------------------------ */

/* The identity of an element: the merge key's value, or the scalar itself. */
static const cJSON *identity(const cJSON *element, const char *key)
{
	return key ? json_get(element, key) : element;
}

/* Numbers from 1 by identity; the first of equal ones. */
struct places {
	struct map map;
	const char *key;
};

static void places_release(struct places *places)
{
	map_release(&places->map, NULL);
}
#define cleanup_places __attribute__((cleanup(places_release)))

static size_t place_of(const struct places *places, const cJSON *element)
{
	cleanup_buf struct buf text = { .max = MAX_IDENTITY };
	const cJSON *id = identity(element, places->key);

	if (!id)
		return 0;
	json_print_identity(&text, id);
	return (size_t)(uintptr_t)map_get(&places->map, (const char *)text.data);
}

static void add_place(struct places *places, const cJSON *element, size_t place)
{
	cleanup_buf struct buf text = { .max = MAX_IDENTITY };
	const cJSON *id = identity(element, places->key);

	if (!id || place_of(places, element))
		return;
	json_print_identity(&text, id);
	map_put(&places->map, (const char *)text.data, (void *)(uintptr_t)place);
}

static struct places places_of(const cJSON *list, const char *key)
{
	struct places ret = { .key = key };
	const cJSON *child;
	size_t i = 0;

	json_each(child, list)
		add_place(&ret, child, ++i);
	return ret;
}

struct item {
	cJSON *node;
	size_t server; /* position of its key in the document's list; 0: new */
	size_t patch;  /* position of its key in the patch or $setElementOrder; 0: none */
	size_t number; /* among all items */
};

struct items {
	struct item *at;
	size_t n;
	struct places numbers;
};

static void items_release(struct items *items)
{
	for (size_t i = 0; i < items->n; i++)
		cJSON_Delete(items->at[i].node);
	free(items->at);
	places_release(&items->numbers);
}
#define cleanup_items __attribute__((cleanup(items_release)))

/* All elements must be maps with the merge key, or all scalars. */
static int check_elements(const cJSON *list, const struct patch_field *f,
			  struct error *err)
{
	const cJSON *child;

	json_each(child, list) {
		if (f->key && !cJSON_IsObject(child))
			return error_set(err, ERR_INVALID,
					 "%s: an element is not an object", f->name);
		if (f->key && !json_get(child, f->key) &&
		    !str_eq(directive_of(child), "replace"))
			return error_set(err, ERR_INVALID,
					 "%s: an element has no merge key \"%s\"",
					 f->name, f->key);
		if (is_nested(f->key ? json_get(child, f->key) : child))
			return error_set(err, ERR_INVALID, "%s: %s is not a scalar",
					 f->name, f->key ? "a merge key" : "an element");
	}
	if (cJSON_GetArraySize(list) > MAX_ELEMENTS)
		return error_set(err, ERR_LIMIT, "%s: over %d elements", f->name,
				 MAX_ELEMENTS);
	return 0;
}

/*
 * Apply the elements of the patch that are directives: delete removes the elements with
 * its key; replace (anywhere) empties the list first.
 */
static int apply_element_directives(cJSON *list, const cJSON *patch,
				    const struct patch_field *f, struct error *err)
{
	cleanup_places struct places gone = { .key = f->key };
	bool replace = false;
	const cJSON *child;
	cJSON *node, *next;

	json_each(child, patch) {
		const char *what = f->key ? directive_of(child) : NULL;

		if (!what)
			continue;
		if (!str_eq(what, "delete") && !str_eq(what, "replace"))
			return error_set(err, ERR_INVALID, "%s: $patch: %.60s", f->name,
					 what);
		replace |= str_eq(what, "replace");
		if (str_eq(what, "delete"))
			add_place(&gone, child, 1);
	}
	for (node = list->child; node; node = next) {
		next = node->next;
		if (replace || (gone.map.n && place_of(&gone, node)))
			cJSON_Delete(cJSON_DetachItemViaPointer(list, node));
	}
	return 0;
}

static void add_item(struct items *items, cJSON *take_node, size_t server)
{
	items->at[items->n] = (struct item){ take_node, server, 0, items->n };
	items->n++;
	add_place(&items->numbers, take_node, items->n);
}

static struct item *find_item(const struct items *items, const cJSON *element)
{
	size_t number = place_of(&items->numbers, element);

	return number ? &items->at[number - 1] : NULL;
}

/* The list's elements, detached from it, with room for `more`. */
static void detach_items(cJSON *list, const struct patch_field *f, size_t more,
			 struct items *ret)
{
	size_t n = (size_t)cJSON_GetArraySize(list);

	ret->at = xcalloc(n + more + 1, sizeof(*ret->at));
	ret->numbers.key = f->key;
	for (size_t i = 1; list->child; i++) {
		cJSON *node = cJSON_DetachItemViaPointer(list, list->child);
		struct item *match = find_item(ret, node);

		add_item(ret, node, match ? match->server : i);
	}
}

static int merge_items(struct items *items, const cJSON *patch,
		       const struct patch_field *f, struct error *err)
{
	const cJSON *child;

	json_each(child, patch) {
		struct item *match = find_item(items, child);

		if (f->key && directive_of(child))
			continue;
		if (!match)
			add_item(items, taken(child, f->type), 0);
		else if (f->key && merge_map(match->node, child, f->type, err))
			return -1;
	}
	return 0;
}

static int by_patch(const void *a, const void *b)
{
	const struct item *const *x = a, *const *y = b;

	if ((*x)->patch != (*y)->patch)
		return (*x)->patch < (*y)->patch ? -1 : 1;
	return (*x)->number < (*y)->number ? -1 : 1;
}

/* By position in the document; new elements last. */
static int by_server(const void *a, const void *b)
{
	const struct item *const *x = a, *const *y = b;

	if ((*x)->server - 1 != (*y)->server - 1)
		return (*x)->server - 1 < (*y)->server - 1 ? -1 : 1;
	return (*x)->number < (*y)->number ? -1 : 1;
}

/*
 * Rebuild the list: the patch's elements in its order, the others in the document's. Of a
 * patched and another element, the other comes first only if both were in the document in
 * that order; new elements precede untouched ones.
 */
static void reattach_items(struct items *items, cJSON *list, const cJSON *order,
			   const struct patch_field *f)
{
	cleanup_free struct item **all = xcalloc(items->n * 2 + 1, sizeof(struct item *));
	struct item **ours = all, **theirs = all + items->n;
	size_t n_ours = 0, n_theirs = 0, i = 0, j = 0;
	cleanup_places struct places places = places_of(order, f->key);

	for (struct item *item = items->at; item < items->at + items->n; item++) {
		item->patch = place_of(&places, item->node);
		if (item->patch)
			ours[n_ours++] = item;
		else
			theirs[n_theirs++] = item;
	}
	qsort(ours, n_ours, sizeof(*ours), by_patch);
	qsort(theirs, n_theirs, sizeof(*theirs), by_server);
	while (i < n_theirs || j < n_ours) {
		bool other = j == n_ours ||
			     (i < n_theirs && ours[j]->server && theirs[i]->server &&
			      theirs[i]->server < ours[j]->server);
		struct item *next = other ? theirs[i++] : ours[j++];

		cJSON_AddItemToArray(list, STEAL(next->node));
	}
	items->n = 0;
}

/* order: the list whose order counts; the patch itself, or $setElementOrder. */
static int merge_list(cJSON *list, const cJSON *patch, const cJSON *order,
		      const struct patch_field *f, struct error *err)
{
	cleanup_items struct items items = { 0 };

	if (check_elements(list, f, err) || check_elements(patch, f, err) ||
	    check_elements(order, f, err) ||
	    apply_element_directives(list, patch, f, err))
		return -1;
	detach_items(list, f, (size_t)cJSON_GetArraySize(patch), &items);
	if (merge_items(&items, patch, f, err))
		return -1;
	reattach_items(&items, list, order, f);
	return 0;
}

static int delete_from_list(cJSON *list, const cJSON *values, const char *name,
			    struct error *err)
{
	cleanup_places struct places gone = { 0 };
	cJSON *node, *next;

	if (!cJSON_IsArray(values))
		return error_set(err, ERR_INVALID, "%s%s is not a list", DELETE_VALUES,
				 name);
	gone = places_of(values, NULL);
	for (node = list ? list->child : NULL; node; node = next) {
		next = node->next;
		if (!is_nested(node) && place_of(&gone, node))
			cJSON_Delete(cJSON_DetachItemViaPointer(list, node));
	}
	return 0;
}

/* ---- maps ------------------------------------------------------------------------ */

/* $retainKeys: the document's other keys are removed. */
static int retain_keys(cJSON *doc, const cJSON *patch, struct error *err)
{
	const cJSON *keys = json_get(patch, RETAIN_KEYS);
	cleanup_map struct map names = { 0 };
	const cJSON *child;
	cJSON *node, *next;

	if (!keys)
		return 0;
	if (!cJSON_IsArray(keys))
		return error_set(err, ERR_INVALID, RETAIN_KEYS " is no list");
	json_each(child, keys)
		if (cJSON_IsString(child))
			map_put(&names, child->valuestring, &names);
	json_each(child, patch)
		if (!cJSON_IsNull(child) && !is_directive(child->string) &&
		    !map_get(&names, child->string))
			return error_set(err, ERR_INVALID,
					 RETAIN_KEYS " lacks the patch's own key %.60s",
					 child->string);
	for (node = doc->child; node; node = next) {
		next = node->next;
		if (!map_get(&names, node->string))
			cJSON_Delete(cJSON_DetachItemViaPointer(doc, node));
	}
	return 0;
}

/* $setElementOrder/NAME: merges the list NAME of the patch as well. */
static int set_element_order(cJSON *doc, const cJSON *patch, const cJSON *directive,
			     enum patch_of type, struct error *err)
{
	const char *name = str_after(directive->string, ELEMENT_ORDER);
	struct patch_field f = field_of(type, name);
	const cJSON *theirs = json_get(patch, name);
	cleanup_places struct places order = { 0 };
	const cJSON *child;
	size_t last = 0;

	if (!f.merge || !cJSON_IsArray(directive) || (theirs && !cJSON_IsArray(theirs)))
		return error_set(err, ERR_INVALID, "%s: not a list that can be merged",
				 directive->string);
	if (check_elements(directive, &f, err) || check_elements(theirs, &f, err))
		return -1;
	order = places_of(directive, f.key);
	json_each(child, theirs) {
		size_t place = place_of(&order, child);

		if (f.key && directive_of(child))
			continue;
		if (place <= last)
			return error_set(err, ERR_INVALID,
					 "%s: not the order of the patch's %s",
					 directive->string, name);
		last = place;
	}
	if (!theirs && !json_get(doc, name))
		return 0;
	return merge_list(json_list(doc, name), theirs, directive, &f, err);
}

static int merge_member(struct json_index *doc, const cJSON *patch, const cJSON *value,
			enum patch_of type, struct error *err)
{
	const char *key = value->string;
	struct patch_field f = field_of(type, key);
	cJSON *existing = json_index_get(doc, key), *copy;

	if (cJSON_IsObject(value) && cJSON_IsObject(existing)) {
		if (merge_map(existing, value, f.type, err))
			return error_wrap(err, "%s", key);
		return 0;
	}
	if (f.merge && cJSON_IsArray(value) && cJSON_IsArray(existing)) {
		cleanup_buf struct buf order = { .max = 1024 };

		buf_printf(&order, "%s%s", ELEMENT_ORDER, key);
		if (json_get(patch, (const char *)order.data))
			return 0; /* set_element_order() has merged the list */
		return merge_list(existing, value, value, &f, err);
	}
	copy = cJSON_IsNull(value) ? NULL : taken(value, f.type);
	if (copy)
		json_index_put(doc, copy, key);
	else
		json_index_del(doc, key);
	return 0;
}

/* $patch in a map: replace it by the rest of the patch, or empty it. */
static int apply_directive(cJSON *doc, const cJSON *patch, const char *what,
			   enum patch_of type, struct error *err)
{
	cJSON *rest;

	if (!str_eq(what, "replace") && !str_eq(what, "delete"))
		return error_set(err, ERR_INVALID, "$patch: %.60s", what);
	while (doc->child)
		cJSON_Delete(cJSON_DetachItemViaPointer(doc, doc->child));
	if (str_eq(what, "delete"))
		return 0;
	rest = taken_members(patch, type);
	doc->child = rest->child;
	rest->child = NULL;
	cJSON_Delete(rest);
	return 0;
}

static int merge_map(cJSON *doc, const cJSON *patch, enum patch_of type,
		     struct error *err)
{
	const char *what = directive_of(patch);
	cleanup_json_index struct json_index members = { .of = doc };
	const cJSON *child;

	if (what)
		return apply_directive(doc, patch, what, type, err);
	if (retain_keys(doc, patch, err))
		return -1;
	json_each(child, patch)
		if (str_starts(child->string, ELEMENT_ORDER) &&
		    set_element_order(doc, patch, child, type, err))
			return -1;
	json_each(child, patch) {
		const char *name = str_after(child->string, DELETE_VALUES);

		if (name) {
			if (delete_from_list(json_index_get(&members, name), child, name,
					     err))
				return -1;
		} else if (!is_directive(child->string)) {
			if (merge_member(&members, patch, child, type, err))
				return -1;
		}
	}
	return 0;
}

int patch_strategic(cJSON *doc, const cJSON *patch, enum patch_type type,
		    struct error *err)
{
	static const enum patch_of roots[] = { [PATCH_JOBSET_SPEC] = JOBSET_SPEC,
					       [PATCH_POD_TEMPLATE] = POD_TEMPLATE,
					       [PATCH_OBJECT] = ANY_TYPE };
	cleanup_json cJSON *copy = json_dup(doc);
	cJSON *first;

	if (!cJSON_IsObject(doc) || !cJSON_IsObject(patch))
		return error_set(err, ERR_INVALID,
				 "a patch and its target must be objects");
	if (merge_map(copy, patch, roots[type], err))
		return -1;
	first = doc->child;
	doc->child = copy->child;
	copy->child = first;
	return 0;
}

void patch_merge(cJSON *doc, const cJSON *patch)
{
	cleanup_json_index struct json_index members = { .of = doc };
	const cJSON *child;

	json_each(child, patch) {
		cJSON *existing = json_index_get(&members, child->string);

		if (cJSON_IsNull(child)) {
			json_index_del(&members, child->string);
			continue;
		}
		if (!cJSON_IsObject(child)) {
			json_index_put(&members, json_dup(child), child->string);
			continue;
		}
		if (!cJSON_IsObject(existing))
			existing = json_index_put(&members, cJSON_CreateObject(),
						  child->string);
		patch_merge(existing, child);
	}
}
