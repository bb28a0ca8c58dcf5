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
#include "jobs/jobs.h"
#include "trainer/jobset.h"
#include "trainer/trainjob_status.h"

enum { HANG_MS = 45000 }; /* of a pod whose node is gone, once faults have ended */

static void run_free(struct run *r)
{
	if (!r)
		return;
	cJSON_Delete(r->sent);
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

static void pod_put(const struct job *j, cJSON *take_pod, const char *phase)
{
	cleanup_json cJSON *pod = take_pod;

	json_put_str(pod, phase, "status", "phase");
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
	cJSON_AddItemToArray(json_list(status, "conditions"), c);
}

static void disrupt(struct job *j, cJSON *pod)
{
	add_condition(json_obj(pod, "status"), "DisruptionTarget");
	json_put_str(json_list(pod, "status", "conditions")->child,
		     "DeletionByTaintManager", "reason");
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
	if (str_eq(r->phase, "Running"))
		add_condition(status, "Ready");
	if (str_eq(j->disrupted, r->pod))
		add_condition(status, "DisruptionTarget");
	json_put_str(c, "node", "name");
	json_put_int(c, percent(j->w, 10) ? 3 : 0, "restartCount");
	if (str_eq(r->phase, "Failed"))
		json_put_int(c, codes[DICE(j, N_ELEMENTS(codes))], "state", "terminated",
			     "exitCode");
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
	pod_put(j, pod, r->phase);
	if (str_eq(r->phase, "Succeeded"))
		forget_disrupted(j, r->pod);
	jobs_pod_status(j->run->jobs, r->pod, status, clock_ms());
	j->run->running += str_eq(r->phase, "Running");
	if (str_eq(r->phase, "Running"))
		after_report(j, r->uid, r->pod, percent(w, 10) ? "Failed" : "Succeeded",
			     ms);
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

static void act(struct job *j, const struct jobs_action *a)
{
	struct run *r = j->run;
	int64_t ms = percent(j->w, 10) ? 30000 : 10 + DICE(j, 500);

	if (a->type == JOBS_CREATE_POD) {
		pod_put(j, json_dup(a->pod), "Pending");
		after_report(j, r->uid, a->pod_name, "Running", ms);
	} else {
		after_report(j, r->uid, a->pod_name, NULL, 10);
	}
}

/* ---- JobSets ---- */

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

	if (!now || !str_eq(req->method, "PATCH") || !str_eq(req->path, j->jobset_path))
		return false;
	snprintf(query, sizeof(query), "%s%s", req->query,
		 strstr(req->query, "dryRun=") ? "" : "&dryRun=All");
	dry.query = query;
	dry.headers = headers;
	apiserver_handle_inside(j->w->api, &dry, &resp);
	ret = resp.doc && !is_fixed(now, resp.doc);
	cJSON_Delete(resp.doc);
	buf_release(&resp.headers);
	buf_release(&resp.body);
	return ret;
}
