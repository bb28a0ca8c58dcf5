/*
 * jobs_world.c - world one: TrainJobs, this machine's API and the controller's passes in
 * one process.
 *
 * The program's reconciler, API server, garbage collector and rules of JobSet run. What
 * stands in: the users, the kubelet, and the network between controller and API, which
 * lets others act before and after each call, refuses calls, and loses answers. Watches
 * arrive late; a controller dies in any call, and its calls after that arrive nowhere.
 */
#include "tests/sim/events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "apiserver/apiserver.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "jobs/jobs.h"
#include "kube/kube.h"
#include "manager/job_memory.h"
#include "manager/reconcile.h"
#include "trainer/api.h"
#include "trainer/jobset.h"
#include "trainer/trainjob.h"
#include "trainer/trainjob_status.h"

enum {
	JOBS = 5,
	FAULTS_MS = 60000, /* faults end; users act no more */
	END_MS = 3600000,  /* everything has ended by then */
	CALLS = 400,       /* of the controller, for each TrainJob, by then */
	NESTED = 6,        /* steps of others during one call, at most */
};

struct world;

/* A process of the controller, until it dies. */
struct controller {
	struct world *w;
	bool dead;
	bool busy[JOBS];
	int failures[JOBS];
	struct job_memories memories;
	struct reconciler *reconciler;
	struct kube *kube;
	struct controller *next; /* all that ever were */
};

/* A JobSet, as its controller and the kubelet see it. */
struct run {
	char *uid, *owner; /* of the JobSet, and of its TrainJob */
	struct jobs *jobs;
	bool suspended;
	cJSON *sent; /* its status */
};

struct job {
	struct world *w;
	int i;
	char name[16], path[80];
	struct run *run;
	/* Of the TrainJob that there is now, by uid: */
	char *uid;
	bool finished, completed; /* its status said so */
	bool succeeded, failed;   /* its JobSet said so */
	bool deleted_jobset;      /* by a user */
	bool ran_again;
	/*
	 * It replaced another one between two calls that write an end, of which the second
	 * does not name the TrainJob's uid: a known fault of reconcile_status.c.
	 */
	bool may_inherit;
	bool changed; /* since it was last checked */
};

struct world {
	struct sim *sim;
	struct apiserver *api;
	struct controller *controller, *all;
	struct job jobs[JOBS];
	int n_jobs, depth, refuse, lose, kill;
	bool between; /* as may_inherit says */
	bool over;    /* what is still to come does nothing */
	int64_t calls, random;
};

static struct world *current;
/* Of all schedules, each of which begins and ends with no object: loading schemas is slow. */
static struct apiserver *server;
static int64_t start_ms;

/* ---- what the program asks of its machine ---- */

int64_t __wrap_clock_now(void);
int64_t __wrap_clock_now(void)
{
	return 1700000000 + clock_ms() / 1000;
}

/* Without a wait: the clock moves from event to event only. */
bool __wrap_stop_wait(int64_t ms);
bool __wrap_stop_wait(int64_t ms)
{
	return false;
}

/* UIDs are numbers in order, a map's secret is 0, and dice are the seed's. */
ssize_t __wrap_getrandom(void *data, size_t len, unsigned flags);
ssize_t __wrap_getrandom(void *data, size_t len, unsigned flags)
{
	int64_t n = !current                  ? 0
		    : !flags                  ? ++current->random
		    : len == sizeof(uint32_t) ? sim_dice(current->sim, INT32_MAX)
					      : 0;

	memset(data, 0, len);
	memcpy(data, &n, len < sizeof(n) ? len : sizeof(n));
	return (ssize_t)len;
}

static bool calm(const struct world *w)
{
	return clock_ms() - start_ms >= FAULTS_MS;
}

static bool percent(struct world *w, int n)
{
	return !calm(w) && sim_dice(w->sim, 100) >= 100 - n;
}

/* ---- the controller ---- */

struct key {
	struct controller *c;
	int i;
};

static void run_pass(void *ctx);

static void queue(struct controller *c, int i, int64_t ms)
{
	struct key *k = xmalloc(sizeof(*k));

	*k = (struct key){ c, i };
	sim_after(c->w->sim, ms, run_pass, k);
}

static void after_report(struct job *j, const char *uid, const char *pod,
			 const char *phase, int64_t ms);

