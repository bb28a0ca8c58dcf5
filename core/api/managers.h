/*
 * managers.h - who set which field: metadata.managedFields, and server-side apply.
 *
 * One set of fields for each manager, operation, version and subresource. A field that a
 * manager applied and leaves out is removed, unless another one has it; a change of a field
 * that another one has is a conflict, which force takes over.
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
	const cJSON *ignored; /* field set that this endpoint does not write; or NULL */
	bool force;           /* of an apply */
};

/*
 * `obj` is about to take the place of `live` (at a creation an empty object of that kind):
 * its managedFields become the ones of `live` after this write. Entries that obj brings
 * itself count instead (not with a subresource); an empty list forgets them all.
 */
void managers_update(const struct manager_of *by, const cJSON *live, cJSON *obj);

/*
 * *ret: `live` after `config` has been applied to it, with managedFields; the caller's.
 * ERR_CONFLICT: other managers have fields that would change; *ret_causes, the caller's,
 * has an entry {reason, message, field} for each, and err the whole message.
 */
MUST_CHECK int managers_apply(const struct manager_of *by, const cJSON *live,
			      const cJSON *config, cJSON **ret, cJSON **ret_causes,
			      struct error *err);

/* The same but for the times of managedFields and the resourceVersion? */
bool managers_same(const cJSON *a, const cJSON *b);

/* Is each entry well-formed? What is wrong, or NULL. */
const char *managers_fault(const cJSON *managed_fields);

#endif
