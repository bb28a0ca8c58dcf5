/* jobs_nodes.c - JobSet's controller and the kubelet (jobs.h). */
#include "tests/sim/jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "jobs/events.h"
#include "jobs/jobs.h"
#include "trainer/jobset.h"
#include "trainer/trainjob_status.h"

enum { HANG_MS = 45000 }; /* of a pod whose node is gone, once faults have ended */

static void run_free(struct run *r)
{
	if (!r)
		return;
	cJSON_Delete(r->sent);
	cJSON_Delete(r->list);
	jobs_free(r->jobs);
	free(r->uid);
	free(r->owner);
	free(r);
}

struct report {
	struct job *j;
	char *uid, *pod;
	const char *phase; /* NULL: it no longer exists; "Lost": its node does not */
};

static void step(void *ctx);

static void after_report(struct job *j, const char *uid, const char *pod,
			 const char *phase, int64_t ms)
{
	struct report *r = xmalloc(sizeof(*r));

	*r = (struct report){ j, xstrdup(uid), pod ? xstrdup(pod) : NULL, phase };
	sim_after(j->w->sim, ms, step, r);
}

void nodes_look(struct job *j, int64_t ms)
{
	after_report(j, "", NULL, NULL, ms);
}

/* ---- pods ---- */

static cJSON *pod_get(const struct job *j, const char *name)
{
	return apiserver_get(j->w->api, "v1", "Pod", "default", name);
}

/* The end of a JobSet is recorded once. */
static void on_event(void *ctx, const cJSON *event)
{
	struct job *j = ctx;
	const char *reason = json_str(event, "reason");

	if (str_eq(json_str(event, "involvedObject", "kind"), "JobSet") &&
	    (str_eq(reason, "AllJobsCompleted") ||
	     str_eq(json_str(event, "type"), "Warning")) &&
	    j->run->ends++)
		BROKEN(j, "JobSet %s has another end: %s", j->name, reason);
}

/* As the controllers and the kubelet of a local run record them. */
static void record(struct job *j, const cJSON *old, const cJSON *now)
{
	if (j->w->rich && j->run)
		events_of(old, now, &(struct event_sink){ on_event, j });
}

static void pod_put(struct job *j, cJSON *take_pod, const char *phase)
{
	cleanup_json cJSON *pod = take_pod;
	cleanup_json cJSON *old = j->w->rich ? pod_get(j, meta_name(pod)) : NULL;

	json_put_str(pod, phase, "status", "phase");
	record(j, old, pod);
	if (apiserver_store(j->w->api, pod, IGNORED) < 0)
		NOTE(j, "the pod is not stored");
}

/* Nobody watches it any more. */
static void forget_disrupted(struct job *j, const char *pod)
{
	if (str_eq(j->disrupted, pod))
		j->disrupted_ms = 0;
}

static void pod_drop(struct job *j, const char *name)
{
	forget_disrupted(j, name);
	apiserver_drop(j->w->api, "v1", "Pod", "default", name, NULL);
}

static void add_condition(cJSON *status, const char *type)
{
	cJSON *c = cJSON_CreateObject();

	json_put_str(c, type, "type");
	json_put_str(c, "True", "status");
	if (str_eq(type, "DisruptionTarget"))
		json_put_str(c, "DeletionByTaintManager", "reason");
	cJSON_AddItemToArray(json_list(status, "conditions"), c);
}

static void disrupt(struct job *j, cJSON *pod)
{
	add_condition(json_obj(pod, "status"), "DisruptionTarget");
	j->disrupted_ms = clock_ms();
	snprintf(j->disrupted, sizeof(j->disrupted), "%s", meta_name(pod));
}

/* A pod runs. Some end just when the job's time is up. */
static int64_t how_long(const struct job *j)
{
	struct world *w = j->w;
	int64_t left = j->began_ms + j->deadline_ms - clock_ms();

	if (percent(w, 5))
		return 2 * FAULTS_MS;
	if (j->deadline_ms && left > 0 && percent(w, 50))
		return (left > 1000 ? left - 1000 : 0) + sim_dice(w->sim, 2500);
	return 1000 + sim_dice(w->sim, 20000);
}

