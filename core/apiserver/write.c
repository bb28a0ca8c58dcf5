/* write.c - creates, updates and patches objects (apiserver/exchange.h). */
#include <string.h>

#include "api/jsonpatch.h"
#include "api/last_applied.h"
#include "api/meta.h"
#include "api/patch.h"
#include "apiserver/exchange.h"
#include "apiserver/gc.h"
#include "apiserver/prepare.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/str.h"
#include "trainer/shape.h"

enum { TRIES = 5 };

static int read_object(struct exchange *x)
{
	return body_object(x, x->resource->kind, x->resource->proto);
}

/* ---- storing ----------------------------------------------------------------------- */

static void no_namespace(struct exchange *x)
{
	exchange_refuse_details(
		x, 404, "NotFound", exchange_details(x->ns, "", "namespaces"),
		arena_printf(&x->arena, "namespaces \"%s\" not found", x->ns));
}

/* Admission runs before a name is generated: it prints generateName or "Unknown". */
static const char *name_in_forbidden(const cJSON *obj)
{
	const char *generated = json_str(obj, "metadata", "generateName");

	if (meta_name(obj) && *meta_name(obj))
		return meta_name(obj);
	return generated && *generated ? generated : "Unknown";
}

static void terminating(struct exchange *x, const cJSON *obj)
{
	const char *name = name_in_forbidden(obj);
	cJSON *cause = cJSON_CreateObject();
	cJSON *details = exchange_details(name, resource_group(&x->arena, x->resource),
					  x->resource->plural);

	json_put_str(cause, "NamespaceTerminating", "reason");
	json_put_str(cause,
		     arena_printf(&x->arena, "namespace %s is being terminated", x->ns),
		     "message");
	json_put_str(cause, "metadata.namespace", "field");
	cJSON_AddItemToArray(json_list(details, "causes"), cause);
	exchange_refuse_details(
		x, 403, "Forbidden", details,
		arena_printf(&x->arena,
			     "%s \"%s\" is forbidden: unable to create new content in "
			     "namespace %s because it is being terminated",
			     resource_title(&x->arena, x->resource), name, x->ns));
}

static bool is_terminating(struct exchange *x, const cJSON *obj)
{
	cleanup_stored struct stored *ns = storage_get(
		x->server->storage,
		exchange_key(x, resource_find("v1", "namespaces"), "", x->ns));
	cleanup_json cJSON *doc = ns ? stored_read(ns) : NULL;

	if (doc && !meta_is_deleted(doc))
		return false;
	if (doc)
		terminating(x, obj);
	else
		no_namespace(x);
	return true;
}

static int run_write_hook(struct exchange *x, const cJSON *old, const cJSON *obj)
{
	const struct apiserver_conf *conf = &x->server->conf;
	struct error err = { 0 };

	if (!conf->write || x->dry_run || !conf->write(conf->ctx, old, obj, &err))
		return 0;
	return exchange_refuse(x, exchange_code(&err),
			       exchange_code(&err) == 500 ? "InternalError" : "Invalid",
			       "%s", err.msg);
}

static int store_new(struct exchange *x, cJSON *obj, struct error *err)
{
	const char *key = exchange_key(x, x->resource, x->ns, x->name);
	cleanup_stored struct stored *old = NULL;

	if (!x->dry_run)
		return storage_put(x->server->storage, x->resource, key, NULL, obj, err);
	old = storage_get(x->server->storage, key);
	return old ? error_set(err, ERR_EXISTS, "%s", key) : 0;
}

static void refuse_existing(struct exchange *x)
{
	cleanup_stored struct stored *old = storage_get(
		x->server->storage, exchange_key(x, x->resource, x->ns, x->name));
	cleanup_json cJSON *doc = old ? stored_read(old) : NULL;

	exchange_refuse_object(
		x, 409, "AlreadyExists",
		arena_printf(&x->arena, "%s%s \"%s\" already exists",
			     meta_is_deleted(doc) ? "object is being deleted: " : "",
			     resource_title(&x->arena, x->resource), x->name));
}

