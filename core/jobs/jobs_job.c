/* jobs_job.c - the Job controller (jobs/jobs_impl.h). */
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/xmalloc.h"
#include "jobs/jobs_impl.h"

/*
 * The Job controller: pkg/controller/job/job_controller.go of Kubernetes, syncJob() and
 * manageJob(), without finalizers, informers and expectations, which only a controller
 * behind an API server needs.
 */

static bool ended(const struct jobs_pod *pod)
{
	return pod->gone || pod->phase == POD_SUCCEEDED || pod->phase == POD_FAILED;
}

static bool is_active(const struct jobs_pod *pod)
{
	return !ended(pod) && !pod->deleting;
}

struct job_pods job_count(const struct jobs_job *job)
{
	struct job_pods n = { 0 };

	for (const struct jobs_pod *pod = job->pods; pod; pod = pod->next) {
		n.total++;
		if (ended(pod))
			continue;
		n.restarts += pod->restarts;
		if (pod->deleting) {
			n.terminating++;
		} else {
			n.active++;
			n.ready += pod->ready;
		}
	}
	return n;
}

/* True: the pod's end is to be counted. The end of a pod that we deleted is not. */
static bool is_uncounted_end(const struct jobs_pod *pod)
{
	return ended(pod) && !pod->counted && !pod->deleting;
}

static void delete_pod(struct jobs *j, struct jobs_pod *pod)
{
	if (pod->deleting || pod->gone)
		return;
	pod->deleting = true;
	jobs_act(j, JOBS_DELETE_POD, pod);
}

static void delete_active(struct jobs *j, struct jobs_job *job)
{
	for (struct jobs_pod *pod = job->pods; pod; pod = pod->next)
		if (is_active(pod))
			delete_pod(j, pod);
}

static void set_target(struct jobs_job *job, enum job_end end, const char *reason,
		       char *take_message)
{
	job->target = end;
	job->reason = reason;
	free(job->message);
	job->message = take_message;
}

/* ---- create and delete the object ------------------------------------------- */

void job_create(struct jobs *j, struct jobs_job *job)
{
	cleanup_free char *seed =
		jobs_printf("%s#%d.%d", job->name, j->restarts, job->own_restarts);

	job->exists = true;
	job->created_ms = j->now_ms;
	job->attempt = j->restarts;
	job->own_attempt = job->own_restarts;
	job->suspended = j->suspended;
	job->suspend_ms = j->suspended ? j->now_ms : -1;
	free(job->uid);
	job->uid = jobs_uid(j->uid, seed);
	j->changed = true;
}

void job_delete(struct jobs *j, struct jobs_job *job)
{
	if (job->deleting)
		return;
	job->deleting = true;
	for (struct jobs_pod *pod = job->pods; pod; pod = pod->next)
		delete_pod(j, pod);
	j->changed = true;
}

void job_forget(struct jobs_job *job)
{
	set_target(job, JOB_OPEN, NULL, NULL);
	job->exists = job->deleting = job->suspended = false;
	job->end = JOB_OPEN;
	job->start_ms = -1;
	job->succeeded = job->failed = 0;
	job->backoff_failures = job->backoff_last_ms = 0;
	for (int i = 0; job->indexes && i < job->rjob->completions; i++)
		job->indexes[i] = (struct jobs_index){ 0 };
}

/* ---- pods that ended --------------------------------------------------------- */

static void count_success(struct jobs_job *job, const struct jobs_pod *pod)
{
	if (pod->index < 0) {
		job->succeeded++;
	} else if (job->indexes[pod->index].state == INDEX_OPEN) {
		job->indexes[pod->index].state = INDEX_SUCCEEDED;
		job->succeeded++;
	}
}