/* What Job's rules ask of a pod: is it ready, why did it fail, did its node end it? */
static void describe(struct job *j, const struct report *r, cJSON *status)
{
	static const int codes[] = { 1, 42, 137 };
	cJSON *c = cJSON_CreateObject();

	json_put_str(status, r->phase, "phase");
	if (str_eq(r->phase, "Running")) {
		add_condition(status, "Ready");
		add_condition(status, "PodScheduled");
		json_put(c, cJSON_CreateObject(), "state", "running");
	}
	if (str_eq(j->disrupted, r->pod) ||
	    (j->w->rich && str_eq(r->phase, "Failed") && DICE(j, 4) == 3))
		add_condition(status, "DisruptionTarget");
	json_put_str(c, "node", "name");
	json_put_int(c, percent(j->w, 10) ? 3 : 0, "restartCount");
	if (str_eq(r->phase, "Failed")) {
		int code = codes[DICE(j, N_ELEMENTS(codes))];

		json_put_int(c, code, "state", "terminated", "exitCode");
		json_put_str(c, code == 137 ? "StartError" : "Error", "state",
			     "terminated", "reason");
	}
	cJSON_AddItemToArray(json_list(status, "containerStatuses"), c);
}

static void report_pod(struct job *j, const struct report *r)
{
	struct world *w = j->w;
	cleanup_json cJSON *status = cJSON_CreateObject();
	int64_t ms = how_long(j);
	cJSON *pod = pod_get(j, r->pod);

	if (r->phase && pod && str_eq(j->disrupted, r->pod) && calm_for(w) < HANG_MS) {
		cJSON_Delete(pod); /* nobody can tell what became of it */
		after_report(j, r->uid, r->pod, r->phase, HANG_MS);
		return;
	}
	if (pod && str_eq(json_str(pod, "status", "phase"), "Running"))
		j->run->running--;
	if (!r->phase || !pod) {
		cJSON_Delete(pod);
		pod_drop(j, r->pod);
		jobs_pod_status(j->run->jobs, r->pod, NULL, clock_ms());
		return;
	}
	sim_note(w->sim, "pod %s: %s", r->pod, r->phase);
	describe(j, r, status);
	if (w->rich)
		json_put(pod, json_dup(status), "status");
	pod_put(j, pod, r->phase);
	if (str_eq(r->phase, "Succeeded"))
		forget_disrupted(j, r->pod);
	jobs_pod_status(j->run->jobs, r->pod, status, clock_ms());
	j->run->running += str_eq(r->phase, "Running");
	if (str_eq(r->phase, "Running"))
		after_report(j, r->uid, r->pod,
			     percent(w, w->rich ? 40 : 10) ? "Failed" : "Succeeded", ms);
}

static bool has_ended(const cJSON *pod)
{
	const char *phase = json_str(pod, "status", "phase");

	return str_eq(phase, "Failed") || str_eq(phase, "Succeeded");
}

/* The pod stays as it is for some time; JobSet's controller waits for it. */
void nodes_lose_one(struct job *j)
{
	cleanup_json cJSON *list = apiserver_list(j->w->api, "v1", "Pod", "default");
	const cJSON *pod;

	json_each(pod, list)
		if (str_starts(meta_name(pod), j->name) && !j->disrupted_ms &&
		    !has_ended(pod)) {
			cJSON *copy = json_dup(pod);

			NOTE(j, "the node of pod %s is gone", meta_name(pod));
			disrupt(j, copy);
			pod_put(j, copy, json_str(pod, "status", "phase"));
		}
}

/* It was announced, with its names and labels. */
static void is_announced(struct job *j, const struct jobs_action *a)
{
	const struct jobs *jobs = j->run->jobs;
	const char *const *own = jobs_names_of(jobs, a->pod_name), *const * names;
	const char *pod;

	for (size_t i = 0; jobs_pod_names(jobs, i, &pod, &names); i++) {
		cleanup_json cJSON *labels = jobs_pod_labels(jobs, i);

		if ((!own || own == names) &&
		    json_equal(labels, json_get(a->pod, "metadata", "labels")))
			return;
	}
	BROKEN(j, "the pod %s was not announced", a->pod_name);
}

