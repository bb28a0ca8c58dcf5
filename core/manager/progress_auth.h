/*
 * progress_auth.h - whose token may report for which TrainJob.
 *
 * A token is accepted if all of this holds: TokenReview accepts it with the TrainJob's
 * endpoint as audience; it belongs to a service account of the TrainJob's namespace and
 * is bound to a pod (name and uid); that pod exists and has the label of the TrainJob's
 * JobSet; a TrainJob of that name controls that JobSet. A token whose claims do not
 * match (kube/service_token.h) is refused without an API call. A verdict is cached for
 * 10 s, so that frequent reports do not cost four calls each. Callers wait for a verdict
 * in the order of kube/authenticator.h, so that a flood from one delays no other.
 * Upstream's pkg/statusserver/auth.go checks only the namespace.
 */
#ifndef MANAGER_PROGRESS_AUTH_H
#define MANAGER_PROGRESS_AUTH_H

#include "kube/authenticator.h"
#include "kube/kube.h"

/* For progress_authorize() only. Starts threads; k must outlive them. */
MUST_CHECK int progress_auth_new(struct authenticator **ret, struct kube *k,
				 struct error *err);

struct progress_claim {
	const char *peer;              /* address */
	const char *token, *ns, *name; /* ns, name: the TrainJob's */
	const char *pod; /* set by progress_authorize(), in its arena: who reports */
};

/*
 * *ret_uid: the TrainJob's uid, in the arena; NULL: the token is denied. -1: the API
 * server could not be reached, or (err->code 429) too many callers wait. Thread-safe.
 */
MUST_CHECK int progress_authorize(struct authenticator *tokens, struct arena *arena,
				  struct progress_claim *claim, const char **ret_uid,
				  struct error *err);

#endif
