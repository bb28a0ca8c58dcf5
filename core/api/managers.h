/*
 * managers.h - metadata.managedFields (which manager set which field) and server-side
 * apply.
 *
 * There is one set of fields for each manager, operation, version and subresource. A
 * field that a manager applied before and now omits is removed, unless another manager
 * has it; changing a field of another manager is a conflict unless forced, which makes
 * the field this manager's. It is no conflict if kubectl changes fields of its own
 * client-side apply (last_applied.h).
 *
 * Follows sigs.k8s.io/structured-merge-diff/v6 merge (Updater) and k8s.io/apimachinery
 * pkg/util/managedfields. The only file with the keys of an entry.
 */
#ifndef API_MANAGERS_H
#define API_MANAGERS_H

#include "api/typed.h"

enum { MANAGER_NAME_MAX = 128, MANAGERS_MAX_UPDATES = 10 };

struct manager_of {
	const struct node *type; /* of the object */
	const char *manager, *api_version;
	const char *subresource; /* "" for none */
	const char *now;         /* metav1.Time */
	const cJSON *ignored;    /* fields that this endpoint does not write; or NULL */
	bool force;              /* of an apply */
};

/*
 * Set the managedFields of `obj`, which is about to replace `live` (at a creation, an
 * empty object of that kind), from those of `live` and this write. If obj has entries of
 * its own they are used instead (not with a subresource); an empty list clears them.
 */
void managers_update(const struct manager_of *by, const cJSON *live, cJSON *obj);

/*
 * *ret: `live` with `config` applied to it, with managedFields; owned by the caller.
 * ERR_CONFLICT: other managers have fields that would change; err has the message, and
 * *ret_causes, owned by the caller, an entry {reason, message, field} for each.
 */
MUST_CHECK int managers_apply(const struct manager_of *by, const cJSON *live,
			      const cJSON *config, cJSON **ret, cJSON **ret_causes,
			      struct error *err);

/* Are they equal except for the times of managedFields and the resourceVersion? */
bool managers_same(const cJSON *a, const cJSON *b);

/* The error of the first invalid entry, as the end of a sentence; NULL: all are valid. */
const char *managers_invalid(const cJSON *managed_fields);

#endif
