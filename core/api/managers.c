/* managers.c - updates managedFields, and applies objects (api/managers.h). */
#include "api/managers.h"

#include <stdlib.h>
#include <string.h>

#include "api/last_applied.h"
#include "base/cleanup.h"
#include "base/json_index.h"
#include "base/str.h"
#include "base/xmalloc.h"

#define APPLY     "Apply"
#define UPDATE    "Update"
#define BEFORE    "before-first-apply"
#define ANCIENT   "ancient-changes"
#define FIELDS_V1 "FieldsV1"

/* ---- the entries ------------------------------------------------------------------- */

struct entry {
	char *manager, *api_version, *subresource, *time;
	bool apply;
	cJSON *set;
};

struct entries {
	struct entry *list;
	size_t n, cap;
};

static void entry_release(struct entry *e)
{
	free(e->manager);
	free(e->api_version);
	free(e->subresource);
	free(e->time);
	cJSON_Delete(e->set);
}

static void entries_release(struct entries *es)
{
	for (size_t i = 0; i < es->n; i++)
		entry_release(&es->list[i]);
	free(es->list);
	*es = (struct entries){ 0 };
}
#define cleanup_entries __attribute__((cleanup(entries_release)))

static struct entry *entries_end(const struct entries *es)
{
	return es->n ? es->list + es->n : es->list;
}

static struct entry *add_entry(struct entries *es, struct entry take_entry)
{
	if (es->n == es->cap) {
		es->cap = es->cap ? 2 * es->cap : 8;
		es->list = xreallocarray(es->list, es->cap, sizeof(*es->list));
	}
	es->list[es->n] = take_entry;
	return &es->list[es->n++];
}

static const char *text_of(const cJSON *entry, const char *key)
{
	const char *s = json_str(entry, key);

	return s ? s : "";
}

static const char *entry_invalid(const cJSON *e)
{
	cleanup_json cJSON *set = NULL;

	if (!str_in(text_of(e, "operation"),
		    (const char *const[]){ APPLY, UPDATE, NULL }))
		return "operation: must be Apply or Update";
	if (!str_in(text_of(e, "fieldsType"),
		    (const char *const[]){ FIELDS_V1, "", NULL }))
		return "fieldsType: must be FieldsV1";
	if (strlen(text_of(e, "manager")) > MANAGER_NAME_MAX)
		return "manager: must be no more than 128 bytes";
	set = json_get(e, "fieldsV1") ? fieldset_read(json_get(e, "fieldsV1")) : NULL;
	return set || !json_get(e, "fieldsV1") ? NULL : "fieldsV1: not a set of fields";
}

const char *managers_invalid(const cJSON *managed_fields)
{
	const char *fault = NULL;
	const cJSON *e;

	if (managed_fields && !cJSON_IsArray(managed_fields))
		return "must be a list";
	json_each(e, managed_fields)
		fault = fault ? fault : entry_invalid(e);
	return fault;
}

static void read_entries(struct entries *ret, const cJSON *list)
{
	const cJSON *e;

	if (managers_invalid(list))
		return;
	json_each(e, list) {
		cJSON *set = fieldset_read(json_get(e, "fieldsV1"));

		if (!fieldset_is_empty(set))
			add_entry(
				ret,
				(struct entry){
					.manager = xstrdup(text_of(e, "manager")),
					.api_version = xstrdup(text_of(e, "apiVersion")),
					.subresource = xstrdup(text_of(e, "subresource")),
					.time = xstrdup(text_of(e, "time")),
					.apply = str_eq(text_of(e, "operation"), APPLY),
					.set = set });
		else
			cJSON_Delete(set);
	}
}

static int by_place(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int c = y->apply - x->apply;

	c = c ? c : strcmp(x->time, y->time);
	c = c ? c : strcmp(x->manager, y->manager);
	c = c ? c : strcmp(x->api_version, y->api_version);
	return c ? c : strcmp(x->subresource, y->subresource);
}

