/*
 * service_token.h - what the token of a ServiceAccount claims, before it is verified.
 *
 * Only for refusing: what the API server cannot accept for a request is refused without a
 * TokenReview. The claims are those of Kubernetes' pkg/serviceaccount, also of the tokens
 * in Secrets, which have neither an audience nor an end.
 */
#ifndef KUBE_SERVICE_TOKEN_H
#define KUBE_SERVICE_TOKEN_H

#include "base/arena.h"
#include "base/json.h"

struct service_token {
	cJSON *claims;    /* owns user and pod; delete it */
	const char *user; /* system:serviceaccount:NAMESPACE:NAME; or NULL */
	const char *ns;   /* the claims' or in the arena */
	const char *pod;  /* the name of the pod that it is bound to, or NULL */
};

/* False, and nothing to delete: not a JSON Web Token of a ServiceAccount. */
bool service_token_read(struct service_token *ret, struct arena *arena,
			const char *token);

/*
 * Why it cannot be valid for that audience (NULL: any) at that time in seconds, as "it has
 * expired"; NULL: it may be. Clocks may differ by 5 minutes.
 */
const char *service_token_fault(const struct service_token *t, const char *audience,
				int64_t now);

#endif
