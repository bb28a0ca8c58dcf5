/*
 * review.h - who a caller is and what it may do, by the API server.
 *
 * TokenReview (authentication.k8s.io/v1) and SubjectAccessReview (authorization.k8s.io/
 * v1). No token is ever part of an error.
 */
#ifndef KUBE_REVIEW_H
#define KUBE_REVIEW_H

#include "kube/kube.h"

/*
 * *ret_user: the review's status.user, the caller's; NULL for an invalid token, or one for
 * another audience (NULL: the API server's own), and *why says which.
 */
MUST_CHECK int token_review(struct kube *k, const char *token, const char *audience,
			    cJSON **ret_user, struct error *why, struct error *err);

/* *ret: may that user `verb` ("get") the non-resource URL `path`? */
MUST_CHECK int access_review(struct kube *k, const cJSON *user, const char *path,
			     const char *verb, bool *ret, struct error *err);

#endif
