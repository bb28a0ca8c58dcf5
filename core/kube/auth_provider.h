/*
 * auth_provider.h - the auth-provider of a kubeconfig's user: oidc alone, as in client-go.
 *
 * Its id-token is used until it expires. It is not renewed: kubectl does so, and stores the
 * new tokens in the kubeconfig. Providers may accept a refresh token once only.
 */
#ifndef KUBE_AUTH_PROVIDER_H
#define KUBE_AUTH_PROVIDER_H

#include "base/arena.h"
#include "base/json.h"

/* NULL: *ret is the bearer token, in the arena. Else: why there is none. */
const char *auth_provider_token(struct arena *arena, const cJSON *provider,
				const char **ret);

#endif
