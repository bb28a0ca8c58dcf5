/*
 * prepare.h - process an object before it is stored: defaults, unknown fields,
 * validation, webhooks, metadata. Private to core/apiserver.
 *
 * Each function answers the request itself when it returns -1.
 */
#ifndef APISERVER_PREPARE_H
#define APISERVER_PREPARE_H

#include "apiserver/exchange.h"

/* Check kind, name and namespace against the path; fill in what is missing. */
MUST_CHECK int prepare_identity(struct exchange *x, cJSON *obj);
/* check_meta.c: refuse members of metadata that have the wrong type (400). */
MUST_CHECK int prepare_meta_types(struct exchange *x, const cJSON *obj);
/* Add the errors of metadata.finalizers and .ownerReferences, as apimachinery does. */
void prepare_check_finalizers(struct exchange *x, const cJSON *obj,
			      struct field_errors *errs);
void prepare_check_owners(const cJSON *obj, struct field_errors *errs);
/* Report unknown fields as fieldValidation demands, then remove them and nulls from obj. */
MUST_CHECK int prepare_known(struct exchange *x, cJSON *obj);
/* Set the defaults of the schema and of the API server's Go types. */
void prepare_defaults(struct exchange *x, cJSON *obj);
/* Update managedFields for a write over `old` (NULL: a creation) that is not an apply. */
void prepare_managers(struct exchange *x, const cJSON *old, cJSON *obj);
/* Set the fields of a new Namespace that no manager owns. */
void prepare_owned(cJSON *obj);
/* Set name (generateName), uid, creationTimestamp and generation of a new object. */
MUST_CHECK int prepare_new(struct exchange *x, cJSON *obj);
/*
 * Restore the fields that an update may not change, and status unless the request is to
 * /status; increment metadata.generation if the spec of a custom kind changed. Refuses
 * another uid or resourceVersion than old's (409).
 */
MUST_CHECK int prepare_update(struct exchange *x, const cJSON *old, cJSON *obj);
/* Call the defaulter, validate, call the validator. */
MUST_CHECK int prepare_admission(struct exchange *x, const cJSON *old, cJSON *obj);

/* The type of the request's kind (api/typed.h). */
const struct node *prepare_type(const struct exchange *x);
/* An object of the request's kind before its first write; owned by the caller. */
cJSON *prepare_blank(const struct exchange *x);
/* The fields that this endpoint does not write; owned by the caller, or NULL. */
cJSON *prepare_ignored(const struct exchange *x);

#endif
