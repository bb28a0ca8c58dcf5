/*
 * progress_auth.h - whose token may report for which TrainJob.
 *
 * The chain: the API server knows the token, with the TrainJob's endpoint as audience
 * (TokenReview); it is a service account's of the TrainJob's namespace, bound to a pod
 * (name and uid); that very pod exists and carries the label of the TrainJob's JobSet;
 * and that JobSet is controlled by a TrainJob of that name. A token whose claims do not
 * fit (kube/service_token.h) is refused without asking. A verdict holds for 10 s, so that
 * frequent reports do not cost four calls each; those who wait for one do so in the order
 * of kube/authenticator.h, so that a flood delays nobody else.
 * Upstream's pkg/statusserver/auth.go stops at the namespace.
 */
#ifndef MANAGER_PROGRESS_AUTH_H
#define MANAGER_PROGRESS_AUTH_H

#include "base/arena.h"
#include "kube/kube.h"

struct progress_auth;

/* Starts threads. */
MUST_CHECK int progress_auth_new(struct progress_auth **ret, struct kube *k,
				 struct error *err);
void progress_auth_free(struct progress_auth *a);

struct progress_claim {
	const char *peer;              /* address */
	const char *token, *ns, *name; /* ns, name: the TrainJob's */
};

/*
 * *ret_uid: that of the TrainJob, in the arena; NULL: denied. -1 only when the API
 * server could not be asked; err->code is 429 when too many wait. Any number of threads.
 */
MUST_CHECK int progress_authorize(struct progress_auth *a, struct arena *arena,
				  const struct progress_claim *claim,
				  const char **ret_uid, struct error *err);

#endif
