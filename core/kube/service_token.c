/* service_token.c - the claims of a ServiceAccount token (kube/service_token.h). */
#include "kube/service_token.h"

#include <string.h>

#include "base/str.h"
#include "crypto/jwt.h"

#define USER_PREFIX   "system:serviceaccount:"
#define LEGACY_ISSUER "kubernetes/serviceaccount"
#define OWN           "kubernetes.io"

enum { SKEW_S = 5 * 60 };

/* The namespace of "system:serviceaccount:NAMESPACE:NAME", or NULL. */
static const char *namespace_of(struct arena *arena, const char *user)
{
	const char *ns = str_after(user, USER_PREFIX);
	const char *colon = ns ? strchr(ns, ':') : NULL;

	if (!colon || colon == ns || !colon[1] || strchr(colon + 1, ':'))
		return NULL;
	return str_slice(arena, ns, (size_t)(colon - ns));
}

bool service_token_read(struct service_token *ret, struct arena *arena, const char *token)
{
	struct service_token t = { .claims = jwt_unverified(token) };
	const char *own = json_str(t.claims, OWN, "namespace");

	t.user = json_str(t.claims, "sub");
	t.ns = t.user ? namespace_of(arena, t.user) : own; /* apiserver/pod_token.h */
	t.pod = json_str(t.claims, OWN, "pod", "name");
	if (t.ns && (!own || str_eq(own, t.ns))) {
		*ret = t;
		return true;
	}
	cJSON_Delete(t.claims);
	return false;
}

/* "aud": a string or a list of them (RFC 7519 4.1.3). */
static bool is_for(const struct service_token *t, const char *audience)
{
	const cJSON *aud = json_get((const cJSON *)t->claims, "aud");

	if (!aud)
		return str_eq(json_str(t->claims, "iss"), LEGACY_ISSUER);
	return cJSON_IsArray(aud) ? json_has_str(aud, audience)
				  : str_eq(cJSON_GetStringValue(aud), audience);
}

/* Read a NumericDate, which may have a fraction. False: the claim is not a number. */
static bool read_date(const struct service_token *t, const char *claim, double absent,
		      double *ret)
{
	const cJSON *date = json_get((const cJSON *)t->claims, claim);

	*ret = cJSON_IsNumber(date) ? date->valuedouble : absent;
	return !date || cJSON_IsNumber(date);
}

const char *service_token_fault(const struct service_token *t, const char *audience,
				int64_t now)
{
	double from, until, at = (double)now;

	if (audience && !is_for(t, audience))
		return "it is for another audience";
	if (!read_date(t, "exp", at, &until) || !read_date(t, "nbf", at, &from))
		return "its times are not numbers";
	if (until < at - SKEW_S)
		return "it has expired";
	return from > at + SKEW_S ? "it is not valid yet" : NULL;
}
