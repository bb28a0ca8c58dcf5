/* meta.c - reads and writes metadata, the only file with its keys (api/meta.h). */
#include "api/meta.h"

#include <string.h>

#include "base/json_index.h"
#include "base/str.h"

const char *meta_api_version(const cJSON *obj)
{
	return json_str(obj, "apiVersion");
}

const char *api_group(struct arena *arena, const char *api_version)
{
	const char *slash = api_version ? strchr(api_version, '/') : NULL;

	return slash ? str_slice(arena, api_version, (size_t)(slash - api_version)) : "";
}

const char *meta_kind(const cJSON *obj)
{
	return json_str(obj, "kind");
}

const char *meta_name(const cJSON *obj)
{
	return json_str(obj, "metadata", "name");
}

const char *meta_namespace(const cJSON *obj)
{
	return json_str(obj, "metadata", "namespace");
}

const char *meta_uid(const cJSON *obj)
{
	return json_str(obj, "metadata", "uid");
}

const char *meta_version(const cJSON *obj)
{
	return json_str(obj, "metadata", "resourceVersion");
}

const char *meta_generate_name(const cJSON *obj)
{
	return json_str(obj, "metadata", "generateName");
}

const char *meta_created(const cJSON *obj)
{
	return json_str(obj, "metadata", "creationTimestamp");
}

void meta_set_name(cJSON *obj, const char *name)
{
	json_put_str(obj, name, "metadata", "name");
}

void meta_set_namespace(cJSON *obj, const char *ns)
{
	json_put_str(obj, ns, "metadata", "namespace");
}

void meta_drop_managed_fields(cJSON *obj)
{
	json_del(obj, JSON_PATH("metadata", "managedFields"));
}

void meta_set_label(cJSON *obj, const char *key, const char *value)
{
	json_put_str(obj, value, "metadata", "labels", key);
}

void meta_set_annotation(cJSON *obj, const char *key, const char *value)
{
	json_put_str(obj, value, "metadata", "annotations", key);
}

void meta_set_generate_name(cJSON *obj, const char *prefix)
{
	json_del(obj, JSON_PATH("metadata", "name"));
	json_put_str(obj, prefix, "metadata", "generateName");
}

uint64_t meta_version_number(const cJSON *obj)
{
	const char *text = meta_version(obj);
	int64_t n;

	if (!text || str_int(&n, text, 0, INT64_MAX, IGNORED))
		return 0;
	return (uint64_t)n;
}

const cJSON *meta_labels(const cJSON *obj)
{
	return json_get(obj, "metadata", "labels");
}

const cJSON *meta_annotations(const cJSON *obj)
{
	return json_get(obj, "metadata", "annotations");
}

const char *meta_label(const cJSON *obj, const char *key)
{
	return json_str(obj, "metadata", "labels", key);
}

const char *meta_annotation(const cJSON *obj, const char *key)
{
	return json_str(obj, "metadata", "annotations", key);
}

void meta_digest(cJSON *obj)
{
	static const char *const keys[] = { "name",
					    "namespace",
					    "uid",
					    "resourceVersion",
					    "generation",
					    "deletionTimestamp",
					    "ownerReferences" };
	const cJSON *full = json_get(obj, "metadata");
	cJSON *is = cJSON_CreateObject();

	for (size_t i = 0; i < N_ELEMENTS(keys); i++)
		json_put(is, json_dup(json_get(full, keys[i])), keys[i]);
	json_put(obj, is, "metadata");
}

void meta_drop_server_fields(cJSON *obj)
{
	static const char *const keys[] = { "creationTimestamp", "generation",
					    "managedFields", "resourceVersion", "uid" };

	for (size_t i = 0; i < N_ELEMENTS(keys); i++)
		json_del(obj, JSON_PATH("metadata", keys[i]));
}

void meta_drop_unset_times(cJSON *node)
{
	cJSON *child = node ? node->child : NULL, *next;

	for (; child; child = next) {
		next = child->next;
		if (cJSON_IsNull(child) && str_eq(child->string, "creationTimestamp"))
			cJSON_Delete(cJSON_DetachItemViaPointer(node, child));
		else
			meta_drop_unset_times(child);
	}
}

void meta_drop_unset(cJSON *obj)
{
	json_del(obj, JSON_PATH("status"));
	meta_drop_unset_times(obj);
}

int64_t meta_generation(const cJSON *obj)
{
	return json_int(obj, 0, "metadata", "generation");
}

bool meta_is_same(const cJSON *a, const cJSON *b)
{
	const cJSON *ma = json_get(a, "metadata"), *mb = json_get(b, "metadata");
	const cJSON *member;

	if (cJSON_GetArraySize(ma) != cJSON_GetArraySize(mb))
		return false;
	json_each(member, ma)
		if (!str_eq(member->string, "resourceVersion") &&
		    !json_equal(member, json_get(mb, member->string)))
			return false;
	return true;
}

