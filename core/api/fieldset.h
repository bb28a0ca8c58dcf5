/*
 * fieldset.h - sets of fields of an object, in the form of metadata.managedFields.
 *
 * A set is a document as FieldsV1 has it: the keys of an object are the steps of a path,
 * "f:NAME" a member, "k:{...}" the element of a list with those keys, "v:VALUE" one of a
 * list that is a set, "i:N" one by its index. {} is a field of the set; "." beside other
 * keys says that the place itself is one as well. Keys are in the order of strcmp(), so
 * that two sets are walked side by side.
 *
 * Follows sigs.k8s.io/structured-merge-diff/v6 fieldpath (Set). NULL is the empty set, and
 * so is an empty root. What is returned is the caller's.
 */
#ifndef API_FIELDSET_H
#define API_FIELDSET_H

#include "base/json.h"

bool fieldset_is_empty(const cJSON *set);
cJSON *fieldset_union(const cJSON *a, const cJSON *b);
cJSON *fieldset_difference(const cJSON *a, const cJSON *b); /* a without b's own fields */
cJSON *fieldset_intersection(const cJSON *a, const cJSON *b);
/* Without b's fields and all below them. */
cJSON *fieldset_without(const cJSON *a, const cJSON *b);

/* The same with sorted keys; NULL: it is no set of fields. */
cJSON *fieldset_read(const cJSON *from_outside);

/* Is the place at this node itself one of the set? */
bool fieldset_has(const cJSON *node);

/* Attach `children` at `step` of `set`, and the place itself if `self`; nothing if neither. */
void fieldset_add(cJSON *set, const char *step, cJSON *take_children, bool self);
void fieldset_sort(cJSON *set); /* this level */

/* Each field as text: ".spec.containers[name=\"a\"].image". */
void fieldset_each(const cJSON *set, void (*use)(void *ctx, const char *path), void *ctx);

#endif
