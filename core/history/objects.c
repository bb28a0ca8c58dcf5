/* objects.c - the objects of a run of the past (history/history_impl.h). */
#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "history/history_impl.h"
#include "jobs/jobs.h"
#include "local/state_metrics.h"
#include "local/state_owned.h"
#include "trainer/api.h"
#include "trainer/progress.h"
#include "trainer/trainjob_status.h"

enum { STOPPED_BY_TERM = 128 + 15 };

/* ---- the TrainJob ------------------------------------------------------------------------ */

/* When it was last known: its end, else the last word of its supervisor. */
static const char *last_time(const cJSON *report)
{
	const char *ended = json_str(report, "ended");

	return ended ? ended : json_str(report, "updated");
}

static void put_condition(cJSON *tj, const char *type, const char *reason,
			  const char *message, const char *when)
{
	cJSON *c = cJSON_CreateObject();

	json_put_str(c, type, "type");
	json_put_str(c, "True", "status");
	json_put_str(c, reason, "reason");
	json_put_str(c, message, "message");
	json_put_str(c, when ? when : "1970-01-01T00:00:00Z", "lastTransitionTime");
	cJSON_AddItemToArray(json_list(tj, "status", "conditions"), c);
}

static void put_end(cJSON *tj, const cJSON *report)
{
	cleanup_arena struct arena a = { 0 };
	const char *status = json_str(report, "status"), *why = json_str(report, "why");
	const char *when = last_time(report);

	if (str_eq(status, "Succeeded"))
		put_condition(tj, COND_COMPLETE, "AllJobsCompleted",
			      "jobset completed successfully", when);
	else if (str_eq(status, "Failed"))
		put_condition(tj, COND_FAILED, "FailedJobs",
			      why ? why : "a rank has failed", when);
	else if (str_eq(status, "Stopped"))
		put_condition(tj, COND_FAILED, REASON_INTERRUPTED,
			      arena_printf(&a, "stopped by a signal%s%s", why ? ": " : "",
					   why ? why : ""),
			      when);
	else if (!history_is_alive(report))
		put_condition(tj, COND_FAILED, REASON_INTERRUPTED,
			      arena_printf(&a, "its supervisor was last heard of at %s",
					   when ? when : "an unknown time"),
			      when);
	if (json_get(tj, "status", "conditions"))
		json_put(
			tj,
			json_dup(json_get(report, json_str(report, "ended") ? "ended"
									    : "updated")),
			"status", "completionTime");
}

static bool has_ended(const cJSON *tj)
{
	return status_finished(json_get(tj, "status"));
}

/* The counts of all nodes, as of one Job. */
static cJSON *count_of(const cJSON *report, const cJSON *tj)
{
	cJSON *list = cJSON_CreateArray(), *count = cJSON_CreateObject();
	bool ok = str_eq(json_str(report, "status"), "Succeeded"), ended = has_ended(tj);

	json_put_str(count, HISTORY_STEP, "name");
	json_put_int(count, !ended, "ready");
	json_put_int(count, ended && ok, "succeeded");
	json_put_int(count, ended && !ok, "failed");
	json_put_int(count, !ended, "active");
	json_put_int(count, 0, "suspended");
	cJSON_AddItemToArray(list, count);
	return list;
}

cJSON *history_trainjob(const cJSON *submitted, const cJSON *report,
			const cJSON *progress)
{
	cJSON *tj = json_dup(submitted);

	meta_set_name(tj, json_str(report, "name"));
	json_del(tj, JSON_PATH("status"));
	json_del(tj, JSON_PATH("metadata", "deletionTimestamp"));
	/* The TTL has deleted it where it ran, not here. */
	json_del(tj, JSON_PATH("spec", "ttlSecondsAfterFinished"));
	json_put_bool(tj, false, "spec", "suspend");
	if (json_str(report, "uid"))
		meta_set_uid(tj, json_str(report, "uid"));
	if (json_str(report, "created")) {
		json_put_str(tj, json_str(report, "created"), "metadata",
			     "creationTimestamp");
		json_put_str(tj, json_str(report, "created"), "status", "startTime");
	}
	put_end(tj, report);
	json_put(tj, count_of(report, tj), "status", "jobsStatus");
	if (progress)
		progress_put_line(tj, progress);
	if (json_get(report, "supervision"))
		json_put(tj, json_dup(json_get(report, "supervision")), "status",
			 "supervision");
	status_set_state(json_get(tj, "status"));
	return tj;
}

