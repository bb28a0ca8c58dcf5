/* jobs_jobset.c - the JobSet controller (jobs/jobs_impl.h). */
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "jobs/jobs_impl.h"

/*
 * The JobSet controller: pkg/controllers of v0.12, jobset_controller.go and others. One
 * call of jobset_sync() is one reconcile.
 */

/* Counts of status.replicatedJobsStatus. */
struct rjob_counts {
	int ready, succeeded, failed, active, suspended;
};

static bool is_previous(const struct jobs *j, const struct jobs_job *job)
{
	return job->exists &&
	       (job->attempt < j->restarts || job->own_attempt < job->own_restarts);
}

static bool is_current(const struct jobs *j, const struct jobs_job *job)
{
	return job->exists && !is_previous(j, job);
}

/* calculateReplicatedJobStatuses() */
static struct rjob_counts count_rjob(const struct jobs *j, const struct jobs_rjob *r)
{
	struct rjob_counts c = { 0 };
	int want = r->completions >= 0 && r->completions < r->parallelism
			   ? r->completions
			   : r->parallelism;

	for (int i = 0; i < r->replicas; i++) {
		const struct jobs_job *job = &r->jobs[i];
		struct job_pods n;

		if (!is_current(j, job))
			continue;
		c.succeeded += job->end == JOB_COMPLETE;
		c.failed += job->end == JOB_FAILED;
		if (job->end != JOB_OPEN)
			continue;
		n = job_count(job);
		c.ready += job->succeeded + n.ready >= want;
		c.active += n.active > 0;
		c.suspended += job->suspended;
	}
	return c;
}

/* ---- conditions --------------------------------------------------------------- */

static void put_time(const struct jobs *j, cJSON *condition)
{
	char text[TIME_TEXT_SIZE];

	json_put_str(condition, time_text(j->now_ms / 1000, text), "lastTransitionTime");
}

static bool exclude_each_other(const char *a, const char *b)
{
	return (str_eq(a, "StartupPolicyInProgress") &&
		str_eq(b, "StartupPolicyCompleted")) ||
	       (str_eq(b, "StartupPolicyInProgress") &&
		str_eq(a, "StartupPolicyCompleted"));
}

/* updateCondition(): a condition that is False is never added. */
static void set_condition(struct jobs *j, const char *type, bool on, const char *reason,
			  const char *message)
{
	cJSON *list = json_list(j->status, "conditions"), *c;
	const char *status = on ? "True" : "False";

	json_each(c, list)
		if (on && exclude_each_other(json_str(c, "type"), type) &&
		    str_eq(json_str(c, "status"), "True")) {
			json_put_str(c, "False", "status");
			j->changed = true;
		}
	c = json_find(list, "type", type);
	if (!c && !on)
		return;
	if (c && str_eq(json_str(c, "status"), status) &&
	    str_eq(json_str(c, "reason"), reason) &&
	    str_eq(json_str(c, "message"), message))
		return;
	j->changed = true;
	if (!c) {
		c = cJSON_CreateObject();
		json_put_str(c, type, "type");
		cJSON_AddItemToArray(list, c);
	}
	if (!str_eq(json_str(c, "status"), status))
		put_time(j, c);
	json_put_str(c, status, "status");
	json_put_str(c, reason, "reason");
	json_put_str(c, message, "message");
}

static void fail(struct jobs *j, const char *reason, const char *what,
		 const struct jobs_job *first)
{
	cleanup_free char *message =
		jobs_printf("%s (first failed job: %s)", what, first->name);

	set_condition(j, "Failed", true, reason, message);
	set_condition(j, "RestartingJobSet", false, "JobSetFailed", "jobset failed");
	json_put_str(j->status, "Failed", "terminalState");
	j->failed = true;
}

static void complete(struct jobs *j)
{
	set_condition(j, "Completed", true, "AllJobsCompleted",
		      "jobset completed successfully");
	set_condition(j, "RestartingJobSet", false, "JobSetCompleted",
		      "jobset completed successfully");
	json_put_str(j->status, "Completed", "terminalState");
	j->completed = true;
}

/* ---- failure policy ------------------------------------------------------------ */

