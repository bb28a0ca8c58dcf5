/* suspension.c - the queue's Workload or spec.suspend (client/suspension.h). */
#include "client/suspension.h"

#include "api/meta.h"
#include "base/cleanup.h"
#include "client/jobs.h"
#include "client/queue.h"
#include "trainer/trainjob.h"
#include "trainer/trainjob_status.h"

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

int suspension_set(struct kube *k, const cJSON *job, bool suspend, enum suspension *ret,
		   struct error *err)
{
	const struct kube_ref ref = job_ref(meta_namespace(job), meta_name(job));
	const struct kube_write how = { .manager = "kftrainer", .meta_only = true };
	cleanup_json cJSON *patch = cJSON_CreateObject();
	enum queue_answer answer = QUEUE_NONE;

	if (check(job, suspend, err) ||
	    (queue_name(job) && queue_set_active(k, job, !suspend, &answer, err)))
		return -1;
	if (answer != QUEUE_NONE) {
		*ret = answer == QUEUE_SET_ALREADY ? SUSPENSION_LEFT_TO_QUEUE
						   : SUSPENSION_SET_BY_QUEUE;
		return 0;
	}
	*ret = tj_suspend(job) == suspend ? SUSPENSION_UNCHANGED : SUSPENSION_SET;
	if (*ret == SUSPENSION_UNCHANGED)
		return 0;
	tj_set_suspend(patch, suspend);
	return kube_merge_patch(k, &ref, patch, &how, NULL, err);
}