/* No node has room for some of them at first. */
static void begin(struct job *j, const struct jobs_action *a, cJSON *pod)
{
	char now[TIME_TEXT_SIZE];

	is_announced(j, a);
	json_put_str(pod, time_text(clock_now(), now), "metadata", "creationTimestamp");
	if (!percent(j->w, 20))
		return;
	add_condition(json_obj(pod, "status"), "PodScheduled");
	json_put_str(json_list(pod, "status", "conditions")->child, "False", "status");
}

/* It is asked to end. */
static void end(struct job *j, const char *name)
{
	cJSON *pod = j->w->rich ? pod_get(j, name) : NULL;
	char now[TIME_TEXT_SIZE];

	if (!pod)
		return;
	json_put_str(pod, time_text(clock_now(), now), "metadata", "deletionTimestamp");
	pod_put(j, pod, json_str(pod, "status", "phase"));
}

static void act(struct job *j, const struct jobs_action *a)
{
	struct run *r = j->run;
	int64_t ms = percent(j->w, 10) ? 30000 : 10 + DICE(j, 500);

	if (a->type == JOBS_CREATE_POD) {
		cJSON *pod = json_dup(a->pod);

		if (j->w->rich)
			begin(j, a, pod);
		pod_put(j, pod, "Pending");
		after_report(j, r->uid, a->pod_name, "Running", ms);
	} else {
		end(j, a->pod_name);
		after_report(j, r->uid, a->pod_name, NULL, 10);
	}
}

/* ---- JobSets ---- */

/* Of its Jobs, and its own: the events of what is new. */
static void record_all(struct job *j)
{
	struct run *r = j->run;
	cJSON *list = jobs_objects(r->jobs);
	cleanup_json cJSON *old = json_dup(jobset_of(j));
	const cJSON *one;

	json_put(old, json_dup(r->sent), "status");
	record(j, old, jobset_of(j));
	json_each(one, list) {
		const cJSON *before;

		json_each(before, r->list)
			if (str_eq(meta_uid(before), meta_uid(one)))
				break;
		record(j, before, one);
	}
	cJSON_Delete(r->list);
	r->list = list;
}

static void put_status(struct job *j)
{
	cleanup_json cJSON *patch = cJSON_CreateObject();
	const cJSON *status = jobs_status(j->run->jobs);
	char path[120];

	if (json_equal(status, j->run->sent))
		return;
	rules_on_jobs(j, status);
	json_put(patch, json_dup(status), "status");
	snprintf(path, sizeof(path), "%s/status", j->jobset_path);
	if (apiserver_write(j->w->api, "PATCH", path, patch, NULL, IGNORED))
		return;
	if (j->w->rich)
		record_all(j);
	cJSON_Delete(j->run->sent);
	j->run->sent = json_dup(status);
	if (str_eq(j->run->owner, j->uid)) {
		j->succeeded |= status_is_true(status, "Completed");
		j->failed |= status_is_true(status, "Failed");
		if (j->succeeded || j->failed)
			users_see_the_end(j);
		if ((j->succeeded || j->failed) && !j->ended_ms)
			j->ended_ms = clock_ms();
	}
	if (jobset_finished(jobset_of(j)) && j->i == 3) /* not by chance */
		objects_expire_jobset(j);
	j->changed = true;
}

static void drop_pods(struct job *j)
{
	cleanup_json cJSON *list = apiserver_list(j->w->api, "v1", "Pod", "default");
	const cJSON *pod;

	json_each(pod, list)
		if (str_starts(meta_name(pod), j->name))
			pod_drop(j, meta_name(pod));
	j->disrupted_ms = 0;
}

