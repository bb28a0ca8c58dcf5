/* typed.c - merges and compares objects by the structure of their type (api/typed.h). */
#include "api/typed.h"

#include <stdlib.h>
#include <string.h>

#include "api/schema_node.h"
#include "base/cleanup.h"
#include "base/json_index.h"
#include "base/map.h"
#include "base/str.h"
#include "base/xmalloc.h"

const struct node *typed_of(const struct schema *schema, const char *api_version,
			    const char *kind)
{
	const struct kind *k = schema_kind(schema, kind);

	return k && str_eq(k->api_version, api_version) ? k->node : NULL;
}

/* ---- the structure ----------------------------------------------------------------- */

static const struct node *member_type(const struct node *type, const char *name)
{
	const struct node *known = type ? node_prop(type, name) : NULL;

	if (known)
		return known;
	return type && type->type == NODE_OBJECT ? type->each : NULL;
}

static const struct node *element_type(const struct node *type)
{
	return type && type->type == NODE_ARRAY ? type->each : NULL;
}

static bool is_structure_field(const struct node *type, const char *name)
{
	return type && node_prop(type, name);
}

/* Is `value` atomic: merged and owned as a single value? */
static bool is_atomic(const struct node *type, const cJSON *value)
{
	if (cJSON_IsObject(value))
		return type && type->atomic;
	if (cJSON_IsArray(value))
		return !type || type->type != NODE_ARRAY || type->list == LIST_ATOMIC;
	return true;
}