/* True, if `retry`: a concurrent write was first, by `kind`; no answer. */
static bool must_retry(struct exchange *x, const struct error *err, enum error_kind kind,
		       bool retry)
{
	if (retry && err->kind == kind)
		return true;
	if (err->kind == ERR_EXISTS)
		refuse_existing(x);
	else
		exchange_error(x, err);
	return false;
}

/*
 * Store a new object, and answer. `applied`: managedFields are already set. True, if
 * `retry`: a concurrent write has created it; no answer.
 */
static bool create(struct exchange *x, cJSON *obj, bool applied, bool retry)
{
	struct error err = { 0 };
	enum form form;

	if (form_read(x, &form) ||
	    (resource_is(x->resource, RESOURCE_NAMESPACED) && is_terminating(x, obj)) ||
	    prepare_new(x, obj))
		return false;
	x->name = meta_name(obj) ? arena_strdup(&x->arena, meta_name(obj)) : "";
	if (!applied)
		prepare_managers(x, NULL, obj);
	prepare_owned(obj);
	if (prepare_admission(x, NULL, obj) || run_write_hook(x, NULL, obj))
		return false;
	if (store_new(x, obj, &err))
		return must_retry(x, &err, ERR_EXISTS, retry);
	if (!x->dry_run)
		gc_collect(x, obj, GC_ORPHANS);
	exchange_answer(x, 201, form_object(x, form, json_dup(obj), true));
	return false;
}

static void answer_object(struct exchange *x, int code, const cJSON *obj)
{
	enum form form;

	if (!form_read(x, &form))
		exchange_answer(x, code, form_object(x, form, json_dup(obj), true));
}

/* As the garbage collector sees it: other owners keep the object, or wait for it. */
static void owners_changed(struct exchange *x, const cJSON *old, const cJSON *obj)
{
	if (json_equal(json_get(old, "metadata", "ownerReferences"),
		       json_get(obj, "metadata", "ownerReferences")))
		return;
	gc_collect(x, obj, GC_ORPHANS);
	gc_collect(x, old, GC_OWNERS);
}

/* True, if `retry`: a concurrent write was first; no answer. */
static bool store(struct exchange *x, const struct stored *before, const cJSON *old,
		  cJSON *obj, bool retry)
{
	struct error err = { 0 };
	bool finished = gc_is_finished(obj);
	int rc = 0;

	if (managers_same(old, obj)) {
		answer_object(x, 200, old);
		return false;
	}
	if (run_write_hook(x, old, obj))
		return false;
	if (finished && !x->dry_run && !meta_is(obj, "", "Namespace")) {
		rc = storage_delete(x->server->storage, before, &err);
		if (!rc)
			gc_collect(x, obj, GC_DEPENDENTS | GC_OWNERS);
	} else if (!x->dry_run) {
		rc = storage_put(x->server->storage, x->resource, before->key, before,
				 obj, &err);
		if (!rc && finished)
			gc_collect(x, obj,
				   GC_DEPENDENTS); /* an empty namespace is removed */
		else if (!rc)
			owners_changed(x, old, obj);
	}
	if (rc)
		return must_retry(x, &err, ERR_CONFLICT, retry);
	answer_object(x, 200, obj);
	return false;
}

/*
 * make() returns the new object (old NULL: a creation); NULL: refused and answered.
 * `applied`: it sets managedFields. `creates`: a missing object is created.
 */
struct update {
	cJSON *(*make)(struct exchange *x, const cJSON *old);
	bool applied, creates;
};

static int new_finalizer(struct exchange *x, const char *finalizer)
{
	cleanup_field_errors struct field_errors errs = { 0 };

	field_error_add(&errs, FIELD_FORBIDDEN, "metadata.finalizers", NULL,
			"no new finalizers can be added if the object is being deleted, "
			"found new finalizers []string{\"%s\"}",
			finalizer ? finalizer : "");
	return exchange_invalid(x, &errs);
}