static void count_failure(struct jobs *j, struct jobs_job *job, struct jobs_pod *pod)
{
	const struct jobs_rjob *r = job->rjob;
	struct jobs_index *ix = pod->index < 0 ? NULL : &job->indexes[pod->index];
	char *message = NULL;
	enum pod_failure f = pod_failure_match(j, r, pod, &message);

	if (f == FAILURE_FAIL_JOB && job->target == JOB_OPEN)
		set_target(job, JOB_FAILED, "PodFailurePolicy", STEAL(message));
	free(message);
	if (f != FAILURE_IGNORE)
		job->failed++;
	if (!ix || r->backoff_per_index < 0 || ix->state != INDEX_OPEN)
		return;
	ix->last_failure_ms = pod->finished_ms;
	ix->all_failures++;
	if (f == FAILURE_FAIL_INDEX ||
	    (f != FAILURE_IGNORE && ix->failures >= r->backoff_per_index))
		ix->state = INDEX_FAILED;
	else if (f != FAILURE_IGNORE)
		ix->failures++;
}

/* newBackoffRecord() of backoff_utils.go: a success resets the failures before it. */
static void count_backoff(struct jobs_job *job)
{
	int64_t last_success = -1;

	for (struct jobs_pod *pod = job->pods; pod; pod = pod->next)
		if (is_uncounted_end(pod) && pod->phase == POD_SUCCEEDED &&
		    pod->finished_ms > last_success)
			last_success = pod->finished_ms;
	if (last_success >= 0)
		job->backoff_failures = 0;
	for (struct jobs_pod *pod = job->pods; pod; pod = pod->next) {
		if (!is_uncounted_end(pod) || pod->phase == POD_SUCCEEDED ||
		    pod->finished_ms <= last_success)
			continue;
		job->backoff_failures++;
		if (pod->finished_ms > job->backoff_last_ms)
			job->backoff_last_ms = pod->finished_ms;
	}
}

static void count_ended(struct jobs *j, struct jobs_job *job)
{
	count_backoff(job);
	for (struct jobs_pod *pod = job->pods; pod; pod = pod->next) {
		if (!is_uncounted_end(pod))
			continue;
		pod->counted = true;
		j->changed = true;
		if (pod->phase == POD_SUCCEEDED)
			count_success(job, pod);
		else
			count_failure(j, job, pod);
	}
}

/* ---- the end of a Job -------------------------------------------------------- */

static bool too_many_failures(const struct jobs_job *job, const struct job_pods *n)
{
	int64_t limit = job->rjob->backoff_limit;

	if (job->failed > limit)
		return true;
	if (!job->rjob->on_failure)
		return false;
	return limit ? n->restarts >= limit : n->restarts > 0;
}

static bool past_deadline(struct jobs *j, const struct jobs_job *job)
{
	if (job->rjob->deadline_ms < 0 || job->start_ms < 0 || job->suspended)
		return false;
	if (j->now_ms - job->start_ms >= job->rjob->deadline_ms)
		return true;
	jobs_wake_at(j, job->start_ms + job->rjob->deadline_ms);
	return false;
}

static int64_t failed_indexes(const struct jobs_job *job)
{
	int64_t n = 0;

	for (int i = 0; i < job->rjob->completions; i++)
		n += job->indexes[i].state == INDEX_FAILED;
	return n;
}

static void judge_indexes(struct jobs_job *job)
{
	const struct jobs_rjob *r = job->rjob;
	int64_t n = r->backoff_per_index >= 0 ? failed_indexes(job) : 0;
	int rule;

	if (n && r->max_failed_indexes >= 0 && n > r->max_failed_indexes)
		return set_target(job, JOB_FAILED, "MaxFailedIndexesExceeded",
				  xstrdup("Job has exceeded the specified maximal "
					  "number of failed indexes"));
	if (n && n + job->succeeded >= r->completions)
		return set_target(job, JOB_FAILED, "FailedIndexes",
				  xstrdup("Job has failed indexes"));
	rule = jobs_success_policy_match(job);
	if (rule >= 0)
		set_target(job, JOB_COMPLETE, "SuccessPolicy",
			   jobs_printf("Matched rules at index %d", rule));
}

static void judge(struct jobs *j, struct jobs_job *job, const struct job_pods *n)
{
	if (job->target != JOB_OPEN)
		return;
	if (too_many_failures(job, n))
		set_target(job, JOB_FAILED, "BackoffLimitExceeded",
			   xstrdup("Job has reached the specified backoff limit"));
	else if (past_deadline(j, job))
		set_target(job, JOB_FAILED, "DeadlineExceeded",
			   xstrdup("Job was active longer than specified deadline"));
	else if (job->rjob->indexed)
		judge_indexes(job);
}

