/*
 * typed.h - objects by the structure of their type: which fields there are, what changed,
 * how two become one.
 *
 * Lists that are maps or sets have elements that are found by their keys, others are one
 * value. Without a type (NULL, or below x-kubernetes-preserve-unknown-fields) objects are
 * maps and lists are one value. Follows sigs.k8s.io/structured-merge-diff/v6 typed (merge,
 * compare, remove, tofieldset), the order of merged lists as well.
 */
#ifndef API_TYPED_H
#define API_TYPED_H

#include "api/fieldset.h"
#include "api/schema.h"

struct node;

/* The structure of a kind; NULL: not in this schema. */
const struct node *typed_of(const struct schema *schema, const char *api_version,
			    const char *kind);

/* All fields of `value`; a field set. */
cJSON *typed_fields(const struct node *type, const cJSON *value);

struct typed_changes {
	cJSON *added, *modified, *removed; /* field sets, owned */
};
void typed_compare(const struct node *type, const cJSON *before, const cJSON *after,
		   struct typed_changes *ret);
void typed_changes_release(struct typed_changes *c);
#define cleanup_typed_changes __attribute__((cleanup(typed_changes_release)))

/* `config` over `live`; the caller's. */
cJSON *typed_merge(const struct node *type, const cJSON *live, const cJSON *config);

/* Take the fields of a set, and all below them, out of `value`; what gets empty goes. */
void typed_remove(const struct node *type, cJSON *value, const cJSON *set);

/* A set with the fields of structures on the way to its fields. */
cJSON *typed_named(const struct node *type, const cJSON *set);

/*
 * Elements of lists that are maps must have their keys, and no two the same; likewise those
 * of sets; with `strict`, structures no other fields than theirs. ERR_INVALID.
 */
MUST_CHECK int typed_check(const struct node *type, const cJSON *value, bool strict,
			   struct error *err);

#endif
