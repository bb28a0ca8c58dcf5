/*
 * delete.c - deletes objects, with preconditions and propagation (apiserver/exchange.h).
 */
#include <string.h>

#include "api/meta.h"
#include "apiserver/exchange.h"
#include "apiserver/gc.h"
#include "base/cleanup.h"
#include "base/str.h"

enum { TRIES = 5 };

struct options {
	const char *propagation; /* "" for the default */
	const char *uid, *version;
};

static int bad_propagation(struct exchange *x, const char *policy)
{
	cleanup_json cJSON *value = cJSON_CreateString(policy);

	return exchange_bad_option(x, FIELD_NOT_SUPPORTED, "propagationPolicy", value,
				   "supported values: \"Foreground\", \"Background\", "
				   "\"Orphan\", \"nil\"");
}

static int both_ways(struct exchange *x, const char *policy)
{
	cleanup_json cJSON *value = cJSON_CreateString(policy);

	return exchange_bad_option(
		x, FIELD_INVALID, "propagationPolicy", value,
		"orphanDependents and deletionPropagation cannot be both set");
}

/* A dryRun of the wrong type must not be ignored: the object would be deleted. */
static int check_types(struct exchange *x)
{
	static const struct {
		const char *key;
		int type;
	} keys[] = { { "dryRun", cJSON_Array },
		     { "gracePeriodSeconds", cJSON_Number },
		     { "propagationPolicy", cJSON_String },
		     { "preconditions", cJSON_Object } };
	const cJSON *orphan = json_get((const cJSON *)x->body, "orphanDependents");

	for (size_t i = 0; i < N_ELEMENTS(keys); i++) {
		const cJSON *value = json_get((const cJSON *)x->body, keys[i].key);

		if (value && !cJSON_IsNull(value) && (value->type & 0xff) != keys[i].type)
			return exchange_refuse(x, 400, "BadRequest",
					       "DeleteOptions: %s: wrong type",
					       keys[i].key);
	}
	if (orphan && !cJSON_IsNull(orphan) && !cJSON_IsBool(orphan))
		return exchange_refuse(x, 400, "BadRequest",
				       "DeleteOptions: orphanDependents: wrong type");
	return 0;
}

static int check_body(struct exchange *x)
{
	const char *kind = meta_kind(x->body), *grace;
	const cJSON *dry = json_get((const cJSON *)x->body, "dryRun"), *word;
	struct error err = { 0 };
	int64_t seconds;

	if (x->body && (!cJSON_IsObject(x->body) ||
			(kind && *kind && !str_eq(kind, "DeleteOptions"))))
		return exchange_refuse(x, 400, "BadRequest",
				       "the body is not a DeleteOptions object");
	if (check_types(x))
		return -1;
	json_each(word, dry)
		if (!str_eq(cJSON_GetStringValue(word), "All"))
			return exchange_bad_option(x, FIELD_NOT_SUPPORTED, "dryRun", dry,
						   "supported values: \"All\"");
	grace = exchange_query(x, "gracePeriodSeconds");
	if (*grace && str_int(&seconds, grace, INT64_MIN, INT64_MAX, &err))
		return exchange_refuse(x, 400, "BadRequest", "gracePeriodSeconds: %s",
				       err.msg);
	return 0;
}

static int read_options(struct exchange *x, struct options *ret)
{
	const char *body, *query = exchange_query(x, "propagationPolicy");
	bool orphan;

	*ret = (struct options){ .propagation = query };
	if ((x->http->body_len || x->http->doc) && !x->body &&
	    body_object(x, "DeleteOptions", proto_delete_options))
		return -1;
	if (check_body(x))
		return -1;
	body = json_str(x->body, "propagationPolicy");
	orphan = json_bool(x->body, false, "orphanDependents") ||
		 exchange_flag(x, "orphanDependents");
	if (orphan && (body || *query))
		return both_ways(x, body ? body : query);
	if (body)
		ret->propagation = body;
	else if (orphan)
		ret->propagation = "Orphan";
	ret->uid = json_str(x->body, "preconditions", "uid");
	ret->version = json_str(x->body, "preconditions", "resourceVersion");
	x->dry_run |= cJSON_GetArraySize(json_get(x->body, "dryRun")) > 0;
	if (*ret->propagation &&
	    !str_in(ret->propagation,
		    (const char *const[]){ "Background", "Foreground", "Orphan", NULL }))
		return bad_propagation(x, ret->propagation);
	return 0;
}

static int precondition(struct exchange *x, const char *what, const char *wanted,
			const char *found, const char *happened)
{
	const char *group = resource_group(&x->arena, x->resource);
	cJSON *details = cJSON_CreateObject();

	json_put_str(details, x->name, "name");
	if (*group)
		json_put_str(details, group, "group");
	json_put_str(details, x->resource->kind, "kind");
	return exchange_refuse_details(
		x, 409, "Conflict", details,
		arena_printf(
			&x->arena,
			"Operation cannot be fulfilled on %s \"%s\": the %s in the "
			"precondition (%s) does not match the %s in record (%s). The "
			"object might have been %s",
			resource_kind_title(&x->arena, x->resource), x->name, what,
			wanted, what, found, happened));
}