static bool str_in_list(const cJSON *list, const char *s)
{
	const cJSON *node;

	json_each(node, list)
		if (str_eq(cJSON_GetStringValue(node), s))
			return true;
	return false;
}

/* Patterns are POSIX extended expressions: the common part with Go's regexp syntax. */
static bool matches_any(const cJSON *patterns, const char *message)
{
	const cJSON *node;

	json_each(node, patterns) {
		const char *pattern = cJSON_GetStringValue(node);
		bool hit;
		regex_t re;

		if (!pattern || regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB))
			continue;
		hit = !regexec(&re, message, 0, NULL, 0);
		regfree(&re);
		if (hit)
			return true;
	}
	return false;
}

static bool rule_applies(const cJSON *rule, const struct jobs_job *job)
{
	const cJSON *reasons = json_get(rule, "onJobFailureReasons");
	const cJSON *patterns = json_get(rule, "onJobFailureMessagePatterns");
	const cJSON *targets = json_get(rule, "targetReplicatedJobs");

	return (!cJSON_GetArraySize(reasons) || str_in_list(reasons, job->reason)) &&
	       (!cJSON_GetArraySize(patterns) || matches_any(patterns, job->message)) &&
	       (!cJSON_GetArraySize(targets) || str_in_list(targets, job->rjob->name));
}

/* The Job that failed first, of those to which the rule applies (NULL: of all). */
static struct jobs_job *first_failed(struct jobs *j, const cJSON *rule)
{
	struct jobs_job *first = NULL;

	jobs_each_job(job, j) if (is_current(j, job) && job->end == JOB_FAILED &&
				  (!rule || rule_applies(rule, job)) &&
				  (!first || job->end_ms < first->end_ms)) first = job;
	return first;
}

bool jobs_first_failed(struct jobs *j, const char **ret_job, const char **ret_reason,
		       const char **ret_message)
{
	const struct jobs_job *job = j->failed ? first_failed(j, NULL) : NULL;

	if (!job)
		return false;
	*ret_job = job->name;
	*ret_reason = job->reason;
	*ret_message = job->message;
	return true;
}

static int64_t restarts_counted(struct jobs *j)
{
	int64_t n = j->restarts_counted;

	jobs_each_job(job, j) n += job->own_counted;
	return n;
}

static void restart_jobset(struct jobs *j, const cJSON *rule, const char *message,
			   bool counts)
{
	cleanup_free char *reason =
		rule ? jobs_printf("FailurePolicy_%s", json_str(rule, "name"))
		     : xstrdup("DefaultFailurePolicy");

	j->restarts++;
	j->restarts_counted += counts;
	j->changed = true;
	set_condition(j, "RestartingJobSet", true, reason, message);
}

static void restart_job(struct jobs *j, struct jobs_job *job, bool counts)
{
	job->own_restarts++;
	job->own_counted += counts;
	j->changed = true;
}

/* executeFailurePolicy() and its appliers */
static void apply_failure_policy(struct jobs *j)
{
	const cJSON *policy = json_get((const cJSON *)j->jobset, "spec", "failurePolicy");
	const cJSON *rule;
	struct jobs_job *job = NULL;
	const char *action = "RestartJobSet";
	cleanup_free char *message = NULL;
	bool counts;

	if (!policy)
		return fail(j, "FailedJobs",
			    "jobset failed due to one or more job failures",
			    first_failed(j, NULL));
	json_each(rule, json_get(policy, "rules")) {
		job = first_failed(j, rule);
		if (job)
			break;
	}
	if (rule && json_str(rule, "action"))
		action = json_str(rule, "action");
	if (!rule)
		job = first_failed(j, NULL);
	if (str_eq(action, "FailJobSet"))
		return fail(j, "FailJobSetFailurePolicyAction",
			    "applying FailJobSet failure policy action", job);
	counts = !str_ends(action, "AndIgnoreMaxRestarts");
	if (counts && restarts_counted(j) >= json_int(policy, 0, "maxRestarts"))
		return fail(j, "ReachedMaxRestarts",
			    "jobset failed due to reaching max number of restarts", job);
	if (str_eq(action, "RestartJob") ||
	    str_eq(action, "RestartJobAndIgnoreMaxRestarts"))
		return restart_job(j, job, counts);
	message = jobs_printf("applying %s failure policy action (first failed job: %s)",
			      action, job->name);
	restart_jobset(j, rule, message, counts);
}