bool meta_has_members(const cJSON *obj, const cJSON *wanted, const char *aside)
{
	const cJSON *member;

	json_each(member, wanted)
		if (!str_eq(member->string, "metadata") &&
		    !str_eq(member->string, aside) &&
		    !json_equal(member, json_get(obj, member->string)))
			return false;
	return true;
}

bool meta_is_deleted(const cJSON *obj)
{
	return json_get(obj, "metadata", "deletionTimestamp") != NULL;
}

const cJSON *meta_finalizers(const cJSON *obj)
{
	return json_get(obj, "metadata", "finalizers");
}

const cJSON *meta_controller(const cJSON *obj)
{
	const cJSON *ref;

	json_each(ref, json_get(obj, "metadata", "ownerReferences"))
		if (json_bool(ref, false, "controller"))
			return ref;
	return NULL;
}

const char *meta_owner_name(const cJSON *ref)
{
	return json_str(ref, "name");
}

const char *meta_owner_uid(const cJSON *ref)
{
	return json_str(ref, "uid");
}

bool meta_is_controlled(const cJSON *obj, const cJSON *by)
{
	const char *uid = meta_owner_uid(meta_controller(obj));

	return uid && str_eq(uid, meta_uid(by));
}

void meta_set_version(cJSON *obj, const char *version)
{
	json_put_str(obj, version, "metadata", "resourceVersion");
}

void meta_set_uid(cJSON *obj, const char *uid)
{
	if (!uid)
		json_del(obj, JSON_PATH("metadata", "uid"));
	else
		json_put_str(obj, uid, "metadata", "uid");
}

bool meta_is(const cJSON *obj, const char *group, const char *kind)
{
	const char *version = meta_api_version(obj);
	size_t len = strlen(group);

	if (!version || !str_eq(meta_kind(obj), kind))
		return false;
	if (!len)
		return !strchr(version, '/'); /* the core group has no name */
	return !strncmp(version, group, len) && version[len] == '/';
}

cJSON *meta_new(const char *api_version, const char *kind, const char *ns,
		const char *name)
{
	cJSON *obj = cJSON_CreateObject();

	json_put_str(obj, api_version, "apiVersion");
	json_put_str(obj, kind, "kind");
	json_put_str(obj, name, "metadata", "name");
	if (ns)
		json_put_str(obj, ns, "metadata", "namespace");
	return obj;
}

/* NULL: the owner has no uid. */
static cJSON *put_owner(cJSON *obj, const cJSON *owner)
{
	const char *uid = meta_uid(owner);
	cJSON *ref;

	if (!uid)
		return NULL;
	ref = cJSON_CreateObject();
	json_put_str(ref, meta_api_version(owner), "apiVersion");
	json_put_str(ref, meta_kind(owner), "kind");
	json_put_str(ref, meta_name(owner), "name");
	json_put_str(ref, uid, "uid");
	return json_upsert(json_list(obj, "metadata", "ownerReferences"), "uid", ref);
}

void meta_set_owner(cJSON *obj, const cJSON *owner)
{
	cJSON *ref = put_owner(obj, owner);

	if (!ref)
		return;
	json_put_bool(ref, true, "controller");
	json_put_bool(ref, true, "blockOwnerDeletion");
}

void meta_add_owner(cJSON *obj, const cJSON *owner)
{
	put_owner(obj, owner);
}

void meta_overlay(cJSON *onto_map, const cJSON *map)
{
	cleanup_json_index struct json_index onto = { .of = onto_map };
	const cJSON *child;

	json_each(child, map)
		json_index_put(&onto, json_dup(child), child->string);
}

void meta_unblock_owner(cJSON *obj)
{
	cJSON *ref;

	json_each(ref, json_get(obj, "metadata", "ownerReferences"))
		json_del(ref, JSON_PATH("blockOwnerDeletion"));
}

const char *meta_title(struct arena *arena, const cJSON *obj)
{
	const char *ns = meta_namespace(obj);

	return arena_printf(arena, "%s %s%s%s", meta_kind(obj), ns ? ns : "",
			    ns ? "/" : "", meta_name(obj));
}

const char **meta_names(struct arena *arena, const cJSON *list)
{
	size_t n = (size_t)cJSON_GetArraySize(list) + 1;
	const char **names = arena_alloc(arena, n * sizeof(*names));
	const cJSON *obj;

	n = 0;
	json_each(obj, list)
		if (meta_name(obj))
			names[n++] = meta_name(obj);
	return names;
}
