/* review.c - requests TokenReviews, SubjectAccessReviews and SelfSubjectAccessReviews (kube/review.h). */
#include "kube/review.h"

#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/file.h"

#define AUTHENTICATION "authentication.k8s.io/v1"
#define AUTHORIZATION  "authorization.k8s.io/v1"

static cJSON *review_new(const char *api_version, const char *kind)
{
	cJSON *review = cJSON_CreateObject();

	json_put_str(review, api_version, "apiVersion");
	json_put_str(review, kind, "kind");
	return review;
}

/* Fill *why from the review's status, but never with a text that contains the token. */
static void explain(const cJSON *status, const char *token, const char *audience,
		    struct error *why)
{
	const char *text = json_str(status, "error");

	if (json_bool(status, false, "authenticated") && audience)
		error_set(why, ERR_INVALID, "its audience is not %.100s", audience);
	else
		error_set(why, ERR_INVALID, "%.250s",
			  text && !strstr(text, token) ? text : "invalid or expired");
}

int token_review(struct kube *k, const char *token, const char *audience,
		 cJSON **ret_user, struct error *why, struct error *err)
{
	cleanup_json cJSON *ask = review_new(AUTHENTICATION, "TokenReview");
	cleanup_json cJSON *answer = NULL;
	const cJSON *status, *user;

	json_put_str(ask, token, "spec", "token");
	if (audience)
		cJSON_AddItemToArray(json_list(ask, "spec", "audiences"),
				     cJSON_CreateString(audience));
	if (kube_call(k, "POST", "/apis/" AUTHENTICATION "/tokenreviews", ask, &answer,
		      err))
		return -1;
	status = json_get((const cJSON *)answer, "status");
	user = json_get(status, "user");
	*ret_user = NULL;
	if (json_bool(status, false, "authenticated") && json_str(user, "username") &&
	    (!audience || json_has_str(json_get(status, "audiences"), audience)))
		*ret_user = json_dup(user);
	else
		explain(status, token, audience, why);
	return 0;
}

int access_review(struct kube *k, const cJSON *user, const char *path, const char *verb,
		  bool *ret, struct error *err)
{
	static const char *const members[] = { "uid", "groups", "extra", NULL };
	cleanup_json cJSON *ask = review_new(AUTHORIZATION, "SubjectAccessReview");
	cleanup_json cJSON *answer = NULL;

	json_put_str(ask, json_str(user, "username"), "spec", "user");
	for (size_t i = 0; members[i]; i++)
		json_put(ask, json_dup(json_get(user, members[i])), "spec", members[i]);
	json_put_str(ask, path, "spec", "nonResourceAttributes", "path");
	json_put_str(ask, verb, "spec", "nonResourceAttributes", "verb");
	if (kube_call(k, "POST", "/apis/" AUTHORIZATION "/subjectaccessreviews", ask,
		      &answer, err))
		return -1;
	*ret = json_bool((const cJSON *)answer, false, "status", "allowed");
	return 0;
}

/* The last parts of a path are those of the collection: ".../namespaces/a/trainjobs". */
int access_review_self(struct kube *k, const struct kube_ref *ref,
		       const char *subresource, const char *verb, bool *ret,
		       struct error *err)
{
	const struct kube_ref all = { ref->api_version, ref->kind, ref->ns, NULL };
	cleanup_json cJSON *ask = review_new(AUTHORIZATION, "SelfSubjectAccessReview");
	cleanup_json cJSON *answer = NULL;
	cleanup_arena struct arena arena = { 0 };
	const char *path;

	if (kube_path(&arena, k, &all, &path, err))
		return -1;
	json_put_str(ask, verb, "spec", "resourceAttributes", "verb");
	json_put_str(ask, api_group(&arena, ref->api_version), "spec",
		     "resourceAttributes", "group");
	json_put_str(ask, path_base(path), "spec", "resourceAttributes", "resource");
	if (subresource)
		json_put_str(ask, subresource, "spec", "resourceAttributes",
			     "subresource");
	if (ref->ns)
		json_put_str(ask, ref->ns, "spec", "resourceAttributes", "namespace");
	if (ref->name)
		json_put_str(ask, ref->name, "spec", "resourceAttributes", "name");
	if (kube_call(k, "POST", "/apis/" AUTHORIZATION "/selfsubjectaccessreviews", ask,
		      &answer, err))
		return -1;
	*ret = json_bool((const cJSON *)answer, false, "status", "allowed");
	return 0;
}
