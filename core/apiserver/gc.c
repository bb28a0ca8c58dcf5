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

/* Is the object removed once its dependents are? */
static bool waits_for_dependents(const cJSON *obj)
{
	return meta_is_deleted(obj) &&
	       (meta_is(obj, "", "Namespace") ||
		json_has_str(meta_finalizers(obj), FOREGROUND_FINALIZER));
}

/* Is the reference solid: the owner exists with its uid, and waits for no dependents? */
static bool is_solid(struct apiserver *s, const cJSON *ref, const char *ns)
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
	return obj && str_eq(meta_uid(obj), meta_owner_uid(ref)) &&
	       !waits_for_dependents(obj);
}

/*
 * Remove the object's references to that owner; uid NULL: all that are not solid. Retries
 * after a concurrent change. -1: not written.
 */
static int remove_references(struct apiserver *s, const char *key, const char *uid,
			     struct error *err)
{
	for (;;) {
		cleanup_stored struct stored *st = storage_get(s->storage, key);
		cleanup_json cJSON *obj = st ? stored_read(st) : NULL;
		cJSON *refs = json_get(obj, "metadata", "ownerReferences");
		cJSON *ref = refs ? refs->child : NULL, *next;
		int dropped = 0;

		for (; ref; ref = next) {
			next = ref->next;
			if (uid ? !str_eq(meta_owner_uid(ref), uid)
				: is_solid(s, ref, meta_namespace(obj)))
				continue;
			cJSON_Delete(cJSON_DetachItemViaPointer(refs, ref));
			dropped++;
		}
		if (!dropped)
			return 0;
		if (!refs->child)
			json_del(obj, JSON_PATH("metadata", "ownerReferences"));
		*err = (struct error){ 0 };
		if (!storage_put(s->storage, st->resource, key, st, obj, err))
			return 0;
		if (err->kind != ERR_CONFLICT)
			return -1;
	}
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

	json_put_str(options, meta_uid(obj), "preconditions", "uid");
	if (!meta_is_deleted(obj)) /* fails if another request has removed it */
		(void)!exchange_write(&by, "DELETE", path_of(&arena, st->resource, obj),
				      options, NULL, IGNORED);
}

/* Call `use` for the dependents, until it returns true; returns whether it did. */
static bool any_dependent(struct gc *w, const cJSON *owner,
			  bool (*use)(struct gc *w, const struct stored *st, cJSON *obj,
				      const char *uid))
{
	cleanup_stored_list struct stored_list all = { 0 };
	const char *uid = meta_uid(owner);

	storage_dependents(w->server->storage, uid, &all);
	for (size_t i = 0; i < all.n; i++) {
		cleanup_json cJSON *obj = stored_read(all.list[i]);

		if (use(w, all.list[i], obj, uid))
			return true;
	}
	return false;
}

/*
 * As attemptToDeleteItem(): delete the object if no reference is solid; if some are, remove
 * the others.
 */
static void collect(struct gc *w, const struct stored *st, const cJSON *obj)
{
	const cJSON *ref;
	int solid = 0, dangling = 0;

	json_each(ref, json_get(obj, "metadata", "ownerReferences"))
		++*(is_solid(w->server, ref, meta_namespace(obj)) ? &solid : &dangling);
	if (dangling && !solid)
		remove_object(w, st, obj);
	else if (dangling)
		(void)!remove_references(w->server, st->key, NULL, IGNORED);
}

static bool collect_one(struct gc *w, const struct stored *st, cJSON *obj,
			const char *uid)
{
	collect(w, st, obj);
	return false;
}

static void collect_namespace(struct gc *w, const char *ns)
{
	cleanup_stored_list struct stored_list all = { 0 };

	storage_list(w->server->storage, "", &all);
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

	arena_clear(&x.arena);
	if (gc_is_finished(ns) && !storage_has_namespaced(s->storage, name))
		(void)!storage_delete(s->storage, st, IGNORED);
}

static void collect_dependents(struct gc *w, const cJSON *gone)
{
	if (meta_is(gone, "", "Namespace")) {
		collect_namespace(w, meta_name(gone));
		gc_namespace_end(w->server, meta_name(gone));
	}
	if (meta_uid(gone))
		(void)any_dependent(w, gone, collect_one);
}

/* ---- the finalizers of deletion ------------------------------------------------------ */

static bool blocks(struct gc *w, const struct stored *st, cJSON *obj, const char *uid)
{
	const cJSON *ref =
		json_find_const(json_get(obj, "metadata", "ownerReferences"), "uid", uid);

	return json_bool(ref, false, "blockOwnerDeletion");
}