/* The controller's watch tells of a change, some time later. */
static void tell(struct job *j)
{
	struct world *w = j->w;

	j->changed = true;
	queue(w->controller, j->i, percent(w, 10) ? sim_dice(w->sim, 5000) : 1);
}

/* So does that of JobSet's controller. */
static void changed(struct world *w, int i)
{
	tell(&w->jobs[i]);
	after_report(&w->jobs[i], "", NULL, NULL, sim_dice(w->sim, 300));
}

static void run_pass(void *ctx)
{
	cleanup_free struct key *k = ctx;
	struct controller *c = k->c;
	struct job *j = &c->w->jobs[k->i];
	char key[32];
	struct error err = { 0 };
	int64_t after = 0, pause;
	int rc;

	if (c->dead || c->w->over)
		return;
	if (c->busy[k->i]) {
		queue(c, k->i, 5);
		return;
	}
	snprintf(key, sizeof(key), "default/%s", j->name);
	c->busy[k->i] = true;
	rc = reconcile_trainjob(c->reconciler, key, &after, &err);
	c->busy[k->i] = false;
	if (c->dead)
		return;
	if (rc) {
		sim_note(c->w->sim, "controller: %s: %s", key, err.msg);
		pause = 5LL << (c->failures[k->i] < 14 ? c->failures[k->i]++ : 14);
		queue(c, k->i, pause);
		return;
	}
	c->failures[k->i] = 0;
	if (after)
		queue(c, k->i, after);
}

static void controller_start(struct world *w);

static void controller_die(struct world *w)
{
	sim_note(w->sim, "controller dies");
	w->controller->dead = true;
	controller_start(w);
}

/* ---- the network ---- */

static void answer_error(struct httpd_response *resp, int code, const char *reason)
{
	buf_release(&resp->headers);
	buf_release(&resp->body);
	resp->body.max = 65536;
	resp->status = code;
	resp->content_type = "application/json";
	buf_printf(&resp->body,
		   "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\","
		   "\"reason\":\"%s\",\"message\":\"%s (simulated)\",\"code\":%d}",
		   reason, reason, code);
}

static const struct {
	int code;
	const char *reason;
} refusals[] = {
	{ 500, "InternalError" },      { 409, "Conflict" }, { 429, "TooManyRequests" },
	{ 503, "ServiceUnavailable" }, { 504, "Timeout" },
};

static void let_others(struct world *w, bool between)
{
	bool before = w->between;

	if (w->depth >= 2)
		return;
	w->between |= between;
	w->depth++;
	for (int i = 0; i < NESTED && percent(w, 30); i++)
		sim_step(w->sim);
	w->depth--;
	w->between = before;
}

static void handle(void *ctx, const struct httpd_request *req,
		   struct httpd_response *resp)
{
	struct controller *c = ctx;
	struct world *w = c->w;
	bool write = !str_eq(req->method, "GET");
	size_t k;

	w->calls++;
	let_others(w, str_ends(req->path, "/status"));
	if (!c->dead && percent(w, w->kill))
		controller_die(w);
	if (c->dead) {
		answer_error(resp, 500, "Gone");
		return;
	}
	if (percent(w, w->refuse)) {
		k = (size_t)sim_dice(w->sim, N_ELEMENTS(refusals));
		if (!write && refusals[k].code == 409)
			k = 0;
		sim_note(w->sim, "refused %d: %s %s", refusals[k].code, req->method,
			 req->path);
		answer_error(resp, refusals[k].code, refusals[k].reason);
		return;
	}
	apiserver_handle_inside(w->api, req, resp);
	if (write) {
		sim_note(w->sim, "%s %s: %d", req->method, req->path, resp->status);
		for (int i = 0; i < w->n_jobs; i++)
			if (strstr(req->path, w->jobs[i].name))
				changed(w, i);
	}
	let_others(w, !write);
	if (write && percent(w, w->lose)) {
		sim_note(w->sim, "answer lost: %s %s", req->method, req->path);
		answer_error(resp, 504, "Timeout");
	}
}

