/* progress_auth.c - whose token may report for a TrainJob (manager/progress_auth.h). */
#include "manager/progress_auth.h"

#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "kube/review.h"
#include "kube/service_token.h"
#include "manager/pods.h"
#include "trainer/api.h"

#define EXTRA "authentication.kubernetes.io/"

enum {
	GRANT_MS = 10 * 1000,
	MAX_GRANTS = 1024,
	THREADS = 2,
	MAX_POD_PREFIX = 50, /* bytes of the job's name that a pod's name has at least */
};

/* ---- the checks ------------------------------------------------------------------- */

/* The value of userInfo.extra[key], if there is exactly one; else NULL. */
static const char *extra(const cJSON *user, const char *key)
{
	const cJSON *values = json_get(user, "extra", key);

	if (!cJSON_IsArray(values) || cJSON_GetArraySize(values) != 1 ||
	    !cJSON_IsString(values->child))
		return NULL;
	return values->child->valuestring;
}

static bool is_of_namespace(struct arena *arena, const cJSON *user, const char *ns)
{
	return str_starts(json_str(user, "username"),
			  arena_printf(arena, "system:serviceaccount:%s:", ns));
}

/* *ret: the pod to which the token is bound exists and belongs to the JobSet. */
static int check_pod(struct kube *k, const struct progress_claim *claim,
		     const cJSON *user, bool *ret, struct error *err)
{
	const char *name = extra(user, EXTRA "pod-name");
	const char *uid = extra(user, EXTRA "pod-uid");
	struct kube_ref ref = { "v1", "Pod", claim->ns, name };
	cleanup_json cJSON *pod = NULL;

	*ret = false;
	if (!name || !uid)
		return 0;
	if (kube_find(k, &ref, &pod, err))
		return -1;
	*ret = pod && str_eq(meta_uid(pod), uid) &&
	       str_eq(meta_label(pod, POD_JOBSET_LABEL), claim->name);
	return 0;
}

/* *ret_uid: the uid of the TrainJob that controls the JobSet; unchanged without one. */
static int check_jobset(struct kube *k, struct arena *arena,
			const struct progress_claim *claim, const char **ret_uid,
			struct error *err)
{
	struct kube_ref ref = { JOBSET_API_VERSION, JOBSET_KIND, claim->ns, claim->name };
	cleanup_json cJSON *jobset = NULL;
	const cJSON *owner;

	if (kube_find(k, &ref, &jobset, err))
		return -1;
	owner = meta_controller(jobset);
	if (owner && meta_is(owner, TRAINER_GROUP, TRAINJOB_KIND) &&
	    str_eq(json_str(owner, "name"), claim->name) && json_str(owner, "uid"))
		*ret_uid = arena_strdup(arena, json_str(owner, "uid"));
	return 0;
}

/* The audience of the tokens in a TrainJob's pods: the path of the endpoint. */
static const char *audience_of(struct arena *arena, const struct progress_claim *claim)
{
	return arena_printf(arena,
			    TRAINER_API_VERSION "/namespaces/%s/trainjobs/%s/status",
			    claim->ns, claim->name);
}

/*
 * authenticator_conf.review; callers see no difference between the causes of a refusal.
 * The subject is "ns/name", the value the TrainJob's uid.
 */
static int ask(void *ctx, struct arena *arena, const struct authenticator_request *r,
	       const char **ret_uid, struct error *why, struct error *err)
{
	struct kube *k = ctx;
	const char *slash = strchr(r->subject, '/');
	const struct progress_claim claim = {
		.token = r->token,
		.ns = str_slice(arena, r->subject, (size_t)(slash - r->subject)),
		.name = slash + 1,
	};
	cleanup_json cJSON *user = NULL;
	bool good;

	if (token_review(k, claim.token, audience_of(arena, &claim), &user, why, err))
		return -1;
	if (!user || !is_of_namespace(arena, user, claim.ns))
		return 0;
	if (check_pod(k, &claim, user, &good, err))
		return -1;
	return good ? check_jobset(k, arena, &claim, ret_uid, err) : 0;
}

/*
 * False: the API server would refuse the token, or its pod is not one of the JobSet's,
 * whose names begin with the JobSet's name. No API call.
 */
static bool may_be(struct arena *arena, struct progress_claim *claim)
{
	struct service_token token;
	const char *start = arena_printf(arena, "%s-", claim->name);
	bool fits;

	if (!service_token_read(&token, arena, claim->token))
		return false;
	fits = str_eq(token.ns, claim->ns) && token.pod &&
	       !strncmp(token.pod, start, strnlen(start, MAX_POD_PREFIX)) &&
	       !service_token_fault(&token, audience_of(arena, claim), clock_now());
	claim->pod = arena_strdup(arena, token.pod);
	cJSON_Delete(token.claims);
	return fits;
}

int progress_authorize(struct authenticator *tokens, struct arena *arena,
		       struct progress_claim *claim, const char **ret_uid,
		       struct error *err)
{
	const struct authenticator_request r = {
		.peer = claim->peer,
		.subject = arena_printf(arena, "%s/%s", claim->ns, claim->name),
		.token = claim->token,
	};
	struct error why = { 0 };

	*ret_uid = NULL;
	if (!may_be(arena, claim))
		return 0;
	if (authenticator_wait(tokens, arena, &r, ret_uid, &why) != AUTHENTICATOR_FAILED)
		return 0;
	*err = why;
	return -1;
}

int progress_auth_new(struct authenticator **ret, struct kube *k, struct error *err)
{
	const struct authenticator_conf conf = {
		.review = ask,
		.ctx = k,
		.threads = THREADS,
		.max = MAX_GRANTS,
		.accepted_ms = GRANT_MS,
	};

	return authenticator_new(ret, &conf, err);
}
