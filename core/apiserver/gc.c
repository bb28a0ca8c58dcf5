/*
 * gc.c - garbage collection of dependents, owners and namespaces (apiserver/gc.h).
 *
 * Follows kube-controller-manager's garbage collector and namespace controller, but acts
 * within the request instead of later.
 */
#include "apiserver/gc.h"

#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"

/* A step to run, in the order of gc_add(). */
struct work {
	cJSON *obj;
	enum gc_step what;
	struct work *next;
};

struct gc {
	struct apiserver *server;
	struct work *first, **end;
};

static bool is_owned(const cJSON *obj, const char *uid)
{
	return uid &&
	       json_find_const(json_get(obj, "metadata", "ownerReferences"), "uid", uid);
}

/* Is the owner stored, with the uid of the reference? */
static bool owner_exists(struct apiserver *s, const cJSON *ref, const char *ns)
{
	const struct resource *r =
		resource_of_kind(json_str(ref, "apiVersion"), json_str(ref, "kind"));
	struct exchange x = { .server = s };
	cleanup_stored struct stored *found = NULL;
	cleanup_json cJSON *obj = NULL;

	if (!r || !meta_owner_name(ref))
		return true; /* the kind is not served here: assume so */
	found = storage_get(s->storage,
			    exchange_key(&x, r, ns ? ns : "", meta_owner_name(ref)));
	arena_clear(&x.arena);
	obj = found ? stored_read(found) : NULL;
	return obj && str_eq(meta_uid(obj), meta_owner_uid(ref));
}

static bool has_owner(struct apiserver *s, const cJSON *obj, const char *but_uid)
{
	const cJSON *ref;

	json_each(ref, json_get(obj, "metadata", "ownerReferences"))
		if (!str_eq(meta_owner_uid(ref), but_uid) &&
		    owner_exists(s, ref, meta_namespace(obj)))
			return true;
	return false;
}

static const char *path_of(struct arena *arena, const struct resource *r,
			   const cJSON *obj)
{
	const char *ns = meta_namespace(obj);
	const char *root = strchr(r->api_version, '/') ? "apis" : "api";

	if (!resource_is(r, RESOURCE_NAMESPACED))
		return arena_printf(arena, "/%s/%s/%s/%s", root, r->api_version,
				    r->plural, meta_name(obj));
	return arena_printf(arena, "/%s/%s/namespaces/%s/%s/%s", root, r->api_version,
			    ns ? ns : "", r->plural, meta_name(obj));
}

static void remove_object(struct gc *w, const struct stored *st, const cJSON *obj)
{
	const struct exchange by = { .server = w->server, .gc = w };
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *options = cJSON_CreateObject();
	struct error ignored = { 0 };

	json_put_str(options, "DeleteOptions", "kind");
	json_put_str(options, "v1", "apiVersion");
	json_put_str(options, meta_uid(obj), "preconditions", "uid");
	if (!meta_is_deleted(obj) &&
	    exchange_write(&by, "DELETE", path_of(&arena, st->resource, obj), options,
			   NULL, &ignored))
		error_clear_if(&ignored, ignored.kind); /* somebody was quicker */
}

/*
 * Call `use` for the objects whose text contains the owner's uid, until it returns true;
 * returns whether it did.
 */
static bool any_object(struct gc *w, const cJSON *owner,
		       bool (*use)(struct gc *w, const struct stored *st, cJSON *obj,
				   const char *uid))
{
	cleanup_stored_list struct stored_list all = { 0 };
	const char *uid = meta_uid(owner);
	size_t remaining;

	storage_list(w->server->storage, "", NULL, 0, &all, &remaining);
	for (size_t i = 0; i < all.n; i++) {
		cleanup_json cJSON *obj = NULL;

		if (!strstr(all.list[i]->text, uid))
			continue;
		obj = stored_read(all.list[i]);
		if (use(w, all.list[i], obj, uid))
			return true;
	}
	return false;
}

static bool collect_one(struct gc *w, const struct stored *st, cJSON *obj,
			const char *uid)
{
	if (is_owned(obj, uid) && !has_owner(w->server, obj, uid))
		remove_object(w, st, obj);
	return false;
}

static void collect_namespace(struct gc *w, const char *ns)
{
	cleanup_stored_list struct stored_list all = { 0 };
	size_t remaining;

	storage_list(w->server->storage, "", NULL, 0, &all, &remaining);
	for (size_t i = 0; i < all.n; i++) {
		cleanup_json cJSON *obj = stored_read(all.list[i]);

		if (str_eq(meta_namespace(obj), ns))
			remove_object(w, all.list[i], obj);
	}
}

bool gc_is_finished(const cJSON *obj)
{
	const cJSON *finalizers = meta_finalizers(obj);

	return meta_is_deleted(obj) && (!finalizers || !finalizers->child);
}

void gc_namespace_end(struct apiserver *s, const char *name)
{
	struct exchange x = { .server = s };
	const char *key = exchange_key(&x, resource_find("v1", "namespaces"), "", name);
	cleanup_stored struct stored *st = storage_get(s->storage, key);
	cleanup_json cJSON *ns = st ? stored_read(st) : NULL;
	struct error ignored = { 0 };

	arena_clear(&x.arena);
	if (!gc_is_finished(ns) || storage_has_namespaced(s->storage, name))
		return;
	if (storage_delete(s->storage, st, NULL, &ignored))
		error_clear_if(&ignored, ignored.kind); /* somebody was quicker */
}

static void collect_dependents(struct gc *w, const cJSON *gone)
{
	if (meta_is(gone, "", "Namespace")) {
		collect_namespace(w, meta_name(gone));
		gc_namespace_end(w->server, meta_name(gone));
	}
	if (meta_uid(gone))
		(void)any_object(w, gone, collect_one);
}