static const cJSON *key_of(const struct node *list, const cJSON *element, const char *key)
{
	const cJSON *value = json_member(element, key);
	const struct node *type;

	if (value)
		return value;
	type = list->each ? node_prop(list->each, key) : NULL;
	return type ? type->fallback : NULL;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

enum { MAX_KEYS = 8, MAX_STEP = 1024 * 1024 };

/* {"name":"a"} with its keys sorted. */
static void print_keys(struct buf *out, const struct node *list, const cJSON *element)
{
	const char *keys[MAX_KEYS], *comma = "";
	size_t n = 0;

	for (const char *const *k = list->keys; k && *k && n < MAX_KEYS; k++)
		keys[n++] = *k;
	qsort(keys, n, sizeof(*keys), by_text);
	buf_adds(out, "{");
	for (size_t i = 0; i < n; i++) {
		const cJSON name = { .type = cJSON_String,
				     .valuestring = (char *)keys[i] };
		const cJSON *value = key_of(list, element, keys[i]);

		if (!value)
			continue;
		buf_adds(out, comma);
		json_print(out, &name);
		buf_adds(out, ":");
		json_print(out, value);
		comma = ",";
	}
	buf_adds(out, "}");
}

/* The step to an element; owned by the caller. */
static char *step_of(const struct node *list, const cJSON *element)
{
	struct buf step = { .max = MAX_STEP };

	if (list->list == LIST_MAP) {
		buf_adds(&step, "k:");
		print_keys(&step, list, element);
	} else {
		buf_adds(&step, "v:");
		json_print(&step, element);
	}
	return (char *)step.data;
}

static char *member_step(const cJSON *member)
{
	size_t n = strlen(member->string) + 1;
	char *step = xmalloc(2 + n);

	memcpy(step, "f:", 2);
	memcpy(step + 2, member->string, n);
	return step;
}

static char *child_step(const struct node *type, const cJSON *parent, const cJSON *child)
{
	return cJSON_IsObject(parent) ? member_step(child) : step_of(type, child);
}

static const struct node *child_type(const struct node *type, const cJSON *parent,
				     const cJSON *child)
{
	return cJSON_IsObject(parent) ? member_type(type, child->string)
				      : element_type(type);
}

/* The children of a list by step, the first of equal ones. */
static void index_elements(const struct node *type, const cJSON *list, struct map *ret)
{
	const cJSON *child;

	json_each(child, list) {
		cleanup_free char *step = step_of(type, child);
		void *before = map_get(ret, step);

		if (!before)
			map_put(ret, step, (void *)child);
	}
}

/* ---- fields ------------------------------------------------------------------------ */

static bool is_empty_map(const cJSON *value)
{
	return cJSON_IsNull(value) || (cJSON_IsObject(value) && !value->child);
}

/* The fields below a value; *ret_self: is the value itself a field? */
static cJSON *fields_of(const struct node *type, const cJSON *value, bool *ret_self)
{
	cJSON *set = cJSON_CreateObject();
	cleanup_map struct map seen = { 0 };
	const cJSON *child;

	*ret_self = is_atomic(type, value) && !cJSON_IsNull(value);
	if (is_atomic(type, value))
		return set;
	json_each(child, value) {
		cleanup_free char *step = child_step(type, value, child);
		bool self;
		cJSON *below = fields_of(child_type(type, value, child), child, &self);

		self |= cJSON_IsArray(value) || is_empty_map(child) ||
			!is_structure_field(type, child->string);
		if (cJSON_IsArray(value) && map_put(&seen, step, &seen))
			cJSON_Delete(below);
		else
			fieldset_add(set, step, below, self);
	}
	fieldset_sort(set);
	return set;
}

cJSON *typed_fields(const struct node *type, const cJSON *value)
{
	bool self;

	return fields_of(type, value, &self);
}

/* ---- compare ----------------------------------------------------------------------- */

void typed_changes_release(struct typed_changes *c)
{
	cJSON_Delete(c->added);
	cJSON_Delete(c->modified);
	cJSON_Delete(c->removed);
	*c = (struct typed_changes){ 0 };
}

static bool has_children(const struct node *type, const cJSON *value)
{
	return value && value->child && !is_atomic(type, value);
}

static bool is_null_or(const cJSON *value, int type)
{
	return !value || cJSON_IsNull(value) || (value->type & 0xff) == type;
}

/* Does either side have children that are compared separately? */
static bool compares_below(const struct node *type, const cJSON *a, const cJSON *b)
{
	const cJSON *some = has_children(type, a) ? a : has_children(type, b) ? b : NULL;

	return some && is_null_or(a, some->type & 0xff) &&
	       is_null_or(b, some->type & 0xff);
}

static void compare_below(const struct node *type, const cJSON *a, const cJSON *b,
			  const char *const *but, struct typed_changes *ret);

static void add_change(cJSON **set, const char *step, cJSON *take_below, bool self)
{
	if (!take_below && !self)
		return;
	*set = *set ? *set : cJSON_CreateObject();
	fieldset_add(*set, step, take_below, self);
}

/* Follow a path, or leave it. True: it ends at this member. */
static bool ends_there(const char *const **path, const char *name)
{
	bool follows = *path && str_eq(**path, name);

	*path = follows ? *path + 1 : NULL;
	return follows && !**path;
}

static bool is_none(const struct typed_changes *c)
{
	return !c->added && !c->removed && !c->modified;
}

/* A child of `parent`, which is a value of this type, before and after: one may be NULL. */
static void compare_child(const struct node *type, const cJSON *parent, const cJSON *a,
			  const cJSON *b, const char *const *but,
			  struct typed_changes *up)
{
	const struct node *own_type = child_type(type, parent, a ? a : b);
	bool below = compares_below(own_type, a, b), differs;
	struct typed_changes own = { 0 };
	cleanup_free char *step = NULL;

	if (ends_there(&but, a ? a->string : b->string))
		return;
	if (below)
		compare_below(own_type, a, b, but, &own);
	differs = a && b && !below && !json_equal(a, b);
	if (a && b && !differs && is_none(&own))
		return;
	step = child_step(type, parent, a ? a : b);
	add_change(&up->added, step, own.added, !a);
	add_change(&up->removed, step, own.removed, !b);
	add_change(&up->modified, step, own.modified, differs);
}

static void compare_members(const struct node *type, const cJSON *a, const cJSON *b,
			    const char *const *but, struct typed_changes *ret)
{
	cleanup_json_index struct json_index in_a = { .of = a };
	cleanup_json_index struct json_index in_b = { .of = b };
	const cJSON *some = has_children(type, a) ? a : b, *m;

	json_each(m, a)
		compare_child(type, some, m, json_index_get(&in_b, m->string), but, ret);
	json_each(m, b)
		if (!json_index_get(&in_a, m->string))
			compare_child(type, some, NULL, m, but, ret);
}

static void compare_lists(const struct node *type, const cJSON *a, const cJSON *b,
			  struct typed_changes *ret)
{
	const cJSON *some = has_children(type, a) ? a : b;
	cleanup_map struct map in_a = { 0 };
	cleanup_map struct map in_b = { 0 };

	if (a && b && json_equal(a, b))
		return;
	index_elements(type, a, &in_a);
	index_elements(type, b, &in_b);
	map_each(e, &in_a)
		compare_child(type, some, e->value, map_get(&in_b, e->key), NULL, ret);
	map_each(e, &in_b)
		if (!map_get(&in_a, e->key))
			compare_child(type, some, NULL, e->value, NULL, ret);
}

static void compare_below(const struct node *type, const cJSON *a, const cJSON *b,
			  const char *const *but, struct typed_changes *ret)
{
	if (cJSON_IsObject(has_children(type, a) ? a : b))
		compare_members(type, a, b, but, ret);
	else
		compare_lists(type, a, b, ret);
	fieldset_sort(ret->added);
	fieldset_sort(ret->modified);
	fieldset_sort(ret->removed);
}

void typed_compare(const struct node *type, const cJSON *before, const cJSON *after,
		   const char *const *but, struct typed_changes *ret)
{
	*ret = (struct typed_changes){ 0 };
	if (compares_below(type, before, after))
		compare_below(type, before, after, but, ret);
}

/* ---- merge ------------------------------------------------------------------------- */

static cJSON *merge_objects(const struct node *type, const cJSON *live,
			    const cJSON *config)
{
	cleanup_json_index struct json_index in_live = { .of = live };
	cleanup_json_index struct json_index in_config = { .of = config };
	cJSON *out = cJSON_CreateObject();
	const cJSON *m;

	json_each(m, live) {
		const cJSON *other = json_index_get(&in_config, m->string);

		cJSON_AddItemToObject(
			out, m->string,
			other ? typed_merge(member_type(type, m->string), m, other)
			      : json_dup(m));
	}
	json_each(m, config)
		if (!json_index_get(&in_live, m->string))
			cJSON_AddItemToObject(out, m->string, json_dup(m));
	return out;
}

struct side {
	const cJSON **nodes;
	char **steps;
	size_t n, at;
	struct map index;
};

static void side_init(struct side *s, const struct node *type, const cJSON *list)
{
	size_t n = (size_t)cJSON_GetArraySize(list);
	const cJSON *child;

	*s = (struct side){ .nodes = xcalloc(n + 1, sizeof(*s->nodes)),
			    .steps = xcalloc(n + 1, sizeof(*s->steps)) };
	json_each(child, list) {
		s->steps[s->n] = step_of(type, child);
		s->nodes[s->n++] = child;
	}
	index_elements(type, list, &s->index);
}

static void side_release(struct side *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->steps[i]);
	free(s->steps);
	free(s->nodes);
	map_release(&s->index, NULL);
}

