/* Applies strategic merge patches: patch.h. */
#include "api/patch.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"

/*
 * The types whose fields have patch tags, and those on the way to them. Any
 * other field is ANY_TYPE: maps merge deep, lists are replaced.
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

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		if ((fields[i].of == of || !fields[i].of) && str_eq(fields[i].name, name))
			return fields[i];
	return none;
}

#define DIRECTIVE     "$patch"
#define RETAIN_KEYS   "$retainKeys"
#define ELEMENT_ORDER "$setElementOrder/"
#define DELETE_VALUES "$deleteFromPrimitiveList/"

/* The longest list to merge; no list of a pod is longer. */
enum { MAX_ELEMENTS = 10000 };

static int merge_map(cJSON *doc, const cJSON *patch, enum patch_of type,
		     struct error *err);

/* In every map, those whose keys are the user's among them. */
static const char *directive_of(const cJSON *map)
{
	return json_str(map, DIRECTIVE);
}

static bool is_directive(const char *key)
{
	return str_eq(key, DIRECTIVE) || str_eq(key, RETAIN_KEYS) ||
	       str_starts(key, ELEMENT_ORDER) || str_starts(key, DELETE_VALUES);
}

/*
 * A patch's value for a place without a value: without nulls and directives. NULL if the
 * value itself is a directive.
 */
static cJSON *taken(const cJSON *value, enum patch_of type)
{
	cJSON *copy, *part;
	const cJSON *child;

	if (!cJSON_IsObject(value) && !cJSON_IsArray(value))
		return json_dup(value);
	if (directive_of(value))
		return NULL;
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

static void put_taken(cJSON *doc, const char *key, const cJSON *value, enum patch_of type)
{
	cJSON *copy = taken(value, type);

	if (copy)
		json_put(doc, copy, key);
	else
		json_del(doc, JSON_PATH(key));
}

/* ---- lists that merge ------------------------------------------------------------ */

struct item {
	cJSON *node;
	int server; /* place of its key in the document's list, -1: it is new */
	int patch;  /* place of its key in the patch (or $setElementOrder), -1: none */
};

struct items {
	struct item *at;
	size_t n;
};

static void items_release(struct items *items)
{
	for (size_t i = 0; i < items->n; i++)
		cJSON_Delete(items->at[i].node);
	free(items->at);
}
#define cleanup_items __attribute__((cleanup(items_release)))

/* What identifies an element: the merge key's value, or the scalar itself. */
static const cJSON *identity(const cJSON *element, const char *key)
{
	return key ? json_get(element, key) : element;
}

static struct item *find_item(const struct items *items, const cJSON *id, const char *key)
{
	for (size_t i = 0; i < items->n; i++)
		if (json_equal(identity(items->at[i].node, key), id))
			return &items->at[i];
	return NULL;
}

static int place_in(const cJSON *list, const cJSON *id, const char *key)
{
	const cJSON *child;
	int i = 0;

	json_each(child, list) {
		if (json_equal(identity(child, key), id))
			return i;
		i++;
	}
	return -1;
}

/* Every element a map with the merge key, or every one a scalar. */
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
		if (!f->key && (cJSON_IsObject(child) || cJSON_IsArray(child)))
			return error_set(err, ERR_INVALID,
					 "%s: an element is not a scalar", f->name);
	}
	if (cJSON_GetArraySize(list) > MAX_ELEMENTS)
		return error_set(err, ERR_LIMIT, "%s: over %d elements", f->name,
				 MAX_ELEMENTS);
	return 0;
}

/*
 * Elements of the patch that are directives: delete takes those of its key out
 * of the list, replace (anywhere) empties it first.
 */
static int apply_element_directives(cJSON *list, const cJSON *patch,
				    const struct patch_field *f, struct error *err)
{
	bool replace = false;
	const cJSON *child;
	cJSON *node, *next;

	json_each(child, patch) {
		const char *what = f->key ? directive_of(child) : NULL;

		if (!what)
			continue;
		if (str_eq(what, "replace")) {
			replace = true;
			continue;
		}
		if (!str_eq(what, "delete"))
			return error_set(err, ERR_INVALID, "%s: $patch: %.60s", f->name,
					 what);
		for (node = list->child; node; node = next) {
			next = node->next;
			if (json_equal(json_get(node, f->key), json_get(child, f->key)))
				cJSON_Delete(cJSON_DetachItemViaPointer(list, node));
		}
	}
	while (replace && list->child)
		cJSON_Delete(cJSON_DetachItemViaPointer(list, list->child));
	return 0;
}

/* The list's elements, detached from it, with room for `more`. */
static void detach_items(cJSON *list, const struct patch_field *f, size_t more,
			 struct items *ret)
{
	size_t n = (size_t)cJSON_GetArraySize(list);

	ret->at = xcalloc(n + more + 1, sizeof(*ret->at));
	for (int i = 0; list->child; i++) {
		cJSON *node = cJSON_DetachItemViaPointer(list, list->child);
		struct item *match = find_item(ret, identity(node, f->key), f->key);

		ret->at[ret->n++] = (struct item){ node, match ? match->server : i, -1 };
	}
}

static int merge_items(struct items *items, const cJSON *patch,
		       const struct patch_field *f, struct error *err)
{
	const cJSON *child;

	json_each(child, patch) {
		struct item *match = find_item(items, identity(child, f->key), f->key);

		if (f->key && directive_of(child))
			continue;
		if (!match)
			items->at[items->n++] =
				(struct item){ taken(child, f->type), -1, -1 };
		else if (f->key && merge_map(match->node, child, f->type, err))
			return -1;
	}
	return 0;
}