static int check_finalizers(struct exchange *x, const cJSON *old, const cJSON *obj)
{
	cleanup_map struct map known = { 0 };
	const cJSON *f;

	if (!meta_is_deleted(old))
		return 0;
	json_each(f, meta_finalizers(old))
		if (cJSON_IsString(f))
			map_put(&known, f->valuestring, &known);
	json_each(f, meta_finalizers(obj))
		if (!cJSON_IsString(f) || !map_get(&known, f->valuestring))
			return new_finalizer(x, cJSON_GetStringValue(f));
	return 0;
}

/* prepare_update() of /status restores the old managedFields: set the new ones again. */
static int update_keeping_managers(struct exchange *x, const cJSON *old, cJSON *obj)
{
	cleanup_json cJSON *managers =
		json_dup(json_get(obj, "metadata", "managedFields"));

	if (prepare_update(x, old, obj))
		return -1;
	json_del(obj, JSON_PATH("metadata", "managedFields"));
	json_put(obj, STEAL(managers), "metadata", "managedFields");
	return 0;
}

static int check_named(struct exchange *x, const cJSON *obj)
{
	const char *name = meta_name(obj);

	if (!cJSON_IsObject(obj) || (name && *name))
		return 0;
	return exchange_refuse(x, 400, "BadRequest",
			       "the name of the object (%s based on URL) was "
			       "undeterminable: name must be provided",
			       x->name);
}

/* One attempt; returns as store(). */
static bool change_once(struct exchange *x, const struct update *how,
			const struct stored *before, bool retry)
{
	cleanup_json cJSON *old = stored_read(before);
	cleanup_json cJSON *obj = how->make(x, old);

	if (!obj || (!how->applied && check_named(x, obj)))
		return false;
	if (meta_version(obj) && !str_eq(meta_version(obj), meta_version(old)))
		retry = false;
	if (prepare_identity(x, obj) || (!how->applied && prepare_known(x, obj)))
		return false;
	prepare_defaults(x, obj);
	if (!how->applied)
		prepare_managers(x, old, obj);
	if (update_keeping_managers(x, old, obj) || check_finalizers(x, old, obj) ||
	    prepare_admission(x, old, obj))
		return false;
	return store(x, before, old, obj, retry);
}

/* One attempt; returns as create(). */
static bool create_changed(struct exchange *x, const struct update *how, bool retry)
{
	cleanup_json cJSON *obj = how->make(x, NULL);

	if (!obj || prepare_identity(x, obj) || (!how->applied && prepare_known(x, obj)))
		return false;
	json_del(obj, JSON_PATH("metadata", "resourceVersion"));
	prepare_defaults(x, obj);
	return create(x, obj, how->applied, retry);
}

static void change(struct exchange *x, const struct update *how)
{
	const char *key = exchange_key(x, x->resource, x->ns, x->name);
	bool again = true;

	for (int i = 1; again && i <= TRIES; i++) {
		cleanup_stored struct stored *before =
			storage_get(x->server->storage, key);

		while (x->warnings->child)
			cJSON_DeleteItemFromArray(x->warnings, 0);
		if (before)
			again = change_once(x, how, before, i < TRIES);
		else if (how->creates && !*x->subresource)
			again = create_changed(x, how, i < TRIES);
		else
			again = !exchange_not_found(x);
	}
}

/* ---- create, update ---------------------------------------------------------------- */

void write_create(struct exchange *x)
{
	if (read_object(x) || prepare_identity(x, x->body) || prepare_known(x, x->body))
		return;
	prepare_defaults(x, x->body);
	(void)create(x, x->body, false, false);
}

static void no_version(struct exchange *x)
{
	cleanup_field_errors struct field_errors errs = { 0 };
	cleanup_json cJSON *zero = cJSON_CreateNumber(0);

	field_error_add(&errs, FIELD_INVALID, "metadata.resourceVersion", zero,
			"must be specified for an update");
	exchange_invalid_of(x, resource_group(&x->arena, x->resource),
			    x->resource->plural, x->name, &errs);
}