static int check_preconditions(struct exchange *x, const struct options *o,
			       const cJSON *obj)
{
	if (o->uid && !str_eq(o->uid, meta_uid(obj)))
		return precondition(x, "UID", o->uid, meta_uid(obj),
				    "deleted and then recreated");
	if (o->version && !str_eq(o->version, meta_version(obj)))
		return precondition(x, "ResourceVersion", o->version, meta_version(obj),
				    "modified");
	return 0;
}

static void set_finalizer(cJSON *obj, const char *finalizer, bool wanted)
{
	cJSON *list = json_list(obj, "metadata", "finalizers"), *f, *next;

	for (f = list->child; f; f = next) {
		next = f->next;
		if (str_eq(f->valuestring, finalizer))
			cJSON_Delete(cJSON_DetachItemViaPointer(list, f));
	}
	if (wanted)
		cJSON_AddItemToArray(list, cJSON_CreateString(finalizer));
	if (!list->child)
		json_del(obj, JSON_PATH("metadata", "finalizers"));
}

/*
 * Without a policy, the object's own finalizers count, as in shouldDeleteDependents() and
 * shouldOrphanDependents().
 */
static void set_policy(cJSON *obj, const char *policy)
{
	if (!*policy)
		return;
	set_finalizer(obj, FOREGROUND_FINALIZER, str_eq(policy, "Foreground"));
	set_finalizer(obj, ORPHAN_FINALIZER, str_eq(policy, "Orphan"));
}

/* An object with finalizers only gets a deletionTimestamp. */
static int mark(struct exchange *x, const struct stored *before, cJSON *obj,
		struct error *err)
{
	if (!meta_is_deleted(obj)) {
		json_put_str(obj, x->now, "metadata", "deletionTimestamp");
		json_put_int(obj, 0, "metadata", "deletionGracePeriodSeconds");
		if (resource_is(x->resource, RESOURCE_CUSTOM))
			json_put_int(obj, meta_generation(obj) + 1, "metadata",
				     "generation");
	}
	if (x->dry_run)
		return 0;
	return storage_put(x->server->storage, x->resource, before->key, before, obj,
			   err);
}

/* As the admission plugin NamespaceLifecycle: these namespaces cannot be deleted. */
static int check_mortal(struct exchange *x)
{
	static const char *const stay[] = { "default", "kube-system", "kube-public",
					    NULL };

	if (!str_eq(x->resource->kind, "Namespace") || !str_in(x->name, stay))
		return 0;
	return exchange_refuse_object(
		x, 403, "Forbidden",
		arena_printf(&x->arena,
			     "namespaces \"%s\" is forbidden: this namespace may not be "
			     "deleted",
			     x->name));
}

static int run_remove_hook(struct exchange *x, const cJSON *obj)
{
	const struct apiserver_conf *conf = &x->server->conf;
	struct error err = { 0 };

	if (!conf->remove || x->dry_run || !conf->remove(conf->ctx, obj, &err))
		return 0;
	return exchange_refuse(x, 500, "InternalError", "%s", err.msg);
}

static int remove_stored(struct exchange *x, const struct stored *before,
			 struct error *err)
{
	return x->dry_run ? 0 : storage_delete(x->server->storage, before, err);
}

/*
 * Mark a namespace as terminating: no object can be created in it, and it is removed with
 * its last object. Returns as delete_stored().
 */
static int terminate(struct exchange *x, const struct stored *before, cJSON *obj)
{
	struct error err = { 0 };
	int rc;

	if (meta_is_deleted(obj))
		return 0;
	json_put_str(obj, x->now, "metadata", "deletionTimestamp");
	json_put_str(obj, "Terminating", "status", "phase");
	if (x->dry_run)
		return 0;
	rc = storage_put(x->server->storage, x->resource, before->key, before, obj, &err);
	if (rc)
		return err.kind == ERR_CONFLICT ? 1 : exchange_error(x, &err);
	gc_collect(x, obj, GC_DEPENDENTS);
	return 0;
}

/*
 * One attempt; obj becomes the answer. 0: done, *ret_gone: removed, not only marked; 1: a
 * concurrent write was first; -1: refused and answered.
 */
