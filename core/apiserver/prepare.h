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
/* check_meta.c: what of metadata is of a wrong type is no object of any kind. */
MUST_CHECK int prepare_meta_types(struct exchange *x, const cJSON *obj);
void prepare_check_finalizers(struct exchange *x, const cJSON *obj,
			      struct field_errors *errs);
void prepare_check_owners(const cJSON *obj, struct field_errors *errs);
/* Unknown fields by fieldValidation; then obj is without them. */
MUST_CHECK int prepare_known(struct exchange *x, cJSON *obj);
void prepare_defaults(struct exchange *x, cJSON *obj);
/* Update managedFields for a write over `old` (NULL: a creation) that is not an apply. */
void prepare_managers(struct exchange *x, const cJSON *old, cJSON *obj);
/* Set the fields of a new object that no manager owns, such as uid. */
void prepare_owned(cJSON *obj);
MUST_CHECK int prepare_new(struct exchange *x, cJSON *obj);
/*
 * Restore what an update may not change, status unless by /status; count the generation.
 */
MUST_CHECK int prepare_update(struct exchange *x, const cJSON *old, cJSON *obj);
/* Webhooks and validation. */
MUST_CHECK int prepare_admission(struct exchange *x, const cJSON *old, cJSON *obj);

const struct node *prepare_type(const struct exchange *x);
/* An object of the request's kind before its first write; owned by the caller. */
cJSON *prepare_blank(const struct exchange *x);
/* The fields that this endpoint does not write; owned by the caller, or NULL. */
cJSON *prepare_ignored(const struct exchange *x);

#endif