struct list_merge {
	const struct node *element;
	struct side live, config;
	struct map merged; /* steps of config that are in `out` */
	size_t shared;     /* the next of config's elements that is also in live */
	cJSON *out;
};

static const char *next_shared(struct list_merge *m)
{
	while (m->shared < m->config.n &&
	       (!map_get(&m->live.index, m->config.steps[m->shared]) ||
		map_get(&m->merged, m->config.steps[m->shared])))
		m->shared++;
	return m->shared < m->config.n ? m->config.steps[m->shared] : NULL;
}

static void take_config(struct list_merge *m)
{
	const char *step = m->config.steps[m->config.at++];
	const cJSON *live = map_get(&m->live.index, step);
	const cJSON *config = map_get(&m->config.index, step);

	if (!map_put(&m->merged, step, m))
		cJSON_AddItemToArray(m->out, live ? typed_merge(m->element, live, config)
						  : json_dup(config));
}

/* Is the element in both lists, but not the next one in config's order? */
static bool comes_later(struct list_merge *m, const char *live)
{
	const char *shared = next_shared(m);

	return shared && !str_eq(shared, live);
}

/* Take one step along both lists; common elements are in config's order. */
static void merge_step(struct list_merge *m)
{
	const char *live = m->live.at < m->live.n ? m->live.steps[m->live.at] : NULL;
	const char *config =
		m->config.at < m->config.n ? m->config.steps[m->config.at] : NULL;
	bool both = live && map_get(&m->config.index, live);

	if (live && config && (str_eq(live, config) || (both && comes_later(m, live)))) {
		m->live.at++;
		if (str_eq(live, config))
			take_config(m);
		return;
	}
	if (live && !both) {
		cJSON_AddItemToArray(m->out, json_dup(m->live.nodes[m->live.at++]));
		return;
	}
	if (live && map_get(&m->merged, live))
		m->live.at++;
	if (config)
		take_config(m);
}

static cJSON *merge_lists(const struct node *type, const cJSON *live, const cJSON *config)
{
	struct list_merge m = { .element = type->each, .out = cJSON_CreateArray() };

	side_init(&m.live, type, live);
	side_init(&m.config, type, config);
	while (m.live.at < m.live.n || m.config.at < m.config.n)
		merge_step(&m);
	side_release(&m.live);
	side_release(&m.config);
	map_release(&m.merged, NULL);
	return m.out;
}

cJSON *typed_merge(const struct node *type, const cJSON *live, const cJSON *config)
{
	if (is_atomic(type, config) || !live ||
	    (live->type & 0xff) != (config->type & 0xff))
		return json_dup(config);
	if (cJSON_IsObject(config))
		return merge_objects(type, live, config);
	return merge_lists(type, live, config);
}

/* ---- remove ------------------------------------------------------------------------ */