static int delete_stored(struct exchange *x, const struct stored *before, cJSON *obj,
			 const struct options *o, bool *ret_gone)
{
	const cJSON *finalizers;
	struct error err = { 0 };
	int rc;

	*ret_gone = false;
	if (check_mortal(x) || run_remove_hook(x, obj))
		return -1;
	if (meta_is(obj, "", "Namespace"))
		return terminate(x, before, obj);
	set_policy(obj, o->propagation);
	finalizers = meta_finalizers(obj);
	*ret_gone = !finalizers || !finalizers->child;
	rc = *ret_gone ? remove_stored(x, before, &err) : mark(x, before, obj, &err);
	if (rc && err.kind == ERR_CONFLICT)
		return 1;
	if (rc)
		return exchange_error(x, &err);
	if (!x->dry_run)
		gc_collect(x, obj,
			   GC_DEPENDENTS | (*ret_gone ? GC_OWNERS : GC_FINALIZERS));
	return 0;
}

static void answer_deleted(struct exchange *x, const cJSON *obj, bool gone)
{
	cJSON *status, *details;

	if (!gone) {
		exchange_answer(x, 200, json_dup(obj));
		return;
	}
	status = exchange_status(200, NULL, NULL);
	json_del(status, JSON_PATH("code"));
	details = json_obj(status, "details");
	json_put_str(details, meta_name(obj), "name");
	if (*resource_group(&x->arena, x->resource))
		json_put_str(details, resource_group(&x->arena, x->resource), "group");
	json_put_str(details, x->resource->plural, "kind");
	json_put_str(details, meta_uid(obj), "uid");
	exchange_answer(x, 200, status);
}

static int busy(struct exchange *x)
{
	return exchange_conflict(x, "the object has been modified; please try again");
}

void delete_one(struct exchange *x)
{
	const char *key = exchange_key(x, x->resource, x->ns, x->name);
	cleanup_json cJSON *ended = NULL; /* the object whose run has been removed */
	struct options o;
	int rc = 1;

	if (read_options(x, &o))
		return;
	for (int i = 0; rc == 1 && i < TRIES; i++) {
		cleanup_stored struct stored *before =
			storage_get(x->server->storage, key);
		cleanup_json cJSON *obj = before ? stored_read(before) : NULL;
		bool gone;

		if (!before && ended)
			answer_deleted(x, ended, true);
		else if (!before)
			exchange_not_found(x);
		if (!before || check_preconditions(x, &o, obj))
			return;
		rc = delete_stored(x, before, obj, &o, &gone);
		if (!rc)
			answer_deleted(x, obj, gone);
		if (rc == 1 && x->server->conf.remove && !ended)
			ended = STEAL(obj);
	}
	if (rc == 1)
		(void)busy(x);
}

/*
 * Delete an object of a collection, even if it changes meanwhile. *ret: as last stored;
 * NULL: it no longer exists or does not match. -1: answered.
 */
static int delete_listed(struct exchange *x, const struct stored *listed,
			 const struct options *o, const struct selection *meant,
			 cJSON **ret)
{
	int rc = 1;

	for (int i = 0; rc == 1 && i < TRIES; i++) {
		cleanup_stored struct stored *before =
			storage_get(x->server->storage, listed->key);
		cleanup_json cJSON *obj = before ? stored_read(before) : NULL;
		bool gone;

		if (!obj || !selection_matches(meant, obj))
			return 0;
		x->name = arena_strdup(&x->arena, meta_name(obj));
		if (check_preconditions(x, o, obj))
			return -1;
		rc = delete_stored(x, before, obj, o, &gone);
		if (rc < 0)
			return -1;
		cJSON_Delete(*ret);
		*ret = STEAL(obj);
	}
	return rc ? busy(x) : 0;
}

void delete_collection(struct exchange *x)
{
	cleanup_stored_list struct stored_list found = { 0 };
	cleanup_json cJSON *list = cJSON_CreateObject();
	struct selection selection;
	struct options o;
	enum form form;

	if (read_options(x, &o) || selection_read(x, &selection) || form_read(x, &form))
		return;
	storage_list(x->server->storage, exchange_prefix(x), &found);
	json_put_str(list, arena_printf(&x->arena, "%sList", x->resource->kind), "kind");
	json_put_str(list, x->resource->api_version, "apiVersion");
	json_put_str(list, arena_printf(&x->arena, "%lld", (long long)found.version),
		     "metadata", "resourceVersion");
	if (resource_is(x->resource, RESOURCE_CUSTOM))
		json_put_str(list, "", "metadata", "continue");
	json_list(list, "items");
	for (size_t i = 0; i < found.n; i++) {
		cleanup_json cJSON *obj = NULL;

		if (delete_listed(x, found.list[i], &o, &selection, &obj))
			return;
		if (!obj)
			continue;
		if (form == FORM_WHOLE && !resource_is(x->resource, RESOURCE_CUSTOM)) {
			json_del(obj, JSON_PATH("kind"));
			json_del(obj, JSON_PATH("apiVersion"));
		}
		cJSON_AddItemToArray(json_list(list, "items"), STEAL(obj));
	}
	exchange_answer(x, 200, form_list(x, form, STEAL(list)));
}