static void put_text(cJSON *doc, const char *key, const char *text)
{
	if (*text)
		json_put_str(doc, text, key);
}

/* Replace obj's entries. */
static void write_entries(struct entries *es, cJSON *obj)
{
	cJSON *list = cJSON_CreateArray();

	if (es->n)
		qsort(es->list, es->n, sizeof(*es->list), by_place);
	for (struct entry *e = es->list, *end = entries_end(es); e < end; e++) {
		cJSON *doc = cJSON_CreateObject();

		json_put_str(doc, e->manager, "manager");
		json_put_str(doc, e->apply ? APPLY : UPDATE, "operation");
		put_text(doc, "apiVersion", e->api_version);
		put_text(doc, "time", e->time);
		json_put_str(doc, FIELDS_V1, "fieldsType");
		json_put(doc, json_dup(e->set), "fieldsV1");
		put_text(doc, "subresource", e->subresource);
		cJSON_AddItemToArray(list, doc);
	}
	if (es->n)
		json_put(obj, list, "metadata", "managedFields");
	else
		cJSON_Delete(list);
}

/* ---- sets -------------------------------------------------------------------------- */

/* Fields of every object that no manager owns. */
static cJSON *stripped_fields(void)
{
	static const char *const metadata[] = {
		"f:creationTimestamp", "f:generation",      "f:managedFields", "f:name",
		"f:namespace",         "f:resourceVersion", "f:selfLink",      "f:uid"
	};
	cJSON *set = cJSON_CreateObject(), *below = cJSON_CreateObject();

	for (size_t i = 0; i < N_ELEMENTS(metadata); i++)
		cJSON_AddItemToObject(below, metadata[i], cJSON_CreateObject());
	fieldset_add(set, "f:apiVersion", NULL, true);
	fieldset_add(set, "f:kind", NULL, true);
	fieldset_add(set, "f:metadata", below, true);
	return set;
}

/* Free *set and replace it by take_set. */
static void replace(cJSON **set, cJSON *take_set)
{
	cJSON_Delete(*set);
	*set = take_set;
}

static void drop_fields(struct entries *es, const cJSON *set, const struct entry *but)
{
	for (struct entry *e = es->list, *end = entries_end(es); e < end; e++)
		if (e != but)
			replace(&e->set, fieldset_difference(e->set, set));
}

static void drop_empty(struct entries *es)
{
	size_t n = 0;

	for (size_t i = 0; i < es->n; i++)
		if (fieldset_is_empty(es->list[i].set))
			entry_release(&es->list[i]);
		else
			es->list[n++] = es->list[i];
	es->n = n;
}

static struct entry *find_entry(struct entries *es, const struct manager_of *by,
				bool apply)
{
	for (struct entry *e = es->list, *end = entries_end(es); e < end; e++)
		if (e->apply == apply && str_eq(e->manager, by->manager) &&
		    str_eq(e->subresource, by->subresource) &&
		    (apply || str_eq(e->api_version, by->api_version)))
			return e;
	return NULL;
}

static struct entry *make_entry(struct entries *es, const struct manager_of *by,
				bool apply)
{
	struct entry *e = find_entry(es, by, apply);

	if (e)
		return e;
	return add_entry(es, (struct entry){ .manager = xstrdup(by->manager),
					     .api_version = xstrdup(by->api_version),
					     .subresource = xstrdup(by->subresource),
					     .time = xstrdup(""),
					     .apply = apply,
					     .set = cJSON_CreateObject() });
}

static void set_time(struct entry *e, const char *now)
{
	free(e->time);
	e->time = xstrdup(now);
}

/* A copy without managedFields. */
static cJSON *bare(const cJSON *obj)
{
	cJSON *copy = json_dup(obj);

	json_del(copy, JSON_PATH("metadata", "managedFields"));
	return copy;
}

