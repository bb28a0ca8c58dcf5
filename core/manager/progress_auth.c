/* Decides whose token may report for which TrainJob: progress_auth.h. */
#include "manager/progress_auth.h"

#include <stdlib.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "manager/grants.h"
#include "manager/pods.h"
#include "manager/review.h"
#include "trainer/api.h"

#define EXTRA "authentication.kubernetes.io/"

enum { GRANT_MS = 10 * 1000, MAX_GRANTS = 500 };

struct progress_auth {
	struct kube *kube;
	struct grants grants; /* "ns/name token" to the TrainJob's uid */
};

static char *key_of(struct arena *arena, const struct progress_claim *claim)
{
	return arena_printf(arena, "%s/%s %s", claim->ns, claim->name, claim->token);
}

/* ---- the chain -------------------------------------------------------------------- */

/* The only value of an extra of the user, or NULL. */
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

/* Is that pod there, and one of the JobSet's? */
static int check_pod(struct progress_auth *a, const struct progress_claim *claim,
		     const cJSON *user, bool *ret, struct error *err)
{
	const char *name = extra(user, EXTRA "pod-name");
	const char *uid = extra(user, EXTRA "pod-uid");
	struct kube_ref ref = { "v1", "Pod", claim->ns, name };
	cleanup_json cJSON *pod = NULL;

	*ret = false;
	if (!name || !uid)
		return 0;
	if (kube_find(a->kube, &ref, &pod, err))
		return -1;
	*ret = pod && str_eq(meta_uid(pod), uid) &&
	       str_eq(meta_label(pod, POD_JOBSET_LABEL), claim->name);
	return 0;
}

/* The uid of the TrainJob whose JobSet it is. */
static int check_jobset(struct progress_auth *a, struct arena *arena,
			const struct progress_claim *claim, const char **ret_uid,
			struct error *err)
{
	struct kube_ref ref = { JOBSET_API_VERSION, JOBSET_KIND, claim->ns, claim->name };
	cleanup_json cJSON *jobset = NULL;
	const cJSON *owner;

	if (kube_find(a->kube, &ref, &jobset, err))
		return -1;
	owner = meta_controller(jobset);
	if (owner && meta_is(owner, TRAINER_GROUP, TRAINJOB_KIND) &&
	    str_eq(json_str(owner, "name"), claim->name) && json_str(owner, "uid"))
		*ret_uid = arena_strdup(arena, json_str(owner, "uid"));
	return 0;
}

int progress_authorize(struct progress_auth *a, struct arena *arena,
		       const struct progress_claim *claim, const char **ret_uid,
		       struct error *err)
{
	const char *key = key_of(arena, claim);
	const char *audience = arena_printf(
		arena, TRAINER_API_VERSION "/namespaces/%s/trainjobs/%s/status",
		claim->ns, claim->name);
	cleanup_json cJSON *user = NULL;
	int64_t since = clock_ms();
	bool good;

	*ret_uid = grants_find(&a->grants, arena, key);
	if (*ret_uid)
		return 0;
	if (token_review(a->kube, claim->token, audience, &user, err))
		return -1;
	if (!user || !is_of_namespace(arena, user, claim->ns))
		return 0;
	if (check_pod(a, claim, user, &good, err))
		return -1;
	if (!good)
		return 0;
	if (check_jobset(a, arena, claim, ret_uid, err))
		return -1;
	if (*ret_uid)
		grants_add(&a->grants, key, *ret_uid, since);
	return 0;
}

struct progress_auth *progress_auth_new(struct kube *k)
{
	struct progress_auth *a = xcalloc(1, sizeof(*a));

	a->kube = k;
	grants_init(&a->grants, MAX_GRANTS, GRANT_MS);
	return a;
}

void progress_auth_free(struct progress_auth *a)
{
	if (!a)
		return;
	grants_release(&a->grants);
	free(a);
}