static cJSON *replacement(struct exchange *x, const cJSON *old)
{
	cJSON *obj = json_dup(x->body);
	const char *version = meta_version(obj);

	if (old && x->resource->flags & (RESOURCE_CUSTOM | RESOURCE_VERSIONED) &&
	    (!version || !*version || str_eq(version, "0"))) {
		cJSON_Delete(obj);
		no_version(x);
		return NULL;
	}
	return obj;
}

void write_update(struct exchange *x)
{
	const struct update how = { replacement, false,
				    resource_is(x->resource, RESOURCE_PUT_CREATES) };

	if (!read_object(x))
		change(x, &how);
}

/* ---- patch ------------------------------------------------------------------------- */

static cJSON *json_patched(struct exchange *x, const cJSON *old)
{
	cJSON *obj = json_dup(old);
	struct error err = { 0 };

	if (!jsonpatch_apply(&obj, x->body, &err))
		return obj;
	cJSON_Delete(obj);
	if (err.kind == ERR_INVALID)
		exchange_refuse_details(
			x, 422, "Invalid", cJSON_CreateObject(),
			"the server rejected our request due to an error in our request");
	else
		exchange_refuse(x, err.kind == ERR_LIMIT ? 413 : 400,
				err.kind == ERR_LIMIT ? "RequestEntityTooLarge"
						      : "BadRequest",
				"%s", err.msg);
	return NULL;
}

static cJSON *apply_merge_patch(struct exchange *x, const cJSON *old)
{
	cJSON *obj = json_dup(old);

	if (!cJSON_IsObject(x->body)) {
		cJSON_Delete(obj);
		exchange_refuse(x, 400, "BadRequest", "Invalid JSON Patch");
		return NULL;
	}
	patch_merge(obj, x->body);
	return obj;
}

static cJSON *strategic(struct exchange *x, const cJSON *old)
{
	cJSON *obj = json_dup(old);
	struct error err = { 0 };

	if (!patch_strategic(obj, x->body, PATCH_OBJECT, &err))
		return obj;
	cJSON_Delete(obj);
	exchange_refuse(x, 400, "BadRequest", "%s", err.msg);
	return NULL;
}

/* Does the configuration conform to the kind's type, so that it can be merged? */
static int check_typed(struct exchange *x, const cJSON *config)
{
	const char *ns = meta_namespace(config);
	const char *version = x->resource->api_version;
	struct error err = { 0 };

	if (!typed_check(prepare_type(x), config, true, &err))
		return 0;
	return exchange_refuse(
		x, 500, NULL,
		"failed to create typed patch object (%s/%s; %s%s, Kind=%s): %s",
		ns ? ns : "", x->name, strchr(version, '/') ? "" : "/", version,
		x->resource->kind, err.msg);
}

/* Check the kind; with a uid, the object must exist. */
static int check_applied(struct exchange *x, const cJSON *old, const cJSON *config)
{
	const char *kind = meta_kind(config), *version = meta_api_version(config);
	const char *uid = meta_uid(config);
	char *name = arena_strdup(&x->arena, version ? version : "/");

	if (cJSON_IsObject(config) && (!str_eq(kind, x->resource->kind) ||
				       !str_eq(version, x->resource->api_version)))
		return exchange_refuse(
			x, 400, "BadRequest", "invalid object type: %s%s, Kind=%s",
			strchr(name, '/') ? "" : "/", name, kind ? kind : "");
	if (old || !uid || !*uid)
		return 0;
	return exchange_conflict(
		x, arena_printf(&x->arena,
				"uid mismatch: the provided object specified uid %s, and "
				"no existing object was found",
				uid));
}