static void new_run(struct job *j, const cJSON *jobset, bool suspend)
{
	struct run *r = xcalloc(1, sizeof(*r));
	const cJSON *owner = meta_controller(jobset);

	r->uid = xstrdup(meta_uid(jobset));
	r->owner = xstrdup(owner ? json_str(owner, "uid") : "");
	if (jobs_new(&r->jobs, jobset, IGNORED)) {
		run_free(r);
		return;
	}
	j->run = r;
	r->suspended = suspend;
	NOTE(j, "JobSet %s is new", j->name);
	rules_on_new_jobset(j);
	if (j->uid && str_eq(r->owner, j->uid) && j->finished &&
	    meta_version_number(jobset) > j->end_version)
		j->ran_again = true;
}

/* A JobSet with another uid is another run. */
static bool find_run(struct job *j)
{
	const cJSON *jobset = jobset_of(j);
	bool suspend = json_bool(jobset, false, "spec", "suspend");

	if (j->run && (!jobset || !str_eq(meta_uid(jobset), j->run->uid))) {
		rules_on_end_of_run(j);
		run_free(j->run);
		j->run = NULL;
		drop_pods(j);
	}
	if (!jobset || meta_is_deleted(jobset))
		return false;
	if (!j->run) {
		new_run(j, jobset, suspend);
	} else if (suspend != j->run->suspended) {
		jobs_set_suspend(j->run->jobs, suspend);
		j->run->suspended = suspend;
	}
	return j->run;
}

static void step(void *ctx)
{
	cleanup_free struct report *r = ctx;
	struct job *j = r->j;
	const struct jobs_action *actions;
	int64_t wake = -1;
	size_t n;

	if (!j->w->over && find_run(j)) {
		if (r->pod && str_eq(r->uid, j->run->uid))
			report_pod(j, r);
		n = jobs_step(j->run->jobs, clock_ms(), &actions, &wake);
		for (size_t i = 0; i < n; i++)
			act(j, &actions[i]);
		put_status(j);
		if (wake >= 0)
			after_report(j, j->run->uid, NULL, NULL,
				     wake > clock_ms() ? wake - clock_ms() : 1);
	}
	free(r->uid);
	free(r->pod);
}

/* ---- JobSet's webhook ---- */

/* What does not change: of a suspended one, Kueue changes the nodes. */
static cJSON *fixed_of(const cJSON *jobset, bool suspended)
{
	cJSON *ret = json_dup(json_get(jobset, "spec", "replicatedJobs")), *job;

	json_each(job, suspended ? ret : NULL)
		json_del(json_get(job, "template", "spec", "template", "spec"),
			 JSON_PATH("nodeSelector"));
	return ret;
}

static bool is_fixed(const cJSON *now, const cJSON *then)
{
	bool suspended = json_bool(now, false, "spec", "suspend");
	cleanup_json cJSON *before = fixed_of(now, suspended);
	cleanup_json cJSON *after = fixed_of(then, suspended);

	return !after || json_equal(before, after);
}

static bool is_wrong(const cJSON *jobset)
{
	struct jobs *jobs = NULL;
	bool ret = jobs_new(&jobs, jobset, IGNORED);

	jobs_free(jobs);
	return ret;
}

bool nodes_refuse(struct job *j, const struct httpd_request *req)
{
	const struct httpd_header headers[] = {
		{ "Content-Type", httpd_header(req, "Content-Type") }, { NULL, NULL }
	};
	char query[200];
	struct httpd_response resp = { .headers = { .max = 4096 },
				       .body = { .max = 65536 } };
	struct httpd_request dry = *req;
	const cJSON *now = j ? jobset_of(j) : NULL;
	bool ret;

	if (!j || !(now || j->w->rich) || !str_eq(req->method, "PATCH") ||
	    !str_eq(req->path, j->jobset_path))
		return false;
	snprintf(query, sizeof(query), "%s%s", req->query,
		 strstr(req->query, "dryRun=") ? "" : "&dryRun=All");
	dry.query = query;
	dry.headers = headers;
	apiserver_handle_inside(j->w->api, &dry, &resp);
	ret = now && resp.doc && !is_fixed(now, resp.doc);
	if (j->w->rich && resp.doc && !ret && !now)
		ret = is_wrong(resp.doc);
	cJSON_Delete(resp.doc);
	buf_release(&resp.headers);
	buf_release(&resp.body);
	return ret;
}
