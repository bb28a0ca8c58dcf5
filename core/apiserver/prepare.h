/*
 * prepare.h - what happens to an object before it is stored: defaults, unknown fields,
 * validation, webhooks, metadata. Private to core/apiserver.
 *
 * Each function answers the request itself when it returns -1.
 */
#ifndef APISERVER_PREPARE_H
#define APISERVER_PREPARE_H

#include "apiserver/exchange.h"

/* Kind, name and namespace as the path says; what is missing is filled in. */
MUST_CHECK int prepare_identity(struct exchange *x, cJSON *obj);
/* Unknown fields by fieldValidation; then obj is without them. */
MUST_CHECK int prepare_known(struct exchange *x, cJSON *obj);
void prepare_defaults(struct exchange *x, cJSON *obj);
/* Who set what by this write of `old` (NULL: a creation), unless it was an apply. */
void prepare_managers(struct exchange *x, const cJSON *old, cJSON *obj);
/* What a new object gets of the server itself: no manager has it. */
void prepare_owned(cJSON *obj);
MUST_CHECK int prepare_new(struct exchange *x, cJSON *obj);
/* What an update may not change stays; status by /status alone; the generation. */
MUST_CHECK int prepare_update(struct exchange *x, const cJSON *old, cJSON *obj);
/* Webhooks and validation. */
MUST_CHECK int prepare_admission(struct exchange *x, const cJSON *old, cJSON *obj);

const struct node *prepare_type(const struct exchange *x);
/* An object of this kind before anybody wrote it; the caller's. */
cJSON *prepare_blank(const struct exchange *x);
/* The fields that this endpoint does not write; the caller's, or NULL. */
cJSON *prepare_ignored(const struct exchange *x);

#endif