/* True: the reference could not be removed: its owner keeps the finalizer. */
static bool orphan_one(struct gc *w, const struct stored *st, cJSON *obj, const char *uid)
{
	return remove_references(w->server, st->key, uid, IGNORED) != 0;
}

static const struct {
	const char *name;
	bool (*holds)(struct gc *w, const struct stored *st, cJSON *obj, const char *uid);
} finalizers[] = { { ORPHAN_FINALIZER, orphan_one }, { FOREGROUND_FINALIZER, blocks } };

/* Remove the finalizer from that version of the object. ERR_CONFLICT: it has changed. */
static int drop_finalizer(struct gc *w, const cJSON *obj, const char *name,
			  struct error *err)
{
	const struct exchange by = { .server = w->server, .gc = w };
	const struct resource *r =
		resource_of_kind(meta_api_version(obj), meta_kind(obj));
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *patch = cJSON_CreateObject();
	const cJSON *f;

	json_put_str(patch, meta_version(obj), "metadata", "resourceVersion");
	json_list(patch, "metadata", "finalizers");
	json_each(f, meta_finalizers(obj))
		if (!str_eq(f->valuestring, name))
			cJSON_AddItemToArray(json_list(patch, "metadata", "finalizers"),
					     json_dup(f));
	return exchange_write(&by, "PATCH", path_of(&arena, r, obj), patch, NULL, err);
}

/* If the object is being deleted, do what these finalizers wait for; remove them. */
static void end_deletion(struct gc *w, const cJSON *obj)
{
	for (size_t i = 0; i < N_ELEMENTS(finalizers); i++)
		for (bool again = true; again;) {
			cleanup_json cJSON *now = apiserver_get(
				w->server, meta_api_version(obj), meta_kind(obj),
				meta_namespace(obj), meta_name(obj));
			struct error err = { 0 };

			again = str_eq(meta_uid(now), meta_uid(obj)) &&
				meta_is_deleted(now) &&
				json_has_str(meta_finalizers(now), finalizers[i].name) &&
				!any_dependent(w, now, finalizers[i].holds) &&
				drop_finalizer(w, now, finalizers[i].name, &err) &&
				!error_clear_if(&err, ERR_CONFLICT);
		}
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
		if (owner)
			end_deletion(w, owner);
	}
}

/* ---- new objects --------------------------------------------------------------------- */

/* The namespace may have been deleted while the object was created. */
static bool lacks_namespace(struct apiserver *s, const cJSON *obj)
{
	cleanup_json cJSON *ns = NULL;

	if (!meta_namespace(obj))
		return false;
	ns = apiserver_get(s, "v1", "Namespace", NULL, meta_namespace(obj));
	return !ns || meta_is_deleted(ns);
}

static void collect_orphan(struct gc *w, const cJSON *obj)
{
	const struct resource *r =
		resource_of_kind(meta_api_version(obj), meta_kind(obj));
	bool no_namespace = lacks_namespace(w->server, obj);
	struct exchange x = { .server = w->server };
	cleanup_stored struct stored *st = NULL;

	if (!no_namespace && !json_get(obj, "metadata", "ownerReferences"))
		return;
	st = storage_get(w->server->storage,
			 exchange_key(&x, r,
				      meta_namespace(obj) ? meta_namespace(obj) : "",
				      meta_name(obj)));
	arena_clear(&x.arena);
	if (st && no_namespace)
		remove_object(w, st, obj);
	else if (st)
		collect(w, st, obj);
}

/* ---- the queue of steps ------------------------------------------------------------- */

static const struct {
	enum gc_step what;
	void (*run)(struct gc *w, const cJSON *obj);
} steps[] = {
	{ GC_DEPENDENTS, collect_dependents },
	{ GC_OWNERS, collect_owners },
	{ GC_FINALIZERS, end_deletion },
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

	storage_list(s->storage, "", &all);
	for (size_t i = 0; i < all.n; i++) {
		const char *text = all.list[i]->text;
		cleanup_json cJSON *obj = NULL;

		if (!strstr(text, "\"ownerReferences\"") &&
		    !strstr(text, "\"deletionTimestamp\""))
			continue;
		obj = stored_read(all.list[i]);
		collect_orphan(&w, obj);
		if (waits_for_dependents(obj))
			collect_dependents(&w, obj);
		end_deletion(&w, obj);
		gc_run(&w);
	}
}