/* ---- success policy -------------------------------------------------------------- */

static bool success_policy_met(struct jobs *j)
{
	const cJSON *policy = json_get((const cJSON *)j->jobset, "spec", "successPolicy");
	const cJSON *targets = json_get(policy, "targetReplicatedJobs");
	int done = 0, all = 0;

	for (size_t i = 0; i < j->n_rjobs; i++) {
		struct jobs_rjob *r = &j->rjobs[i];

		if (cJSON_GetArraySize(targets) && !str_in_list(targets, r->name))
			continue;
		done += count_rjob(j, r).succeeded;
		all += r->replicas;
	}
	if (str_eq(json_str(policy, "operator"), "Any"))
		all = 1;
	return done >= all;
}

/* ---- create, resume and suspend Jobs ----------------------------------------------- */

/* dependencyReachedStatus() */
static bool dependencies_met(struct jobs *j, const struct jobs_rjob *r)
{
	const cJSON *dep;

	json_each(dep, r->depends_on) {
		bool complete_wanted = str_eq(json_str(dep, "status"), "Complete");

		for (size_t i = 0; i < j->n_rjobs; i++) {
			const struct jobs_rjob *on = &j->rjobs[i];
			struct rjob_counts c;
			int n;

			if (!str_eq(on->name, json_str(dep, "name")))
				continue;
			c = count_rjob(j, on);
			n = c.succeeded;
			if (!complete_wanted)
				n += c.ready + c.failed;
			if (n != on->replicas)
				return false;
		}
	}
	return true;
}

static bool all_started(struct jobs *j, const struct jobs_rjob *r)
{
	struct rjob_counts c = count_rjob(j, r);

	return c.ready + c.succeeded + c.failed == r->replicas;
}

static bool in_order(const struct jobs *j)
{
	return str_eq(json_str((const cJSON *)j->jobset, "spec", "startupPolicy",
			       "startupPolicyOrder"),
		      "InOrder");
}

static void in_progress(struct jobs *j)
{
	set_condition(j, "StartupPolicyInProgress", true,
		      "InOrderStartupPolicyInProgress",
		      "in order startup policy is in progress");
}

static bool any_previous(struct jobs *j)
{
	jobs_each_job(job, j) if (is_previous(j, job)) return true;
	return false;
}

/* reconcileReplicatedJobs() */
static void create_jobs(struct jobs *j)
{
	bool blocked =
		any_previous(j) && str_eq(json_str((const cJSON *)j->jobset, "spec",
						   "failurePolicy", "restartStrategy"),
					  "BlockingRecreate");

	for (size_t i = 0; i < j->n_rjobs; i++) {
		struct jobs_rjob *r = &j->rjobs[i];

		if (!dependencies_met(j, r))
			continue;
		if (!j->suspended && in_order(j) && all_started(j, r))
			continue;
		for (int k = 0; k < r->replicas && !blocked; k++)
			if (!r->jobs[k].exists)
				job_create(j, &r->jobs[k]);
		if (!j->suspended && in_order(j))
			return in_progress(j);
	}
	if (!j->suspended && in_order(j))
		set_condition(j, "StartupPolicyCompleted", true,
			      "InOrderStartupPolicyCompleted",
			      "in order startup policy has completed");
}

static void suspend_jobs(struct jobs *j)
{
	jobs_each_job(job, j) if (is_current(j, job) && job->end == JOB_OPEN &&
				  !job->suspended)
	{
		job->suspended = true;
		job->suspend_ms = j->now_ms;
		j->changed = true;
	}
	set_condition(j, "Suspended", true, "SuspendedJobs", "jobset is suspended");
	set_condition(j, "RestartingJobSet", false, "JobSetSuspended",
		      "jobset is suspended");
}

/* Resuming a Job resets its start time. */
static void resume_job(struct jobs *j, struct jobs_job *job)
{
	job->suspended = false;
	job->suspend_ms = j->now_ms;
	job->start_ms = -1;
	j->changed = true;
}

