/*
 * service_token.h - the unverified claims of a ServiceAccount token.
 *
 * Unverified claims may only be used to refuse a request, without a TokenReview, if the
 * API server cannot accept its token; never to accept one. The claims are those of
 * Kubernetes' pkg/serviceaccount, also of legacy tokens in Secrets, which have neither
 * audience nor expiry.
 */
#ifndef KUBE_SERVICE_TOKEN_H
#define KUBE_SERVICE_TOKEN_H

#include "base/arena.h"
#include "base/json.h"

struct service_token {
	cJSON *claims;    /* owns user and pod; the caller deletes it */
	const char *user; /* system:serviceaccount:NAMESPACE:NAME; or NULL */
	const char *ns;   /* owned by claims or the arena */
	const char *pod;  /* name of the pod that the token is bound to, or NULL */
};

/* False: no JSON Web Token of a ServiceAccount; *ret is untouched. */
bool service_token_read(struct service_token *ret, struct arena *arena,
			const char *token);

/*
 * NULL: the token may be valid for that audience (NULL: any) at `now`, in seconds since
 * 1970. Otherwise why it cannot be, a constant: "it has expired". Clocks may differ by 5
 * minutes.
 */
const char *service_token_fault(const struct service_token *t, const char *audience,
				int64_t now);

#endif
