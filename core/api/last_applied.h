/*
 * last_applied.h - the annotation in which `kubectl apply` stores its configuration, as
 * server-side apply by kubectl reads and updates it.
 *
 * Follows k8s.io/apimachinery pkg/util/managedfields (lastAppliedManager and
 * lastAppliedUpdater).
 */
#ifndef API_LAST_APPLIED_H
#define API_LAST_APPLIED_H

#include "base/json.h"

#define LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"

/* The field manager of `kubectl apply --server-side`. */
#define KUBECTL_MANAGER "kubectl"

struct node;

/*
 * The fields of the annotation that `live` has with the same value: a field set, owned by
 * the caller. NULL: there is no annotation, or it is not an object of this version and
 * type.
 */
cJSON *last_applied_fields(const struct node *type, const cJSON *live);

/*
 * If obj has the annotation, set it to `config`; remove it if the annotations would
 * exceed the limit of an API server.
 */
void last_applied_update(cJSON *obj, const cJSON *config);

#endif