/* resumeJobsIfNecessary() */
static void resume_jobs(struct jobs *j)
{
	for (size_t i = 0; i < j->n_rjobs; i++) {
		struct jobs_rjob *r = &j->rjobs[i];

		if (!dependencies_met(j, r) || (in_order(j) && all_started(j, r)))
			continue;
		for (int k = 0; k < r->replicas; k++)
			if (is_current(j, &r->jobs[k]) && r->jobs[k].suspended)
				resume_job(j, &r->jobs[k]);
		if (in_order(j))
			return in_progress(j);
	}
	set_condition(j, "Suspended", false, "ResumeJobs", "jobset is resumed");
}

static bool all_ready(struct jobs *j)
{
	int ready = 0, want = 0;

	for (size_t i = 0; i < j->n_rjobs; i++) {
		struct rjob_counts c = count_rjob(j, &j->rjobs[i]);

		ready += c.ready + c.succeeded;
		want += j->rjobs[i].replicas;
	}
	return ready == want;
}

/* reconcile() */
void jobset_sync(struct jobs *j)
{
	bool succeeded = false, failed = false, finished = j->completed || j->failed;

	jobs_each_job(job, j)
	{
		if (is_previous(j, job) ||
		    (finished && job->exists && job->end == JOB_OPEN))
			job_delete(j, job);
		succeeded |= is_current(j, job) && job->end == JOB_COMPLETE;
		failed |= is_current(j, job) && job->end == JOB_FAILED;
	}
	if (finished)
		return;
	if (!j->suspended && all_ready(j))
		set_condition(j, "RestartingJobSet", false, "JobsReady",
			      "all jobs are ready");
	if (failed)
		return apply_failure_policy(j);
	if (succeeded && success_policy_met(j))
		return complete(j);
	create_jobs(j);
	if (j->suspended)
		suspend_jobs(j);
	else
		resume_jobs(j);
}

/* ---- status ---------------------------------------------------------------------- */

static cJSON *restarts_of(const struct jobs_rjob *r, bool counted)
{
	cJSON *list = cJSON_CreateArray();

	for (int i = 0; i < r->replicas; i++)
		cJSON_AddItemToArray(list,
				     json_new_int(counted ? r->jobs[i].own_counted
							  : r->jobs[i].own_restarts));
	return list;
}

static cJSON *rjob_status(struct jobs *j, const struct jobs_rjob *r)
{
	struct rjob_counts c = count_rjob(j, r);
	cJSON *s = cJSON_CreateObject();
	bool restarted = false;

	json_put_str(s, r->name, "name");
	json_put_int(s, c.ready, "ready");
	json_put_int(s, c.succeeded, "succeeded");
	json_put_int(s, c.failed, "failed");
	json_put_int(s, c.active, "active");
	json_put_int(s, c.suspended, "suspended");
	for (int i = 0; i < r->replicas; i++)
		restarted |= r->jobs[i].own_restarts > 0;
	if (restarted) {
		json_put(s, restarts_of(r, false), "jobRestarts");
		json_put(s, restarts_of(r, true), "jobRestartsCountTowardsMax");
	}
	return s;
}

static int by_name_descending(const void *a, const void *b)
{
	const struct jobs_rjob *const *x = a, *const *y = b;

	return strcmp((*y)->name, (*x)->name);
}

/* As the controller, writes replicatedJobsStatus in descending order of names. */
void jobset_write_status(struct jobs *j)
{
	cleanup_free const struct jobs_rjob **order = xcalloc(j->n_rjobs, sizeof(*order));
	cJSON *list = cJSON_CreateArray();

	for (size_t i = 0; i < j->n_rjobs; i++)
		order[i] = &j->rjobs[i];
	qsort(order, j->n_rjobs, sizeof(*order), by_name_descending);
	for (size_t i = 0; i < j->n_rjobs; i++)
		cJSON_AddItemToArray(list, rjob_status(j, order[i]));
	json_put(j->status, list, "replicatedJobsStatus");
	json_put_int(j->status, j->restarts, "restarts");
	if (j->restarts_counted)
		json_put_int(j->status, j->restarts_counted, "restartsCountTowardsMax");
}