/* Sort stably by place in the patch or the document; elements in neither stay. */
static void sort_items(struct item **at, size_t n, bool by_patch)
{
	for (size_t i = 1; i < n; i++) {
		struct item *x = at[i];
		size_t j = i;

		for (; j; j--) {
			int a = by_patch ? at[j - 1]->patch : at[j - 1]->server;
			int b = by_patch ? x->patch : x->server;

			if (a < 0 || b < 0 || a <= b)
				break;
			at[j] = at[j - 1];
		}
		at[j] = x;
	}
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

	for (struct item *item = items->at; item < items->at + items->n; item++) {
		item->patch = place_in(order, identity(item->node, f->key), f->key);
		if (item->patch >= 0)
			ours[n_ours++] = item;
		else
			theirs[n_theirs++] = item;
	}
	sort_items(ours, n_ours, true);
	sort_items(theirs, n_theirs, false);
	while (i < n_theirs || j < n_ours) {
		bool other = j == n_ours || (i < n_theirs && ours[j]->server >= 0 &&
					     theirs[i]->server >= 0 &&
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
	cJSON *node, *next;

	if (!cJSON_IsArray(values))
		return error_set(err, ERR_INVALID, "%s%s is not a list", DELETE_VALUES,
				 name);
	for (node = list ? list->child : NULL; node; node = next) {
		next = node->next;
		if (place_in(values, node, NULL) >= 0)
			cJSON_Delete(cJSON_DetachItemViaPointer(list, node));
	}
	return 0;
}

/* ---- maps ------------------------------------------------------------------------ */

/* $retainKeys: the document's other keys are removed. */
static int retain_keys(cJSON *doc, const cJSON *patch, struct error *err)
{
	const cJSON *keys = json_get(patch, RETAIN_KEYS);
	const cJSON *child;
	cJSON *node, *next;

	if (!keys)
		return 0;
	if (!cJSON_IsArray(keys))
		return error_set(err, ERR_INVALID, RETAIN_KEYS " is no list");
	json_each(child, patch) {
		cleanup_json cJSON *name = cJSON_CreateString(child->string);

		if (!cJSON_IsNull(child) && !is_directive(child->string) &&
		    place_in(keys, name, NULL) < 0)
			return error_set(err, ERR_INVALID,
					 RETAIN_KEYS " lacks the patch's own key %.60s",
					 child->string);
	}
	for (node = doc->child; node; node = next) {
		cleanup_json cJSON *name = cJSON_CreateString(node->string);

		next = node->next;
		if (place_in(keys, name, NULL) < 0)
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
	const cJSON *child;
	int last = -1;

	if (!f.merge || !cJSON_IsArray(directive) || (theirs && !cJSON_IsArray(theirs)))
		return error_set(err, ERR_INVALID, "%s: not a list that can be merged",
				 directive->string);
	json_each(child, theirs) {
		int place = place_in(directive, identity(child, f.key), f.key);

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

static int merge_member(cJSON *doc, const cJSON *patch, const cJSON *value,
			enum patch_of type, struct error *err)
{
	const char *key = value->string;
	struct patch_field f = field_of(type, key);
	cJSON *existing = json_get(doc, key);

	if (cJSON_IsNull(value)) {
		json_del(doc, JSON_PATH(key));
		return 0;
	}
	if (cJSON_IsObject(value) && cJSON_IsObject(existing)) {
		if (merge_map(existing, value, f.type, err))
			return error_wrap(err, "%s", key);
		return 0;
	}
	if (f.merge && cJSON_IsArray(value) && cJSON_IsArray(existing)) {
		cleanup_buf struct buf order = { .max = 1024 };

		buf_printf(&order, "%s%s", ELEMENT_ORDER, key);
		if (json_get(patch, (const char *)order.data))
			return 0; /* is merged already */
		return merge_list(existing, value, value, &f, err);
	}
	put_taken(doc, key, value, f.type);
	return 0;
}

/* $patch in a map: replace it by the rest of the patch, or empty it. */
static int apply_directive(cJSON *doc, const cJSON *patch, const char *what,
			   enum patch_of type, struct error *err)
{
	const cJSON *child;

	if (!str_eq(what, "replace") && !str_eq(what, "delete"))
		return error_set(err, ERR_INVALID, "$patch: %.60s", what);
	while (doc->child)
		cJSON_Delete(cJSON_DetachItemViaPointer(doc, doc->child));
	if (str_eq(what, "delete"))
		return 0;
	json_each(child, patch)
		if (!is_directive(child->string) && !cJSON_IsNull(child))
			put_taken(doc, child->string, child,
				  field_of(type, child->string).type);
	return 0;
}

static int merge_map(cJSON *doc, const cJSON *patch, enum patch_of type,
		     struct error *err)
{
	const char *what = directive_of(patch);
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
			if (delete_from_list(json_get(doc, name), child, name, err))
				return -1;
		} else if (!is_directive(child->string)) {
			if (merge_member(doc, patch, child, type, err))
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
	const cJSON *child;

	json_each(child, patch) {
		cJSON *existing = json_get(doc, child->string);

		if (cJSON_IsNull(child)) {
			json_del(doc, JSON_PATH(child->string));
			continue;
		}
		if (!cJSON_IsObject(child)) {
			json_put(doc, json_dup(child), child->string);
			continue;
		}
		if (!cJSON_IsObject(existing))
			existing = json_put(doc, cJSON_CreateObject(), child->string);
		patch_merge(existing, child);
	}
}
