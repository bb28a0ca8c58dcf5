/* auth_provider.c - a bearer token of OpenID Connect (kube/auth_provider.h). */
#include "kube/auth_provider.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "crypto/jwt.h"

/* Those that kubectl had: what their clouds have in place of them. */
static const char *successor(const char *name)
{
	if (str_eq(name, "azure"))
		return "azure is no longer supported, by kubectl neither; run kubelogin "
		       "convert-kubeconfig (github.com/Azure/kubelogin)";
	if (str_eq(name, "gcp"))
		return "gcp is no longer supported, by kubectl neither; install "
		       "gke-gcloud-auth-plugin and run gcloud container clusters "
		       "get-credentials CLUSTER";
	return "is no longer supported, by kubectl neither; use an exec plugin";
}

const char *auth_provider_token(struct arena *arena, const cJSON *provider,
				const char **ret)
{
	const char *token = json_str(provider, "config", "id-token");
	cleanup_json cJSON *claims = NULL;

	if (!str_eq(json_str(provider, "name"), "oidc"))
		return successor(json_str(provider, "name"));
	if (!token)
		return "has no id-token; log in again";
	claims = jwt_unverified(token);
	if (!claims)
		return "its id-token is no JSON Web Token; log in again";
	if (json_int(claims, 0, "exp") <= clock_now())
		return "its id-token has expired; run kubectl once, which renews it if "
		       "there is a refresh-token, or log in again";
	*ret = arena_strdup(arena, token);
	return NULL;
}