static void compare(const struct manager_of *by, const cJSON *live, const cJSON *obj,
		    struct typed_changes *ret)
{
	typed_compare(by->type, live, obj, JSON_PATH("metadata", "managedFields"), ret);
	if (!by->ignored)
		return;
	replace(&ret->added, fieldset_without(ret->added, by->ignored));
	replace(&ret->modified, fieldset_without(ret->modified, by->ignored));
	replace(&ret->removed, fieldset_without(ret->removed, by->ignored));
}

static void finish(struct entries *es, cJSON *obj)
{
	cleanup_json cJSON *strip = stripped_fields();

	drop_fields(es, strip, NULL);
	drop_empty(es);
	write_entries(es, obj);
}

/* ---- create, update, patch --------------------------------------------------------- */

static bool forgets_all(const cJSON *list)
{
	return cJSON_IsArray(list) &&
	       (!list->child || (!list->child->next && !list->child->child));
}

static void entries_before(const struct manager_of *by, const cJSON *live,
			   const cJSON *obj, struct entries *ret)
{
	const cJSON *own = json_get(obj, "metadata", "managedFields");

	if (!*by->subresource && forgets_all(own))
		return;
	if (!*by->subresource)
		read_entries(ret, own);
	if (!ret->n)
		read_entries(ret, json_get(live, "metadata", "managedFields"));
}

static struct entry *oldest_update(struct entries *es, const struct entry *but)
{
	struct entry *oldest = NULL;

	for (struct entry *e = es->list, *end = entries_end(es); e < end; e++)
		if (!e->apply && e != but &&
		    (!oldest || strcmp(e->time, oldest->time) < 0))
			oldest = e;
	return oldest;
}

/* Merge the oldest entries of updates if there are too many. */
static void cap_updates(struct entries *es)
{
	size_t n = 0;

	for (size_t i = 0; i < es->n; i++)
		n += !es->list[i].apply;
	for (; n > MANAGERS_MAX_UPDATES; n--) {
		struct entry *old = oldest_update(es, NULL);
		const struct manager_of ancient = { .manager = ANCIENT,
						    .api_version = old->api_version,
						    .subresource = "" };
		size_t at = (size_t)(old - es->list);
		struct entry *e = find_entry(es, &ancient, false);

		if (e == old)
			old = oldest_update(es, e);
		at = (size_t)(old - es->list);
		e = make_entry(es, &ancient, false);
		old = &es->list[at];
		replace(&e->set, fieldset_union(e->set, old->set));
		set_time(e, old->time);
		replace(&old->set, NULL);
		drop_empty(es);
	}
}

void managers_update(const struct manager_of *by, const cJSON *live, cJSON *obj)
{
	cleanup_entries struct entries es = { 0 };
	cleanup_typed_changes struct typed_changes c = { 0 };
	cJSON *taken, *gone;
	struct entry *e;

	entries_before(by, live, obj, &es);
	json_del(obj, JSON_PATH("metadata", "managedFields"));
	if (!es.n && json_get(live, "metadata", "uid"))
		return; /* the object has no managedFields */
	compare(by, live, obj, &c);
	taken = fieldset_union(c.added, c.modified);
	gone = fieldset_union(taken, c.removed);
	drop_fields(&es, gone, NULL);
	if (!fieldset_is_empty(taken)) {
		e = make_entry(&es, by, false);
		replace(&e->set, fieldset_union(e->set, taken));
		set_time(e, by->now);
	}
	cJSON_Delete(taken);
	cJSON_Delete(gone);
	drop_empty(&es);
	cap_updates(&es);
	finish(&es, obj);
}

/* ---- apply ------------------------------------------------------------------------- */

/* The fields of all managers but one. */
static cJSON *all_fields(const struct entries *es)
{
	cJSON *all = cJSON_CreateObject();

	for (const struct entry *e = es->list, *end = entries_end(es); e < end; e++)
		replace(&all, fieldset_union(all, e->set));
	return all;
}

static cJSON *with_structures(const struct node *type, cJSON *take_set)
{
	cJSON *ret = typed_named(type, take_set);

	cJSON_Delete(take_set);
	return ret;
}