/* ---- foreground deletion ------------------------------------------------------------ */

static bool waits(const cJSON *obj)
{
	return meta_is_deleted(obj) &&
	       json_has_str(meta_finalizers(obj), FOREGROUND_FINALIZER);
}

static bool is_dependent(struct gc *w, const struct stored *st, cJSON *obj,
			 const char *uid)
{
	return is_owned(obj, uid);
}

static void collect_waiting(struct gc *w, const cJSON *obj)
{
	const struct exchange by = { .server = w->server, .gc = w };
	const struct resource *r =
		resource_of_kind(meta_api_version(obj), meta_kind(obj));
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *patch = cJSON_CreateObject();
	struct error ignored = { 0 };
	const cJSON *f;

	if (!r || !waits(obj) || any_object(w, obj, is_dependent))
		return;
	json_put_str(patch, meta_uid(obj), "metadata", "uid");
	json_list(patch, "metadata", "finalizers");
	json_each(f, meta_finalizers(obj))
		if (!str_eq(f->valuestring, FOREGROUND_FINALIZER))
			cJSON_AddItemToArray(json_list(patch, "metadata", "finalizers"),
					     json_dup(f));
	if (exchange_write(&by, "PATCH", path_of(&arena, r, obj), patch, NULL, &ignored))
		error_clear_if(&ignored, ignored.kind); /* somebody was quicker */
}

static void collect_owners(struct gc *w, const cJSON *gone)
{
	const cJSON *ref;

	if (meta_namespace(gone))
		gc_namespace_end(w->server, meta_namespace(gone));
	json_each(ref, json_get(gone, "metadata", "ownerReferences")) {
		const char *version = json_str(ref, "apiVersion");
		const char *kind = json_str(ref, "kind");
		cleanup_json cJSON *owner = NULL;

		if (resource_of_kind(version, kind))
			owner = apiserver_get(w->server, version, kind,
					      meta_namespace(gone), meta_owner_name(ref));
		collect_waiting(w, owner);
	}
}

static bool release_one(struct gc *w, const struct stored *st, cJSON *obj,
			const char *uid)
{
	cJSON *refs = json_get(obj, "metadata", "ownerReferences");
	cJSON *ref = json_find(refs, "uid", uid);
	struct error ignored = { 0 };

	if (!ref)
		return false;
	cJSON_Delete(cJSON_DetachItemViaPointer(refs, ref));
	if (!refs->child)
		json_del(obj, JSON_PATH("metadata", "ownerReferences"));
	if (storage_put(w->server->storage, st->resource, st->key, st, obj, &ignored))
		error_clear_if(&ignored, ignored.kind);
	return false;
}

void gc_orphan_dependents(struct apiserver *s, const cJSON *owner)
{
	struct gc w = { .server = s };

	if (meta_uid(owner))
		(void)any_object(&w, owner, release_one);
}

static void collect_orphan(struct gc *w, const cJSON *obj)
{
	const struct resource *r =
		resource_of_kind(meta_api_version(obj), meta_kind(obj));
	const cJSON *refs = json_get(obj, "metadata", "ownerReferences");
	struct exchange x = { .server = w->server };
	cleanup_stored struct stored *st = NULL;

	if (!refs || !refs->child || has_owner(w->server, obj, ""))
		return;
	st = storage_get(w->server->storage,
			 exchange_key(&x, r,
				      meta_namespace(obj) ? meta_namespace(obj) : "",
				      meta_name(obj)));
	arena_clear(&x.arena);
	if (st)
		remove_object(w, st, obj);
}

/* ---- the queue of steps ------------------------------------------------------------- */

static const struct {
	enum gc_step what;
	void (*run)(struct gc *w, const cJSON *obj);
} steps[] = {
	{ GC_DEPENDENTS, collect_dependents },
	{ GC_OWNERS, collect_owners },
	{ GC_FOREGROUND, collect_waiting },
	{ GC_ORPHANS, collect_orphan },
};
enum { STEPS = N_ELEMENTS(steps) };

static void gc_add(struct gc *w, const cJSON *obj, unsigned what)
{
	for (size_t i = 0; i < STEPS; i++) {
		struct work *one;

		if (!(what & steps[i].what))
			continue;
		one = xcalloc(1, sizeof(*one));
		one->obj = json_dup(obj);
		one->what = steps[i].what;
		*w->end = one;
		w->end = &one->next;
	}
}

static void gc_run(struct gc *w)
{
	while (w->first) {
		struct work *one = w->first;

		w->first = one->next;
		if (!w->first)
			w->end = &w->first;
		for (size_t i = 0; i < STEPS; i++)
			if (one->what == steps[i].what)
				steps[i].run(w, one->obj);
		cJSON_Delete(one->obj);
		free(one);
	}
}

void gc_collect(struct exchange *x, const cJSON *obj, unsigned what)
{
	struct gc own = { .server = x->server, .end = &own.first };

	gc_add(x->gc ? x->gc : &own, obj, what);
	gc_run(&own);
}

void gc_resume(struct apiserver *s)
{
	cleanup_stored_list struct stored_list all = { 0 };
	struct gc w = { .server = s, .end = &w.first };
	size_t remaining;

	storage_list(s->storage, "", NULL, 0, &all, &remaining);
	for (size_t i = 0; i < all.n; i++) {
		const char *text = all.list[i]->text;
		cleanup_json cJSON *obj = NULL;

		if (!strstr(text, "\"ownerReferences\"") &&
		    !strstr(text, "\"deletionTimestamp\""))
			continue;
		obj = stored_read(all.list[i]);
		collect_orphan(&w, obj);
		if (meta_is(obj, "", "Namespace") && meta_is_deleted(obj))
			collect_dependents(&w, obj);
		gc_run(&w);
	}
}