/* ---- JobSet and pods --------------------------------------------------------------------- */

static cJSON *pod_spec(void)
{
	cJSON *spec = cJSON_CreateObject(), *container = cJSON_CreateObject();

	json_put_str(container, HISTORY_CONTAINER, "name");
	cJSON_AddItemToArray(json_list(spec, "containers"), container);
	return spec;
}

cJSON *history_jobset(const cJSON *tj, const cJSON *report)
{
	cJSON *jobset = meta_new(JOBSET_API_VERSION, JOBSET_KIND, meta_namespace(tj),
				 meta_name(tj));
	cJSON *job = cJSON_CreateObject();
	const char *const path[] = { "template", "spec", NULL };

	json_put_str(job, HISTORY_STEP, "name");
	json_put_str(job, "trainer", "template", "metadata", "labels", LABEL_ANCESTOR);
	json_put_int(json_obj_at(job, path), json_int(report, 1, "nodes"), "completions");
	json_put_int(json_obj_at(job, path), json_int(report, 1, "nodes"), "parallelism");
	json_put(json_obj_at(job, path), pod_spec(), "template", "spec");
	cJSON_AddItemToArray(json_list(jobset, "spec", "replicatedJobs"), job);
	return jobset;
}

const char *history_pod(struct arena *arena, const char *name, int64_t rank)
{
	return arena_printf(arena, "%s-" HISTORY_STEP "-0-%lld-run", name,
			    (long long)rank);
}

/*
 * The first rank that failed has its exit code; the others were stopped because of it. Of
 * a job without such numbers, each has the job's.
 */
static int64_t exit_code(const cJSON *report, int64_t rank)
{
	const cJSON *failed = json_get(report, "supervision", "failed");

	if (str_eq(json_str(report, "status"), "Succeeded"))
		return 0;
	if (!failed || str_eq(json_str(report, "status"), "Stopped"))
		return json_int(report, STOPPED_BY_TERM, "exit");
	return rank == json_int(failed, -1, "rank")
		       ? json_int(failed, STOPPED_BY_TERM, "status")
		       : STOPPED_BY_TERM;
}

static void put_pod_end(cJSON *pod, cJSON *container, const cJSON *report, int64_t rank)
{
	const char *when = last_time(report);
	int64_t code = exit_code(report, rank);

	json_put_str(pod, code ? "Failed" : "Succeeded", "status", "phase");
	json_put_int(container, code, "state", "terminated", "exitCode");
	json_put_str(container, code ? "Error" : "Completed", "state", "terminated",
		     "reason");
	if (when)
		json_put_str(container, when, "state", "terminated", "finishedAt");
}

/* An object of the job's JobSet. */
static cJSON *object_of(const cJSON *tj, const cJSON *report, const char *api_version,
			const char *kind, const char *name)
{
	cleanup_arena struct arena a = { 0 };
	cJSON *obj = meta_new(api_version, kind, meta_namespace(tj), name);
	static const char *const labels[][2] = {
		{ "jobset.sigs.k8s.io/replicatedjob-name", HISTORY_STEP },
		{ "jobset.sigs.k8s.io/restart-attempt", "0" },
		{ "jobset.sigs.k8s.io/job-index", "0" },
	};

	meta_set_label(obj, "jobset.sigs.k8s.io/jobset-name", meta_name(tj));
	for (size_t i = 0; i < N_ELEMENTS(labels); i++)
		meta_set_label(obj, labels[i][0], labels[i][1]);
	meta_set_uid(obj, arena_printf(&a, "%s-%s", meta_uid(tj) ? meta_uid(tj) : "run",
				       name));
	json_put(obj, json_dup(json_get(report, "created")), "metadata",
		 "creationTimestamp");
	return obj;
}

static cJSON *job_of(const cJSON *tj, const cJSON *report)
{
	cleanup_arena struct arena a = { 0 };
	const char *name = arena_printf(&a, "%s-" HISTORY_STEP "-0", meta_name(tj));
	int64_t nodes = json_int(report, 1, "nodes");
	cJSON *job = object_of(tj, report, "batch/v1", "Job", name);

	json_put_int(job, nodes, "spec", "completions");
	json_put_int(job, nodes, "spec", "parallelism");
	json_put_int(job, has_ended(tj) ? 0 : nodes, "status", "active");
	return job;
}

