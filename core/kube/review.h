/*
 * review.h - TokenReview (authentication.k8s.io/v1) and SubjectAccessReview
 * (authorization.k8s.io/v1): authentication and authorization by the API server.
 *
 * Each call is one request. A server with many callers uses token_authenticator.h, which
 * caches verdicts. Errors never contain a token.
 */
#ifndef KUBE_REVIEW_H
#define KUBE_REVIEW_H

#include "kube/kube.h"

/*
 * audience NULL: the API server's own. *ret_user: the review's status.user, the caller's
 * to delete. NULL: the token is invalid or for another audience, and *why is filled
 * (ERR_INVALID). Errors: those of kube_call().
 */
MUST_CHECK int token_review(struct kube *k, const char *token, const char *audience,
			    cJSON **ret_user, struct error *why, struct error *err);

/* *ret: that user (status.user) may `verb` ("get") the non-resource URL `path`. */
MUST_CHECK int access_review(struct kube *k, const cJSON *user, const char *path,
			     const char *verb, bool *ret, struct error *err);

/* SelfSubjectAccessReview: may this client's user `verb` the object? subresource or NULL. */
MUST_CHECK int access_review_self(struct kube *k, const struct kube_ref *ref,
				  const char *subresource, const char *verb, bool *ret,
				  struct error *err);

#endif