/* Accept, unlike upstream, nulls and the empty status that Go encodes for unset fields. */
static void drop_unset(const struct exchange *x, cJSON *config)
{
	const cJSON *status = json_member(config, "status");

	meta_drop_unset_times(config);
	if (!*x->subresource && (cJSON_IsNull(status) || cJSON_IsObject(status)) &&
	    !status->child)
		json_del(config, JSON_PATH("status"));
}

static cJSON *apply_config(struct exchange *x, const cJSON *old)
{
	cleanup_json cJSON *blank = prepare_blank(x);
	cleanup_json cJSON *ignored = prepare_ignored(x);
	cleanup_json cJSON *config = json_dup(x->body);
	const struct manager_of by = { .type = prepare_type(x),
				       .manager = x->manager,
				       .api_version = x->resource->api_version,
				       .subresource = x->subresource,
				       .now = x->now,
				       .ignored = ignored,
				       .force = exchange_flag(x, "force") };
	struct error err = { 0 };
	cJSON *obj = NULL, *causes = NULL, *details;

	if (!old)
		json_del(config, JSON_PATH("metadata", "resourceVersion"));
	drop_unset(x, config);
	if (check_applied(x, old, config) || check_typed(x, config) ||
	    prepare_identity(x, config) || prepare_known(x, config))
		return NULL;
	drop_nulls(config); /* a null must not be owned: the field is absent */
	if (!managers_apply(&by, old ? old : blank, config, &obj, &causes, &err)) {
		if (str_eq(x->manager, KUBECTL_MANAGER))
			last_applied_update(obj, x->body);
		return obj;
	}
	details = cJSON_CreateObject();
	json_put(details, causes, "causes");
	exchange_refuse_details(x, 409, "Conflict", details, err.msg);
	return NULL;
}

static const struct patch_form {
	const char *type;
	struct update how;
	bool yaml;
} patch_forms[] = {
	{ "application/json-patch+json", { json_patched, false, false }, false },
	{ "application/merge-patch+json", { apply_merge_patch, false, false }, false },
	{ "application/apply-patch+yaml", { apply_config, true, true }, true },
	{ "application/strategic-merge-patch+json", { strategic, false, false }, false },
};
enum { APPLY_FORM = 2, STRATEGIC_FORM = 3 };

static const struct patch_form *patch_form(struct exchange *x)
{
	const char *type = httpd_header(x->http, "Content-Type");
	size_t len = type ? strcspn(type, "; \t") : 0;
	bool custom = resource_is(x->resource, RESOURCE_CUSTOM);
	size_t n = custom ? STRATEGIC_FORM : STRATEGIC_FORM + 1;

	for (size_t i = 0; i < n; i++)
		if (strlen(patch_forms[i].type) == len &&
		    !strncmp(patch_forms[i].type, type ? type : "", len))
			return &patch_forms[i];
	body_unsupported(
		x, custom ? "application/json-patch+json, application/merge-patch+json, "
			    "application/apply-patch+yaml"
			  : "application/json-patch+json, application/merge-patch+json, "
			    "application/apply-patch+yaml, "
			    "application/strategic-merge-patch+json");
	return NULL;
}

static int check_apply(struct exchange *x)
{
	if (!*exchange_query(x, "fieldManager"))
		return exchange_bad_option(x, FIELD_REQUIRED, "fieldManager", NULL,
					   "is required for apply patch");
	if (json_get(x->body, "metadata", "managedFields"))
		return exchange_refuse(x, 400, "BadRequest",
				       "metadata.managedFields must be nil");
	return 0;
}

void write_patch(struct exchange *x)
{
	const struct patch_form *form = patch_form(x);
	bool apply = form == &patch_forms[APPLY_FORM];

	if (!form || (form->yaml ? body_yaml(x) : body_json(x, x->resource->kind)))
		return;
	if (!apply && *exchange_query(x, "force")) {
		exchange_bad_option(x, FIELD_FORBIDDEN, "force", NULL,
				    "may not be specified for non-apply patch");
		return;
	}
	if (apply && check_apply(x))
		return;
	change(x, &form->how);
}