static void controller_start(struct world *w)
{
	struct controller *c = xcalloc(1, sizeof(*c));
	const struct kube_config config = { .ns = "default" };
	struct kube_opts opts = { .user_agent = "kftrainer", .after_stop = true };
	struct reconciler_conf conf = { .memories = &c->memories, .local = true };

	c->w = w;
	c->next = w->all;
	w->all = w->controller = c;
	job_memories_init(&c->memories);
	opts.inside =
		(struct inside_server){ .handle = handle, .ctx = c, .documents = true };
	if (kube_new(&c->kube, &config, &opts, IGNORED))
		abort();
	conf.kube = c->kube;
	c->reconciler = reconciler_new(&conf);
	for (int i = 0; i < w->n_jobs; i++)
		queue(c, i, 1);
}

static void controller_free(struct controller *c)
{
	reconciler_free(c->reconciler);
	job_memories_release(&c->memories);
	kube_free(c->kube);
	free(c);
}

/* ---- JobSet's controller and the kubelet ---- */

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
	const char *phase;
};

static void step_jobset(void *ctx);

static void after_report(struct job *j, const char *uid, const char *pod,
			 const char *phase, int64_t ms)
{
	struct report *r = xmalloc(sizeof(*r));

	*r = (struct report){ j, xstrdup(uid), pod ? xstrdup(pod) : NULL, phase };
	sim_after(j->w->sim, ms, step_jobset, r);
}

static void report_pod(struct job *j, const struct report *r)
{
	struct world *w = j->w;
	cleanup_json cJSON *status = NULL;
	int64_t ms = percent(w, 5) ? 2 * FAULTS_MS : 1000 + sim_dice(w->sim, 20000);

	if (!r->phase) {
		jobs_pod_status(j->run->jobs, r->pod, NULL, clock_ms());
		return;
	}
	status = cJSON_CreateObject();
	json_put_str(status, r->phase, "phase");
	sim_note(w->sim, "pod %s: %s", r->pod, r->phase);
	jobs_pod_status(j->run->jobs, r->pod, status, clock_ms());
	if (str_eq(r->phase, "Running"))
		after_report(j, r->uid, r->pod, percent(w, 10) ? "Failed" : "Succeeded",
			     ms);
}

static bool says(const cJSON *status, const char *type)
{
	return status_is_true(status, type);
}

static void act(struct job *j, const struct jobs_action *a)
{
	struct run *r = j->run;
	int64_t ms = percent(j->w, 10) ? 30000 : 10 + sim_dice(j->w->sim, 500);

	if (a->type == JOBS_CREATE_POD)
		after_report(j, r->uid, a->pod_name, "Running", ms);
	else
		after_report(j, r->uid, a->pod_name, NULL, 10);
}

static void put_jobset_status(struct job *j)
{
	cleanup_json cJSON *patch = cJSON_CreateObject();
	const cJSON *status = jobs_status(j->run->jobs);
	char path[120];

	if (json_equal(status, j->run->sent))
		return;
	json_put(patch, json_dup(status), "status");
	snprintf(path, sizeof(path), "%s/status", j->path);
	if (apiserver_write(j->w->api, "PATCH", path, patch, NULL, IGNORED))
		return;
	cJSON_Delete(j->run->sent);
	j->run->sent = json_dup(status);
	if (str_eq(j->run->owner, j->uid)) {
		j->succeeded |= says(status, "Completed");
		j->failed |= says(status, "Failed");
	}
	tell(j);
}

/* A JobSet with another uid is another run. */
static bool find_run(struct job *j)
{
	cleanup_json cJSON *jobset = apiserver_get(j->w->api, JOBSET_API_VERSION,
						   JOBSET_KIND, "default", j->name);
	const cJSON *owner = meta_controller(jobset);
	bool suspend = json_bool(jobset, false, "spec", "suspend");

	if (j->run && (!jobset || !str_eq(meta_uid(jobset), j->run->uid))) {
		run_free(j->run);
		j->run = NULL;
	}
	if (!jobset || meta_is_deleted(jobset))
		return false;
	if (!j->run) {
		struct run *r = xcalloc(1, sizeof(*r));

		r->uid = xstrdup(meta_uid(jobset));
		r->owner = xstrdup(owner ? json_str(owner, "uid") : "");
		if (jobs_new(&r->jobs, jobset, IGNORED)) {
			run_free(r);
			return false;
		}
		j->run = r;
		r->suspended = suspend;
		sim_note(j->w->sim, "JobSet %s is new", j->name);
		if (j->uid && str_eq(r->owner, j->uid) && j->finished)
			j->ran_again = true;
	} else if (suspend != j->run->suspended) {
		jobs_set_suspend(j->run->jobs, suspend);
		j->run->suspended = suspend;
	}
	return true;
}

