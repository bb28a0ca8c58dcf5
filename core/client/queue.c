/* queue.c - suspend and resume a TrainJob, in Kueue or not (client/queue.h). */
#include "client/queue.h"

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "client/jobs.h"
#include "trainer/trainjob.h"
#include "trainer/trainjob_status.h"
#include "why/foreign.h"

#define GROUP       "kueue.x-k8s.io"
#define QUEUE_LABEL GROUP "/queue-name"

const char *queue_name(const cJSON *job)
{
	const char *queue = meta_label(job, QUEUE_LABEL);

	return queue && *queue ? queue : NULL;
}

/* The version that the API server prefers; NULL: the group is not served. */
static int version_of(struct kube *k, struct arena *arena, const char **ret,
		      struct error *err)
{
	cleanup_json cJSON *group = NULL;
	const char *version;

	*ret = NULL;
	if (kube_call(k, "GET", "/apis/" GROUP, NULL, &group, err)) {
		if (err->kind != ERR_NOT_FOUND)
			return -1;
		*err = (struct error){ 0 };
		return 0;
	}
	version = json_str(group, "preferredVersion", "groupVersion");
	*ret = version ? arena_strdup(arena, version) : NULL;
	return 0;
}

struct search {
	const char *uid; /* of the job */
	cJSON *found;
};

static int match_owner(void *ctx, cJSON *take_obj, struct error *err)
{
	struct search *s = ctx;

	if (!s->found && str_eq(meta_owner_uid(meta_controller(take_obj)), s->uid))
		s->found = take_obj;
	else
		cJSON_Delete(take_obj);
	return 0;
}

/* *ret: the job's Workload, owned by the caller, or NULL. *ref gets its version. */
static int find(struct kube *k, const cJSON *job, struct arena *arena,
		struct kube_ref *ref, cJSON **ret, struct error *err)
{
	struct search search = { .uid = meta_uid(job) };
	const struct kube_sink sink = { .on_item = match_owner, .ctx = &search };
	int rc;

	*ret = NULL;
	*ref = (struct kube_ref){ .kind = "Workload", .ns = meta_namespace(job) };
	if (version_of(k, arena, &ref->api_version, err))
		return -1;
	if (!ref->api_version)
		return 0;
	rc = kube_list(k, ref, NULL, &sink, NULL, err);
	*ret = search.found;
	return rc;
}

int queue_worker(struct kube *k, const cJSON *job, struct arena *arena, const char **ret,
		 struct error *err)
{
	cleanup_json cJSON *found = NULL;
	struct kube_ref ref;
	int rc = find(k, job, arena, &ref, &found, err);
	const char *cluster = workload_cluster(found);

	*ret = cluster ? arena_strdup(arena, cluster) : NULL;
	return rc;
}

/* Set spec.active of the job's Workload. *ret is unchanged if it has none. */
static int set_active(struct kube *k, const cJSON *job, bool active, bool *ret_found,
		      enum suspension *ret, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *found = NULL, *patch = cJSON_CreateObject();
	const struct kube_write how = { .manager = "kftrainer", .meta_only = true };
	struct kube_ref ref;
	int rc = find(k, job, &arena, &ref, &found, err);

	*ret_found = found != NULL;
	if (rc || !found)
		return rc;
	*ret = SUSPENSION_LEFT_TO_QUEUE;
	if (json_bool(found, true, "spec", "active") == active)
		return 0;
	*ret = SUSPENSION_SET_BY_QUEUE;
	ref.name = meta_name(found);
	json_put_bool(patch, active, "spec", "active");
	return kube_merge_patch(k, &ref, patch, &how, NULL, err);
}

static int check(const cJSON *job, bool suspend, struct error *err)
{
	const cJSON *status = tj_status(job);

	if (status_finished(status))
		return error_set(err, ERR_CONFLICT,
				 "TrainJob %s is %s: a finished job cannot be %s",
				 meta_name(job), status_state(status),
				 suspend ? "suspended" : "resumed");
	if (meta_is_deleted(job))
		return error_set(err, ERR_CONFLICT, "TrainJob %s is being deleted",
				 meta_name(job));
	return 0;
}

int queue_set_suspended(struct kube *k, const cJSON *job, bool suspend,
			enum suspension *ret, struct error *err)
{
	const struct kube_ref ref = job_ref(meta_namespace(job), meta_name(job));
	const struct kube_write how = { .manager = "kftrainer", .meta_only = true };
	cleanup_json cJSON *patch = cJSON_CreateObject();
	bool queued = false;

	if (check(job, suspend, err) ||
	    (queue_name(job) && set_active(k, job, !suspend, &queued, ret, err)))
		return -1;
	if (queued)
		return 0;
	*ret = tj_suspend(job) == suspend ? SUSPENSION_UNCHANGED : SUSPENSION_SET;
	if (*ret == SUSPENSION_UNCHANGED)
		return 0;
	tj_set_suspend(patch, suspend);
	return kube_merge_patch(k, &ref, patch, &how, NULL, err);
}