/* ---- the number of pods ------------------------------------------------------ */

/* getRemainingTimeForFailuresCount(): the delay doubles with each failure. */
static int64_t ready_again_ms(const struct jobs *j, int64_t failures, int64_t last_ms)
{
	int64_t delay = j->backoff_first_ms;

	if (!failures)
		return 0;
	for (int64_t i = 1; i < failures && delay < j->backoff_max_ms; i++)
		delay *= 2;
	return last_ms + (delay < j->backoff_max_ms ? delay : j->backoff_max_ms);
}

static void create_pod(struct jobs *j, struct jobs_job *job, int index)
{
	struct jobs_pod *pod = xcalloc(1, sizeof(*pod));

	pod->index = index;
	pod->name = pod_new_name(job, index, job->serial++);
	pod->doc = pod_new(j, job, index, pod->name,
			   index < 0 ? 0 : job->indexes[index].failures);
	*job->tail = pod;
	job->tail = &pod->next;
	jobs_act(j, JOBS_CREATE_POD, pod);
}

/* firstPendingIndexes(): the lowest indexes that have neither ended nor a pod. */
static void create_indexed(struct jobs *j, struct jobs_job *job, int n)
{
	const struct jobs_rjob *r = job->rjob;

	for (int i = 0; i < r->completions; i++)
		job->indexes[i].busy = job->indexes[i].state != INDEX_OPEN;
	for (struct jobs_pod *pod = job->pods; pod; pod = pod->next)
		if (!ended(pod) && (!pod->deleting || r->replace_failed_only))
			job->indexes[pod->index].busy = true;
	for (int i = 0; i < r->completions && n; i++) {
		struct jobs_index *ix = &job->indexes[i];
		int64_t at = 0;

		if (ix->busy)
			continue;
		n--;
		if (r->backoff_per_index >= 0)
			at = ready_again_ms(j, ix->all_failures, ix->last_failure_ms);
		if (at > j->now_ms)
			jobs_wake_at(j, at);
		else
			create_pod(j, job, i);
	}
}

static int want_active(const struct jobs_job *job, const struct job_pods *n)
{
	const struct jobs_rjob *r = job->rjob;
	int64_t want = r->parallelism, left;

	if (r->completions < 0)
		return job->succeeded ? n->active : r->parallelism;
	left = r->completions - job->succeeded;
	want = left < want ? left : want;
	return want > 0 ? (int)want : 0;
}

static void manage(struct jobs *j, struct jobs_job *job, const struct job_pods *n)
{
	int missing = want_active(job, n) - n->active;
	int64_t at;

	if (job->suspended)
		return delete_active(j, job);
	if (job->rjob->replace_failed_only)
		missing -= n->terminating;
	if (missing <= 0)
		return;
	at = job->rjob->backoff_per_index >= 0
		     ? 0
		     : ready_again_ms(j, job->backoff_failures, job->backoff_last_ms);
	if (at > j->now_ms)
		return jobs_wake_at(j, at);
	if (job->rjob->indexed)
		return create_indexed(j, job, missing);
	while (missing--)
		create_pod(j, job, -1);
}

static bool is_complete(const struct jobs_job *job)
{
	struct job_pods n = job_count(job);

	if (job->rjob->completions < 0)
		return job->succeeded > 0 && !n.active;
	return job->succeeded >= job->rjob->completions && !n.active;
}

void job_sync(struct jobs *j, struct jobs_job *job)
{
	struct job_pods n;

	if (!job->exists || job->deleting || job->end != JOB_OPEN)
		return;
	if (job->start_ms < 0 && !job->suspended)
		job->start_ms = j->now_ms;
	count_ended(j, job);
	n = job_count(job);
	judge(j, job, &n);
	if (job->target != JOB_OPEN) {
		delete_active(j, job);
	} else {
		manage(j, job, &n);
		if (is_complete(job))
			set_target(job, JOB_COMPLETE, "CompletionsReached",
				   xstrdup("Reached expected number of succeeded pods"));
	}
	if (job->target == JOB_OPEN || job_count(job).terminating)
		return;
	job->end = job->target;
	job->end_ms = j->now_ms;
	j->changed = true;
}
