/* jobs_object.c - build Jobs as v1 objects, with status (jobs/jobs_impl.h). */
#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "jobs/jobs_impl.h"

static void put_time(cJSON *doc, const char *key, int64_t ms)
{
	char text[TIME_TEXT_SIZE];

	json_put_str(doc, time_text(ms / 1000, text), key);
}

static void add_condition(cJSON *status, const char *type, bool is, const char *reason,
			  const char *message, int64_t ms)
{
	cJSON *c = cJSON_CreateObject();

	json_put_str(c, type, "type");
	json_put_str(c, is ? "True" : "False", "status");
	put_time(c, "lastProbeTime", ms);
	put_time(c, "lastTransitionTime", ms);
	if (reason)
		json_put_str(c, reason, "reason");
	if (message)
		json_put_str(c, message, "message");
	cJSON_AddItemToArray(json_list(status, "conditions"), c);
}

static void put_condition(cJSON *status, const struct jobs_job *job, const char *type,
			  int64_t ms)
{
	add_condition(status, type, true, job->reason, job->message, ms);
}

/* The succeeded indexes, as "0-2,5,6": from three in a row on with a dash. */
static void put_indexes(cJSON *status, const struct jobs_job *job)
{
	cleanup_buf struct buf text = { .max = 64 * 1024 };
	int n = job->indexes ? job->rjob->completions : 0;

	for (int i = 0; i < n; i++) {
		int first = i;

		if (job->indexes[i].state != INDEX_SUCCEEDED)
			continue;
		while (i + 1 < n && job->indexes[i + 1].state == INDEX_SUCCEEDED)
			i++;
		buf_printf(&text, "%s%d", text.len ? "," : "", first);
		if (i > first)
			buf_printf(&text, i > first + 1 ? "-%d" : ",%d", i);
	}
	if (text.len)
		json_put_str(status, (const char *)text.data, "completedIndexes");
}

static void put_status(cJSON *doc, const struct jobs_job *job)
{
	struct job_pods n = job_count(job);
	cJSON *status = json_obj(doc, "status");
	const struct {
		const char *key;
		int64_t n;
	} counts[] = { { "active", n.active },
		       { "succeeded", job->succeeded },
		       { "failed", job->failed } };

	if (job->start_ms >= 0)
		put_time(status, "startTime", job->start_ms);
	for (size_t i = 0; i < N_ELEMENTS(counts); i++)
		if (counts[i].n)
			json_put_int(status, counts[i].n, counts[i].key);
	json_put_int(status, n.ready, "ready");
	json_put_int(status, n.terminating, "terminating");
	json_obj(status, "uncountedTerminatedPods");
	put_indexes(status, job);
	if (job->suspend_ms >= 0)
		add_condition(status, "Suspended", job->suspended,
			      job->suspended ? "JobSuspended" : "JobResumed",
			      job->suspended ? "Job suspended" : "Job resumed",
			      job->suspend_ms);
	if (job->target != JOB_OPEN)
		put_condition(status, job,
			      job->target == JOB_COMPLETE ? "SuccessCriteriaMet"
							  : "FailureTarget",
			      job->end == JOB_OPEN ? job->created_ms : job->end_ms);
	if (job->end != JOB_OPEN)
		put_condition(status, job,
			      job->end == JOB_COMPLETE ? "Complete" : "Failed",
			      job->end_ms);
	if (job->end == JOB_COMPLETE)
		put_time(status, "completionTime", job->end_ms);
}

static cJSON *job_object(const struct jobs *j, const struct jobs_job *job)
{
	const cJSON *tmpl = json_get(job->rjob->doc, "template");
	cJSON *doc = meta_new("batch/v1", "Job", j->ns, job->name), *meta;

	meta = json_obj(doc, "metadata");
	json_put_str(meta, job->uid, "uid");
	put_time(meta, "creationTimestamp", job->created_ms);
	meta_overlay(json_obj(meta, "labels"), json_get(tmpl, "metadata", "labels"));
	meta_overlay(json_obj(meta, "annotations"),
		     json_get(tmpl, "metadata", "annotations"));
	jobs_put_jobset_keys(j, job, json_obj(meta, "labels"));
	jobs_put_jobset_keys(j, job, json_obj(meta, "annotations"));
	meta_set_owner(doc, j->jobset);
	json_put(doc, json_dup(json_get(tmpl, "spec")), "spec");
	json_put_bool(doc, job->suspended, "spec", "suspend");
	json_put_str(doc, job->uid, "spec", "selector", "matchLabels",
		     "batch.kubernetes.io/controller-uid");
	put_status(doc, job);
	return doc;
}

cJSON *jobs_objects(struct jobs *j)
{
	cJSON *list = cJSON_CreateArray();

	jobs_each_job(job, j) if (job->exists && !job->deleting)
		cJSON_AddItemToArray(list, job_object(j, job));
	return list;
}
