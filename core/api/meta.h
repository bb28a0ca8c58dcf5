/*
 * meta.h - metadata of Kubernetes objects; meta.c is the only file with these keys.
 */
#ifndef API_META_H
#define API_META_H

#include "base/arena.h"
#include "base/json.h"

const char *meta_api_version(const cJSON *obj);
const char *meta_kind(const cJSON *obj);
/* "apps" of "apps/v1", "" of "v1" and of NULL. In the arena. */
const char *api_group(struct arena *arena, const char *api_version);
const char *meta_name(const cJSON *obj);
const char *meta_namespace(const cJSON *obj);
const char *meta_uid(const cJSON *obj);
const char *meta_version(const cJSON *obj);     /* resourceVersion */
uint64_t meta_version_number(const cJSON *obj); /* 0: not a number */
const cJSON *meta_labels(const cJSON *obj);     /* or NULL; likewise annotations */
const cJSON *meta_annotations(const cJSON *obj);
enum { META_ANNOTATIONS_MAX = 256 * 1024 }; /* bytes of all keys and values */
const char *meta_label(const cJSON *obj, const char *key);
const char *meta_annotation(const cJSON *obj, const char *key);
const char *meta_generate_name(const cJSON *obj);
const char *meta_created(const cJSON *obj);                          /* RFC 3339 */
bool meta_is(const cJSON *obj, const char *group, const char *kind); /* any version */

int64_t meta_generation(const cJSON *obj);         /* 0 when absent */
bool meta_is_same(const cJSON *a, const cJSON *b); /* equal except for resourceVersion */
/*
 * Does `obj` have all members of `wanted`, ignoring metadata and the member `aside` (or
 * NULL)?
 */
bool meta_has_members(const cJSON *obj, const cJSON *wanted, const char *aside);
bool meta_is_deleted(const cJSON *obj);         /* has a deletionTimestamp */
const cJSON *meta_finalizers(const cJSON *obj); /* or NULL */
const cJSON *meta_controller(
	const cJSON *obj);                     /* its entry of ownerReferences, or NULL */
const char *meta_owner_name(const cJSON *ref); /* of such an entry */
const char *meta_owner_uid(const cJSON *ref);
bool meta_is_controlled(const cJSON *obj,
			const cJSON *by);               /* by exactly this object (uid) */
void meta_set_version(cJSON *obj, const char *version); /* a precondition of a write */
void meta_set_uid(cJSON *obj, const char *uid);         /* likewise; NULL: none */

/* A new object, owned by the caller: apiVersion, kind, name, namespace (may be NULL). */
cJSON *meta_new(const char *api_version, const char *kind, const char *ns,
		const char *name);

void meta_set_name(cJSON *obj, const char *name);
void meta_set_namespace(cJSON *obj, const char *ns);
void meta_set_generate_name(cJSON *obj, const char *prefix); /* instead of a name */
void meta_set_label(cJSON *obj, const char *key, const char *value);
void meta_set_annotation(cJSON *obj, const char *key, const char *value);

void meta_drop_managed_fields(cJSON *obj);
/*
 * Drop the fields that a server sets at creation, so that the rest can be applied
 * elsewhere.
 */
void meta_drop_server_fields(cJSON *obj);
/*
 * Drop the status, as an API server does on create, and every `creationTimestamp: null`:
 * Go programs write it also where strict validation knows no such field.
 */
void meta_drop_unset(cJSON *obj);
/* Drop only `creationTimestamp: null`, at and below a node. */
void meta_drop_unset_times(cJSON *node);
/* Reduce metadata to names, uid, versions, deletion and owners. */
void meta_digest(cJSON *obj);

/* Set the controller's owner reference to `owner`; no change if owner has no uid. */
void meta_set_owner(cJSON *obj, const cJSON *owner);

/* Add an owner that is not the controller, and whose deletion `obj` does not block. */
void meta_add_owner(cJSON *obj, const cJSON *owner);

/*
 * Do not block the owner's deletion (blockOwnerDeletion): needs no rights on the owner.
 */
void meta_unblock_owner(cJSON *obj);

/* Overlay a string map (labels, annotations) onto another: later wins. */
void meta_overlay(cJSON *onto_map, const cJSON *map);

/* "Deployment kubeflow-system/kubeflow-trainer-controller-manager". */
const char *meta_title(struct arena *arena, const cJSON *obj);

/* The names of the objects in a list that have one; ends with NULL. In the arena. */
const char **meta_names(struct arena *arena, const cJSON *list);

#endif
