/*
 * fieldset.h - sets of fields of an object, in the form of metadata.managedFields.
 *
 * A set is a document in the form of FieldsV1: the keys of an object are the steps of a
 * path: "f:NAME" is a member, "k:{...}" the element of a list with those keys, "v:VALUE"
 * an element of a list that is a set, "i:N" an element by its index. {} is a field of the
 * set; "." beside other keys: the path itself is one, too. Keys are sorted as
 * by strcmp(), so that two sets can be walked in parallel.
 *
 * Follows sigs.k8s.io/structured-merge-diff/v6 fieldpath (Set). NULL and an empty root
 * are the empty set. Results are owned by the caller.
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

/* A copy with sorted keys; NULL: not a set of fields. */
cJSON *fieldset_read(const cJSON *from_outside);

/* Is the path of this node itself in the set? */
bool fieldset_has(const cJSON *node);

/* Add `children` below `step`, and with `self` the step itself; nothing if neither. */
void fieldset_add(cJSON *set, const char *step, cJSON *take_children, bool self);
void fieldset_sort(cJSON *set); /* the keys of this level only */

/* Each field as text: ".spec.containers[name=\"a\"].image". */
void fieldset_each(const cJSON *set, void (*use)(void *ctx, const char *path), void *ctx);

#endif
