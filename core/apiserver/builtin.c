/* builtin.c - reads and writes of this process, such as pods (apiserver/apiserver.h). */
#include <errno.h>
#include <string.h>

#include "api/meta.h"
#include "apiserver/gc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "trainer/api.h"

enum { TRIES = 5 };

static struct stored *find(struct apiserver *s, const struct resource *r, const char *ns,
			   const char *name)
{
	struct exchange x = { .server = s };
	struct stored *found =
		storage_get(s->storage, exchange_key(&x, r, ns ? ns : "", name));

	arena_clear(&x.arena);
	return found;
}

cJSON *apiserver_get(struct apiserver *s, const char *api_version, const char *kind,
		     const char *ns, const char *name)
{
	cleanup_stored struct stored *found =
		find(s, resource_of_kind(api_version, kind), ns, name);

	return found ? stored_read(found) : NULL;
}

cJSON *apiserver_list(struct apiserver *s, const char *api_version, const char *kind,
		      const char *ns)
{
	struct exchange x = { .server = s,
			      .resource = resource_of_kind(api_version, kind),
			      .ns = ns ? ns : "" };
	cleanup_stored_list struct stored_list found = { 0 };
	cJSON *list = cJSON_CreateArray();

	storage_list(s->storage, exchange_prefix(&x), &found);
	arena_clear(&x.arena);
	for (size_t i = 0; i < found.n; i++)
		cJSON_AddItemToArray(list, stored_read(found.list[i]));
	return list;
}

static bool is_stored(const struct stored *before, const cJSON *obj)
{
	cleanup_json cJSON *old = before ? stored_read(before) : NULL;

	if (!old)
		return false;
	json_del(old, JSON_PATH("metadata", "resourceVersion"));
	return json_equal(old, obj);
}

/* Does the object belong to that run (NULL: any run)? */
static bool is_of_run(const struct stored *stored, const char *run)
{
	cleanup_json cJSON *obj = stored_read(stored);
	const char *found = meta_annotation(obj, LOCAL_RUN_ANNOTATION);

	return run ? str_eq(found, run) : found != NULL;
}

/* `runs`: replace only objects of runs. 0: no change; 1: stored. */
static int store_once(struct apiserver *s, const struct resource *r, const cJSON *obj,
		      bool runs, struct error *err)
{
	struct exchange x = { .server = s };
	const char *ns = meta_namespace(obj) ? meta_namespace(obj) : "";
	cleanup_stored struct stored *before = find(s, r, ns, meta_name(obj));
	cleanup_json cJSON *copy = NULL;
	int rc;

	if (is_stored(before, obj))
		return 0;
	if (before && runs && !is_of_run(before, NULL)) {
		arena_clear(&x.arena);
		error_set(err, ERR_EXISTS, "%s %s exists", r->kind, meta_name(obj));
		err->code = EEXIST;
		return -1;
	}
	copy = json_dup(obj);
	rc = storage_put(s->storage, r, exchange_key(&x, r, ns, meta_name(obj)), before,
			 copy, err);
	arena_clear(&x.arena);
	return rc ? -1 : 1;
}

static int put(struct apiserver *s, const cJSON *obj, bool runs, struct error *err)
{
	const struct resource *r =
		resource_of_kind(meta_api_version(obj), meta_kind(obj));
	int rc = -1;

	if (!r || !meta_name(obj))
		return error_set(err, ERR_INVALID, "not an object of this API");
	if (resource_is(r, RESOURCE_NAMESPACED)) {
		cleanup_json cJSON *ns =
			apiserver_get(s, "v1", "Namespace", NULL, meta_namespace(obj));

		if (!ns || meta_is_deleted(ns))
			return error_set(err, ERR_NOT_FOUND, "namespace %s not found",
					 meta_namespace(obj));
	}
	for (int i = 0; rc < 0 && i < TRIES; i++) {
		*err = (struct error){ 0 };
		rc = store_once(s, r, obj, runs, err);
		if (rc < 0 && err->kind != ERR_CONFLICT &&
		    (err->kind != ERR_EXISTS || err->code == EEXIST))
			return -1;
	}
	return rc;
}

int apiserver_store(struct apiserver *s, const cJSON *obj, struct error *err)
{
	return put(s, obj, false, err);
}

int apiserver_mirror(struct apiserver *s, const cJSON *obj, struct error *err)
{
	return put(s, obj, true, err);
}

/* ERR_CONFLICT: the object was changed meanwhile. */
static int remove_once(struct apiserver *s, const struct stored *found, const char *ns,
		       struct error *err)
{
	if (storage_delete(s->storage, found, err))
		return -1;
	if (ns)
		gc_namespace_end(s, ns);
	return 0;
}

void apiserver_unmirror(struct apiserver *s, const char *api_version, const char *kind,
			const char *ns, const char *name, const char *run)
{
	const struct resource *r = resource_of_kind(api_version, kind);

	for (int i = 0; i < TRIES; i++) {
		cleanup_stored struct stored *found = find(s, r, ns, name);
		struct error err = { 0 };

		if (!found || !is_of_run(found, run) ||
		    !remove_once(s, found, ns, &err) || err.kind != ERR_CONFLICT)
			return;
	}
}

void apiserver_drop(struct apiserver *s, const char *api_version, const char *kind,
		    const char *ns, const char *name, const char *uid)
{
	const struct resource *r = resource_of_kind(api_version, kind);

	for (int i = 0; i < TRIES; i++) {
		cleanup_stored struct stored *found = find(s, r, ns, name);
		cleanup_json cJSON *obj = found ? stored_read(found) : NULL;
		struct error err = { 0 };

		if (!obj || (uid && !str_eq(uid, meta_uid(obj))) ||
		    !remove_once(s, found, ns, &err) || err.kind != ERR_CONFLICT)
			return;
	}
}

int apiserver_next(struct apiserver *s, const char *kind, int64_t *version,
		   int64_t deadline, char **ret_key, struct error *err)
{
	if (!*version)
		*version = storage_version(s->storage);
	for (;;) {
		struct storage_change c = { 0 };
		int rc = storage_next(s->storage, *version, deadline, &c, err);
		const struct stored *some;

		if (rc < 0 && err->kind == ERR_EXPIRED)
			*version = storage_version(s->storage);
		if (rc <= 0)
			return rc;
		*version = c.version;
		some = c.now ? c.now : c.before;
		if (str_eq(some->resource->kind, kind))
			*ret_key = xstrdup(strchr(some->key, '/') + 1);
		else
			rc = 0;
		storage_change_release(&c);
		if (rc)
			return 1;
	}
}