static void step_jobset(void *ctx)
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
		put_jobset_status(j);
		if (wake >= 0)
			after_report(j, j->run->uid, NULL, NULL,
				     wake > clock_ms() ? wake - clock_ms() : 1);
	}
	free(r->uid);
	free(r->pod);
}

/* ---- users ---- */

static void create_job(struct job *j)
{
	struct world *w = j->w;
	cleanup_json cJSON *tj =
		meta_new(TRAINER_API_VERSION, TRAINJOB_KIND, "default", j->name);
	cleanup_json cJSON *stored = NULL;
	struct error err = { 0 };

	json_put_str(tj, "torch", "spec", "runtimeRef", "name");
	json_put_str(tj, CLUSTER_RUNTIME_KIND, "spec", "runtimeRef", "kind");
	json_put_str(tj, TRAINER_GROUP, "spec", "runtimeRef", "apiGroup");
	if (sim_dice(w->sim, 4) == 3)
		json_put(tj, cJSON_CreateTrue(), "spec", "suspend");
	if (sim_dice(w->sim, 4) == 3)
		json_put(tj, cJSON_CreateNumber(10 + (int)sim_dice(w->sim, 60)), "spec",
			 "activeDeadlineSeconds");
	if (apiserver_write(w->api, "POST",
			    "/apis/" TRAINER_API_VERSION "/namespaces/default/trainjobs",
			    tj, &stored, &err)) {
		if (err.code != 409)
			sim_broken(w->sim, "cannot create a TrainJob: %s", err.msg);
		return;
	}
	sim_note(w->sim, "user creates %s", j->name);
	free(j->uid);
	j->uid = xstrdup(meta_uid(stored));
	j->may_inherit = j->w->between;
	j->ran_again = false;
	j->finished = j->completed = j->succeeded = j->failed = j->deleted_jobset = false;
	changed(w, j->i);
}

static void suspend_job(struct job *j, bool suspend)
{
	cleanup_json cJSON *patch = cJSON_CreateObject();
	cleanup_json cJSON *tj = apiserver_get(j->w->api, TRAINER_API_VERSION,
					       TRAINJOB_KIND, "default", j->name);
	char path[120];

	if (json_bool(tj, false, "spec", "suspend") == suspend)
		return; /* a watch would tell of nothing */
	snprintf(path, sizeof(path),
		 "/apis/" TRAINER_API_VERSION "/namespaces/default/trainjobs/%s",
		 j->name);
	json_put(patch, cJSON_CreateBool(suspend), "spec", "suspend");
	if (apiserver_write(j->w->api, "PATCH", path, patch, NULL, IGNORED))
		return;
	sim_note(j->w->sim, "user %s %s", suspend ? "suspends" : "resumes", j->name);
	changed(j->w, j->i);
}

static void delete_of(struct job *j, const char *what, const char *path)
{
	if (apiserver_write(j->w->api, "DELETE", path, NULL, NULL, IGNORED))
		return;
	sim_note(j->w->sim, "user deletes the %s %s", what, j->name);
	changed(j->w, j->i);
}

/* The garbage collector: objects of a TrainJob that is gone, some time later. */
struct garbage {
	struct job *j;
	char *owner;
};

static void collect(void *ctx)
{
	static const char *const kinds[][3] = {
		{ JOBSET_API_VERSION, JOBSET_KIND, "" },
		{ "v1", "ConfigMap", "-runtime-snapshot" },
	};
	cleanup_free struct garbage *g = ctx;
	char name[60];

	for (size_t i = 0; !g->j->w->over && i < N_ELEMENTS(kinds); i++) {
		cleanup_json cJSON *obj = NULL;

		snprintf(name, sizeof(name), "%s%s", g->j->name, kinds[i][2]);
		obj = apiserver_get(g->j->w->api, kinds[i][0], kinds[i][1], "default",
				    name);
		if (!str_eq(json_str(meta_controller(obj), "uid"), g->owner))
			continue;
		apiserver_drop(g->j->w->api, kinds[i][0], kinds[i][1], "default", name,
			       meta_uid(obj));
		sim_note(g->j->w->sim, "%s %s is collected", kinds[i][1], name);
		changed(g->j->w, g->j->i);
	}
	free(g->owner);
}