/*
 * Remove from `merged` the fields that this manager applied before and now omits, unless
 * another manager has them.
 */
static cJSON *prune(const struct node *type, const cJSON *merged,
		    const struct entries *es, const cJSON *last)
{
	cleanup_json cJSON *was = NULL, *all = NULL, *owned = NULL;
	cJSON *pruned = json_dup(merged);
	cJSON *kept, *gone;

	if (fieldset_is_empty(last))
		return pruned;
	was = typed_named(type, last);
	all = with_structures(type, typed_fields(type, merged));
	owned = with_structures(type, all_fields(es));
	typed_remove(type, pruned, was);
	kept = with_structures(type, typed_fields(type, pruned));
	replace(&kept, fieldset_union(kept, owned));
	gone = fieldset_difference(all, kept);
	cJSON_Delete(pruned);
	pruned = json_dup(merged);
	typed_remove(type, pruned, gone);
	cJSON_Delete(kept);
	kept = with_structures(type, typed_fields(type, pruned));
	replace(&gone, fieldset_difference(all, kept));
	replace(&gone, fieldset_intersection(gone, was));
	cJSON_Delete(pruned);
	pruned = json_dup(merged);
	typed_remove(type, pruned, gone);
	cJSON_Delete(kept);
	cJSON_Delete(gone);
	return pruned;
}

struct conflicts {
	cJSON *causes;
	const struct entry *entry;
	char who[MANAGER_NAME_MAX + 400];
	struct buf text;
	size_t n;
};

static void name_manager(struct conflicts *c, const struct entry *e)
{
	char sub[100] = "";

	if (*e->subresource)
		snprintf(sub, sizeof(sub), " with subresource \"%.60s\"", e->subresource);
	snprintf(c->who, sizeof(c->who), "\"%.128s\"%s%s%.200s", e->manager, sub,
		 e->apply ? "" : " using ", e->apply ? "" : e->api_version);
}

static void add_conflict(void *ctx, const char *path)
{
	struct conflicts *c = ctx;
	cJSON *cause = cJSON_CreateObject();
	char message[sizeof(c->who) + 32];

	snprintf(message, sizeof(message), "conflict with %s", c->who);
	json_put_str(cause, "FieldManagerConflict", "reason");
	json_put_str(cause, message, "message");
	json_put_str(cause, path, "field");
	cJSON_AddItemToArray(c->causes, cause);
	buf_printf(&c->text, "\n- %s", path);
	c->n++;
}

static int by_name(const void *a, const void *b)
{
	const struct entry *const *x = a, *const *y = b;

	return strcmp((*x)->manager, (*y)->manager);
}

/* Fields that kubectl may change without a conflict: those of its client-side apply. */
static cJSON *migrated(const struct manager_of *by, const cJSON *live)
{
	return str_eq(by->manager, KUBECTL_MANAGER) ? last_applied_fields(by->type, live)
						    : NULL;
}

/* ERR_CONFLICT: other managers have some of these fields. */
static int check_conflicts(const struct entries *es, const struct entry *own,
			   const cJSON *contested, cJSON **ret_causes, struct error *err)
{
	struct conflicts c = { .causes = cJSON_CreateArray(), .text = { .max = 65536 } };
	cleanup_free struct entry **sorted = xcalloc(es->n, sizeof(*sorted));

	for (size_t i = 0; i < es->n; i++)
		sorted[i] = &es->list[i];
	qsort(sorted, es->n, sizeof(*sorted), by_name);
	for (size_t i = 0; i < es->n; i++) {
		cleanup_json cJSON *theirs =
			fieldset_intersection(sorted[i]->set, contested);

		if (sorted[i] == own || fieldset_is_empty(theirs))
			continue;
		name_manager(&c, sorted[i]);
		buf_printf(&c.text, "%sconflicts with %s:", c.n ? "\n" : "", c.who);
		fieldset_each(theirs, add_conflict, &c);
	}
	if (!c.n) {
		cJSON_Delete(c.causes);
		return 0;
	}
	if (c.n == 1)
		error_set(err, ERR_CONFLICT,
			  "Apply failed with 1 conflict: conflict with %s: %s", c.who,
			  json_str(c.causes->child, "field"));
	else
		error_set(err, ERR_CONFLICT, "Apply failed with %zu conflicts: %.800s",
			  c.n, (const char *)c.text.data);
	buf_release(&c.text);
	*ret_causes = c.causes;
	return -1;
}