void typed_remove(const struct node *type, cJSON *value, const cJSON *set)
{
	cleanup_json_index struct json_index fields = { .of = set };
	cJSON *child, *next;

	if (is_atomic(type, value) || fieldset_is_empty(set))
		return;
	for (child = value->child; child; child = next) {
		cleanup_free char *step = child_step(type, value, child);
		const cJSON *below = json_index_get(&fields, step);
		bool was = child->child;

		next = child->next;
		if (!below)
			continue;
		if (!fieldset_has(below)) {
			typed_remove(child_type(type, value, child), child, below);
			if (!was || child->child)
				continue;
		}
		cJSON_Delete(cJSON_DetachItemViaPointer(value, child));
	}
}

static cJSON *named_below(const struct node *type, const cJSON *set);

static const struct node *step_type(const struct node *type, const char *step)
{
	return str_starts(step, "f:") ? member_type(type, step + 2) : element_type(type);
}

static cJSON *named_below(const struct node *type, const cJSON *set)
{
	cJSON *out = cJSON_CreateObject();
	const cJSON *c;

	json_each(c, set) {
		if (str_eq(c->string, "."))
			continue;
		fieldset_add(out, c->string, named_below(step_type(type, c->string), c),
			     fieldset_has(c) ||
				     (str_starts(c->string, "f:") &&
				      is_structure_field(type, c->string + 2)));
	}
	return out;
}

cJSON *typed_named(const struct node *type, const cJSON *set)
{
	return named_below(type, set);
}

/* ---- check ----------------------------------------------------------------------- */

struct typed_walk {
	struct buf path;
	bool strict;
	struct error *err;
};

static const char *path_of(const struct typed_walk *w)
{
	return w->path.data ? (const char *)w->path.data : "";
}

static int check_element(struct typed_walk *w, const struct node *list,
			 const cJSON *element, int i)
{
	if (list->list != LIST_MAP)
		return 0;
	if (!cJSON_IsObject(element))
		return error_set(
			w->err, ERR_INVALID,
			"%s: element %d: associative list with keys may not have "
			"non-map elements",
			path_of(w), i);
	for (const char *const *k = list->keys; *k; k++)
		if (key_of(list, element, *k))
			return 0;
	return error_set(
		w->err, ERR_INVALID,
		"%s: element %d: associative list with keys has an element that "
		"omits all key fields [\"%s\"] (and doesn't have default values for "
		"any key fields)",
		path_of(w), i, list->keys[0]);
}

static void keep_path(void *ctx, const char *path)
{
	buf_adds(ctx, path);
}

static int duplicate(struct typed_walk *w, const char *step)
{
	cleanup_json cJSON *set = cJSON_CreateObject();
	cleanup_buf struct buf shown = { .max = 1000 };

	fieldset_add(set, step, NULL, true);
	fieldset_each(set, keep_path, &shown);
	return error_set(w->err, ERR_INVALID, "%s: duplicate entries for key %s",
			 path_of(w), shown.data ? (const char *)shown.data : "");
}

static int check_list(struct typed_walk *w, const struct node *type, const cJSON *list)
{
	cleanup_map struct map seen = { 0 };
	const cJSON *child;
	int i = 0;

	json_each(child, list) {
		cleanup_free char *step = NULL;

		if (check_element(w, type, child, i++))
			return -1;
		step = step_of(type, child);
		if (map_put(&seen, step, &seen))
			return duplicate(w, step);
	}
	return 0;
}

static void add_step(struct buf *path, const char *name)
{
	buf_adds(path, ".");
	buf_adds(path, name);
}

static int check_at(struct typed_walk *w, const struct node *type, const cJSON *value)
{
	const cJSON *child;

	if (is_atomic(type, value))
		return 0;
	if (cJSON_IsArray(value) && check_list(w, type, value))
		return -1;
	json_each(child, value) {
		const struct node *below = child_type(type, value, child);
		size_t len = w->path.len;

		if (cJSON_IsObject(value))
			add_step(&w->path, child->string);
		if (w->strict && type && !below && cJSON_IsObject(value) &&
		    !type->preserves_unknown)
			return error_set(w->err, ERR_INVALID,
					 "%s: field not declared in schema", path_of(w));
		if (check_at(w, below, child))
			return -1;
		if (w->path.data) {
			w->path.len = len;
			w->path.data[len] = 0;
		}
	}
	return 0;
}

int typed_check(const struct node *type, const cJSON *value, bool strict,
		struct error *err)
{
	struct typed_walk w = { .path = { .max = 4096 }, .strict = strict, .err = err };
	int rc = check_at(&w, type, value);

	buf_release(&w.path);
	return rc;
}