static cJSON *pod_of(const cJSON *tj, const cJSON *job, const cJSON *report, int64_t rank)
{
	cleanup_arena struct arena a = { 0 };
	const char *name = history_pod(&a, meta_name(tj), rank),
		   *started = json_str(report, "started");
	cJSON *pod = object_of(tj, report, "v1", "Pod", name);
	cJSON *container = cJSON_CreateObject();

	meta_set_label(pod, "batch.kubernetes.io/job-completion-index",
		       arena_printf(&a, "%lld", (long long)rank));
	meta_set_annotation(pod, NODE_LOGS_ANNOTATION, "logs"); /* where is set later */
	meta_set_owner(pod, job);
	json_put(pod, pod_spec(), "spec");
	json_put_str(container, HISTORY_CONTAINER, "name");
	json_put_int(container, 0, "restartCount");
	if (has_ended(tj)) {
		put_pod_end(pod, container, report, rank);
	} else {
		json_put_str(pod, "Running", "status", "phase");
		json_put_str(container, started ? started : "", "state", "running",
			     "startedAt");
	}
	if (started) {
		json_put_str(pod, started, "status", "startTime");
		if (has_ended(tj))
			json_put_str(container, started, "state", "terminated",
				     "startedAt");
	}
	cJSON_AddItemToArray(json_list(pod, "status", "containerStatuses"), container);
	return pod;
}

/* ---- events -------------------------------------------------------------------------------- */

static cJSON *event_of(const cJSON *tj, const cJSON *line, size_t n)
{
	cleanup_arena struct arena a = { 0 };
	const char *time = json_str(line, "time"), *message = json_str(line, "message");
	const char *reason = json_str(line, "reason"), *type = json_str(line, "type");
	char when[TIME_TEXT_SIZE];
	int64_t seconds;
	cJSON *event;

	if (!time || time_parse(&seconds, time, IGNORED) || !message || !reason)
		return NULL;
	event = meta_new("v1", "Event", meta_namespace(tj),
			 arena_printf(&a, "%s.%zu", meta_name(tj), n));
	json_put_str(event, TRAINJOB_KIND, "involvedObject", "kind");
	json_put_str(event, TRAINER_API_VERSION, "involvedObject", "apiVersion");
	json_put_str(event, meta_namespace(tj), "involvedObject", "namespace");
	json_put_str(event, meta_name(tj), "involvedObject", "name");
	if (meta_uid(tj))
		json_put_str(event, meta_uid(tj), "involvedObject", "uid");
	json_put_str(event, str_eq(type, "Warning") ? "Warning" : "Normal", "type");
	json_put_str(event, reason, "reason");
	json_put_str(event, message, "message");
	json_put_str(event, time_text(seconds, when), "firstTimestamp");
	json_put_str(event, when, "lastTimestamp");
	json_put_int(event, 1, "count");
	return event;
}

struct writing {
	const struct state_run *run;
	const cJSON *tj;
	size_t n; /* events */
};

static void write_report(void *ctx, const cJSON *report)
{
	state_metrics_add(((struct writing *)ctx)->run, report);
}

static void write_event(void *ctx, const cJSON *line)
{
	struct writing *w = ctx;
	cleanup_json cJSON *event = event_of(w->tj, line, w->n + 1);

	if (event) {
		state_record(w->run, event);
		w->n++;
	}
}

static int write_lines(struct writing *w, const char *dir, const char *kind,
		       void (*each)(void *ctx, const cJSON *line), struct error *err)
{
	cleanup_arena struct arena a = { 0 };
	size_t n;
	struct history_part *parts = history_parts(&a, dir, kind, &n);

	for (size_t i = 0; i < n; i++) {
		cleanup_buf struct buf text = { .max = HISTORY_MAX_LINES };

		if (file_read_regular(&text, path_join(&a, dir, parts[i].path), err))
			return error_wrap(err, "attempts/%s", parts[i].path);
		if (text.len)
			state_metrics_lines((const char *)text.data, text.len, each, w);
	}
	return 0;
}

int history_write(const struct state_run *run, const cJSON *tj, const cJSON *report,
		  const char *dir, struct error *err)
{
	cleanup_json cJSON *job = job_of(tj, report);
	struct writing w = { run, tj, 0 };

	state_publish(run, "Job", meta_name(job), job);
	for (int64_t rank = 0; rank < json_int(report, 1, "nodes"); rank++) {
		cleanup_json cJSON *pod = pod_of(tj, job, report, rank);

		state_publish(run, "Pod", meta_name(pod), pod);
	}
	return write_lines(&w, dir, "events", write_event, err) ||
			       write_lines(&w, dir, "metrics", write_report, err)
		       ? -1
		       : 0;
}
