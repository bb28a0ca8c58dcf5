/*
 * typed.h - list the fields of objects, compare and merge them, by the structure of their
 * type.
 *
 * Elements of lists that are maps or sets are identified by their keys; other lists are
 * single values. Without a type (NULL, or below x-kubernetes-preserve-unknown-fields)
 * objects are maps and lists are single values. Follows
 * sigs.k8s.io/structured-merge-diff/v6 typed (merge, compare, remove, tofieldset),
 * including the order of merged lists.
 */
#ifndef API_TYPED_H
#define API_TYPED_H

#include "api/fieldset.h"
#include "api/schema.h"

struct node;

/* The structure of a kind; NULL: not in this schema. */
const struct node *typed_of(const struct schema *schema, const char *api_version,
			    const char *kind);

/* All fields of `value`: a field set, owned by the caller. */
cJSON *typed_fields(const struct node *type, const cJSON *value);

struct typed_changes {
	cJSON *added, *modified, *removed; /* field sets, owned; NULL: none */
};
/* The value at the path `but` is not compared; NULL: all are. */
void typed_compare(const struct node *type, const cJSON *before, const cJSON *after,
		   const char *const *but, struct typed_changes *ret);
void typed_changes_release(struct typed_changes *c);
#define cleanup_typed_changes __attribute__((cleanup(typed_changes_release)))

/* `config` merged over `live`; owned by the caller. */
cJSON *typed_merge(const struct node *type, const cJSON *live, const cJSON *config);

/*
 * Remove the fields of a set, and all below them, from `value`, and then empty
 * structures.
 */
void typed_remove(const struct node *type, cJSON *value, const cJSON *set);

/* The set with the structures that contain its fields added. */
cJSON *typed_named(const struct node *type, const cJSON *set);

/*
 * ERR_INVALID: an element of a list that is a map lacks a key; duplicate elements of a
 * map or set; with `strict`, unknown fields.
 */
MUST_CHECK int typed_check(const struct node *type, const cJSON *value, bool strict,
			   struct error *err);

#endif