static void delete_job(struct job *j)
{
	struct world *w = j->w;
	struct garbage *g;
	cleanup_json cJSON *tj = apiserver_get(w->api, TRAINER_API_VERSION, TRAINJOB_KIND,
					       "default", j->name);

	if (!tj)
		return;
	sim_note(w->sim, "user deletes %s", j->name);
	g = xmalloc(sizeof(*g));
	*g = (struct garbage){ j, xstrdup(meta_uid(tj)) };
	apiserver_drop(w->api, TRAINER_API_VERSION, TRAINJOB_KIND, "default", j->name,
		       g->owner);
	sim_after(w->sim, sim_dice(w->sim, 4000), collect, g);
	changed(w, j->i);
}

static void replace_job(struct job *j)
{
	delete_job(j);
	create_job(j);
}

static void delete_snapshot(struct job *j)
{
	char path[120];

	snprintf(path, sizeof(path),
		 "/api/v1/namespaces/default/configmaps/%s-runtime-snapshot", j->name);
	delete_of(j, "snapshot of", path);
}

static void user_acts(void *ctx)
{
	struct job *j = ctx;

	if (j->w->over)
		return;
	if (calm(j->w)) {
		create_job(j); /* if there is none */
		suspend_job(j, false);
		return;
	}
	switch (sim_dice(j->w->sim, 10)) {
	case 1:
	case 2:
		suspend_job(j, true);
		break;
	case 3:
	case 4:
		suspend_job(j, false);
		break;
	case 5:
		delete_job(j);
		break;
	case 6:
		delete_of(j, "JobSet", j->path);
		break;
	case 7:
		delete_snapshot(j);
		break;
	case 8:
	case 9:
		replace_job(j);
		break;
	default:
		create_job(j);
	}
	sim_after(j->w->sim, 200 + sim_dice(j->w->sim, 15000), user_acts, j);
}

/* ---- what always holds ---- */

static void ends_once(struct job *j, const cJSON *status)
{
	bool complete = says(status, COND_COMPLETE), failed = says(status, COND_FAILED);

	if (complete && failed)
		sim_broken(j->w->sim, "%s is Complete and Failed", j->name);
	if (j->finished && !complete && !failed)
		sim_broken(j->w->sim, "%s is no longer finished", j->name);
	if (j->finished && j->completed != complete)
		sim_broken(j->w->sim, "%s has another end than before", j->name);
	j->finished = complete || failed;
	j->completed = complete;
}

static void claims_what_happened(struct job *j, const cJSON *status)
{
	if (j->may_inherit)
		return;
	if (says(status, COND_COMPLETE) && !j->succeeded)
		sim_broken(j->w->sim, "%s is Complete, its JobSet is not", j->name);
	if (says(status, COND_FAILED) && !j->failed && !status_is_exceeded(status))
		sim_broken(j->w->sim, "%s is Failed, its JobSet is not", j->name);
}

static void runs_no_more(struct job *j)
{
	if (j->ran_again)
		sim_broken(j->w->sim, "%s runs again after its end", j->name);
}

static void check_job(struct job *j)
{
	cleanup_json cJSON *tj = apiserver_get(j->w->api, TRAINER_API_VERSION,
					       TRAINJOB_KIND, "default", j->name);

	j->changed = false;
	if (!tj || !str_eq(meta_uid(tj), j->uid))
		return;
	ends_once(j, tj_status(tj));
	claims_what_happened(j, tj_status(tj));
	runs_no_more(j);
}

/* When all has ended: no JobSet without its TrainJob, nothing unfinished. */
static void settled(struct job *j)
{
	struct world *w = j->w;
	cleanup_json cJSON *tj = apiserver_get(w->api, TRAINER_API_VERSION, TRAINJOB_KIND,
					       "default", j->name);
	cleanup_json cJSON *jobset = apiserver_get(w->api, JOBSET_API_VERSION,
						   JOBSET_KIND, "default", j->name);

	if (!status_finished(tj_status(tj)))
		sim_broken(w->sim, "%s has not ended an hour later", j->name);
	if (jobset && !str_eq(json_str(meta_controller(jobset), "uid"), j->uid))
		sim_broken(w->sim, "the JobSet of a deleted TrainJob %s remains",
			   j->name);
}

/* ---- schedules ---- */