/* Attribute the fields of an object without managedFields to "before-first-apply". */
static void track_before(const struct manager_of *by, const cJSON *live,
			 struct entries *es)
{
	cleanup_typed_changes struct typed_changes c = { 0 };
	cleanup_json cJSON *blank = cJSON_CreateObject();
	struct manager_of before = *by;
	struct entry *e;

	if (es->n || !json_get(live, "metadata", "uid"))
		return;
	before.manager = BEFORE;
	before.subresource = "";
	e = make_entry(es, &before, false);
	compare(by, blank, live, &c);
	replace(&e->set, STEAL(c.added));
	set_time(e, by->now);
}

static struct entry *apply_entry(struct entries *es, const struct manager_of *by,
				 const cJSON *config, cJSON **ret_last)
{
	struct entry *own = make_entry(es, by, true);

	*ret_last = own->set;
	own->set = typed_fields(by->type, config);
	if (by->ignored)
		replace(&own->set, fieldset_without(own->set, by->ignored));
	free(own->api_version);
	own->api_version = xstrdup(by->api_version);
	return own;
}

int managers_apply(const struct manager_of *by, const cJSON *live, const cJSON *config,
		   cJSON **ret, cJSON **ret_causes, struct error *err)
{
	cleanup_entries struct entries es = { 0 };
	cleanup_typed_changes struct typed_changes c = { 0 };
	cleanup_json cJSON *before = bare(live);
	cleanup_json cJSON *merged = typed_merge(by->type, before, config);
	cleanup_json cJSON *allowed = migrated(by, before);
	cleanup_json cJSON *last = NULL;
	cleanup_json cJSON *changed = NULL, *contested = NULL;
	cleanup_json cJSON *obj = NULL;
	struct entry *own;

	read_entries(&es, json_get(live, "metadata", "managedFields"));
	track_before(by, before, &es);
	own = apply_entry(&es, by, config, &last);
	obj = prune(by->type, merged, &es, last);
	compare(by, before, obj, &c);
	changed = fieldset_union(c.added, c.modified);
	contested = fieldset_difference(changed, allowed);
	if (!by->force && check_conflicts(&es, own, contested, ret_causes, err))
		return -1;
	drop_fields(&es, changed, own);
	drop_fields(&es, c.removed, own);
	/* As an API server: set the time only of an entry that changed. */
	if (!fieldset_is_empty(changed) || !fieldset_is_empty(c.removed))
		set_time(own, by->now);
	finish(&es, obj);
	*ret = STEAL(obj);
	return 0;
}

/* ---- compare --------------------------------------------------------------------- */

static bool same_entries(const cJSON *a, const cJSON *b)
{
	const cJSON *x = a ? a->child : NULL, *y = b ? b->child : NULL;

	for (; x && y; x = x->next, y = y->next)
		if (!json_equal_but(x, y, JSON_PATH("time")))
			return false;
	return !x && !y && !a == !b;
}

bool managers_same(const cJSON *a, const cJSON *b)
{
	const cJSON *x = json_get(a, "metadata"), *y = json_get(b, "metadata");

	return json_equal_but(a, b, JSON_PATH("metadata")) && !x == !y &&
	       json_equal_but(x, y, JSON_PATH("resourceVersion", "managedFields")) &&
	       same_entries(json_get(x, "managedFields"), json_get(y, "managedFields"));
}
