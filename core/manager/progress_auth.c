/* Decides whose token may report for which TrainJob: progress_auth.h. */
#include "manager/progress_auth.h"

#include <pthread.h>
#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "manager/pods.h"
#include "manager/review.h"
#include "trainer/api.h"

#define EXTRA "authentication.kubernetes.io/"

enum { GRANT_MS = 10 * 1000, MAX_GRANTS = 500 };

/* What was found out about a token and a TrainJob. */
struct grant {
	int64_t until; /* clock_ms() */
	char uid[];
};

struct progress_auth {
	struct kube *kube;
	pthread_mutex_t lock;
	struct map known; /* "ns/name token" to struct grant */
};

/* ---- what is known ---------------------------------------------------------------- */

static char *key_of(struct arena *arena, const struct progress_claim *claim)
{
	return arena_printf(arena, "%s/%s %s", claim->ns, claim->name, claim->token);
}

static void drop_old(struct progress_auth *a)
{
	int64_t now = clock_ms();

	map_each(e, &a->known) {
		struct grant *grant = e->value;

		if (grant->until <= now) {
			map_del(&a->known, e->key);
			free(grant);
		}
	}
}

static const char *recall(struct progress_auth *a, struct arena *arena, const char *key)
{
	const struct grant *grant;
	const char *uid = NULL;

	pthread_mutex_lock(&a->lock);
	drop_old(a);
	grant = map_get(&a->known, key);
	if (grant)
		uid = arena_strdup(arena, grant->uid);
	pthread_mutex_unlock(&a->lock);
	return uid;
}

static void remember(struct progress_auth *a, const char *key, const char *uid,
		     int64_t since)
{
	struct grant *grant = xcalloc(1, sizeof(*grant) + strlen(uid) + 1);

	grant->until = since + GRANT_MS;
	memcpy(grant->uid, uid, strlen(uid) + 1);
	pthread_mutex_lock(&a->lock);
	drop_old(a);
	if (a->known.n < MAX_GRANTS)
		grant = map_put(&a->known, key, grant);
	pthread_mutex_unlock(&a->lock);
	free(grant);
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

	*ret_uid = recall(a, arena, key);
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
		remember(a, key, *ret_uid, since);
	return 0;
}

struct progress_auth *progress_auth_new(struct kube *k)
{
	struct progress_auth *a = xcalloc(1, sizeof(*a));

	a->kube = k;
	pthread_mutex_init(&a->lock, NULL);
	return a;
}

void progress_auth_free(struct progress_auth *a)
{
	if (!a)
		return;
	map_release(&a->known, free);
	pthread_mutex_destroy(&a->lock);
	free(a);
}