static void start(struct world *w)
{
	cleanup_json cJSON *runtime = NULL;
	struct error err = { 0 };
	static const char text[] =
		"{'apiVersion':'" TRAINER_API_VERSION "','kind':'ClusterTrainingRuntime',"
		"'metadata':{'name':'torch'},'spec':{'mlPolicy':{'numNodes':1,'torch':{}},"
		"'template':{'spec':{'replicatedJobs':[{'name':'node','template':{"
		"'metadata':{'labels':{'trainer.kubeflow.org/trainjob-ancestor-step':"
		"'trainer'}},'spec':{'backoffLimit':1,'template':{'spec':{'containers':[{"
		"'name':'node','image':'i'}]}}}}}]}}}}";
	cleanup_free char *json = xstrdup(text);

	for (char *p = json; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	w->api = server;
	if (json_parse(&runtime, json, strlen(json), &err) ||
	    apiserver_write(w->api, "POST",
			    "/apis/" TRAINER_API_VERSION "/clustertrainingruntimes",
			    runtime, NULL, &err))
		sim_broken(w->sim, "start: %s", err.msg);
}

static void end(struct world *w)
{
	static const char *const kinds[][2] = {
		{ TRAINER_API_VERSION, TRAINJOB_KIND },
		{ TRAINER_API_VERSION, CLUSTER_RUNTIME_KIND },
		{ JOBSET_API_VERSION, JOBSET_KIND },
		{ "v1", "ConfigMap" },
		{ "v1", "Secret" },
	};

	for (size_t i = 0; i < N_ELEMENTS(kinds); i++) {
		cleanup_json cJSON *list =
			apiserver_list(w->api, kinds[i][0], kinds[i][1], NULL);
		const cJSON *obj;

		json_each(obj, list)
			apiserver_drop(w->api, kinds[i][0], kinds[i][1],
				       meta_namespace(obj), meta_name(obj), NULL);
	}
}

static void jobs_world(struct sim *sim)
{
	struct world w = { .sim = sim };

	current = &w;
	start_ms = clock_ms();
	start(&w);
	w.n_jobs = 1 + (int)sim_dice(sim, JOBS);
	w.refuse = sim_dice(sim, 2) ? (int)sim_dice(sim, 20) : 0;
	w.lose = sim_dice(sim, 2) ? (int)sim_dice(sim, 20) : 0;
	w.kill = sim_dice(sim, 2) ? (int)sim_dice(sim, 5) : 0;
	for (int i = 0; i < w.n_jobs; i++) {
		struct job *j = &w.jobs[i];

		j->w = &w;
		j->i = i;
		snprintf(j->name, sizeof(j->name), "job-%d", i);
		snprintf(j->path, sizeof(j->path),
			 "/apis/" JOBSET_API_VERSION "/namespaces/default/jobsets/%s",
			 j->name);
	}
	controller_start(&w);
	for (int i = 0; i < w.n_jobs; i++) {
		create_job(&w.jobs[i]);
		sim_after(sim, 1000, user_acts, &w.jobs[i]);
	}
	while (!sim_is_broken(sim) && clock_ms() - start_ms < END_MS && sim_step(sim))
		for (int i = 0; i < w.n_jobs; i++)
			if (w.jobs[i].changed)
				check_job(&w.jobs[i]);
	for (int i = 0; i < w.n_jobs; i++)
		settled(&w.jobs[i]);
	if (w.calls > (int64_t)CALLS * w.n_jobs)
		sim_broken(sim, "%lld calls", (long long)w.calls);
	w.over = true;
	while (sim_step(sim))
		;
	for (int i = 0; i < w.n_jobs; i++) {
		run_free(w.jobs[i].run);
		free(w.jobs[i].uid);
	}
	for (struct controller *c = w.all, *next; c; c = next) {
		next = c->next;
		controller_free(c);
	}
	end(&w);
	current = NULL;
}

static const struct sim_seed known[] = {
	{ 81, "a finished TrainJob is replaced during a pass" },
	{ 0, NULL },
};

int main(int argc, char **argv)
{
	static const struct sim_conf conf = { "controller", jobs_world, 500, known };
	const struct apiserver_conf api = { 0 };
	int rc;

	if (apiserver_new(&server, &api, IGNORED))
		return 1;
	rc = sim_main(&conf, argc, argv);
	apiserver_free(server);
	return rc;
}
