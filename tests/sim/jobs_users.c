/* jobs_users.c - users (jobs.h). */
#include "tests/sim/jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "trainer/api.h"
#include "trainer/jobset.h"
#include "trainer/trainjob.h"
#include "trainer/trainjob_status.h"

#define JOBS_PATH "/apis/" TRAINER_API_VERSION "/namespaces/default/trainjobs"

static const char *const runtimes[] = { "torch", "torch", "mpi" };

void users_changed(struct job *j)
{
	j->changed = true;
	nodes_look(j, sim_dice(j->w->sim, 300));
}

/* ---- runtimes ---- */

cJSON *users_read(const char *text)
{
	cleanup_free char *json = xstrdup(text);
	cJSON *ret = NULL;

	for (char *p = json; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	if (json_parse(&ret, json, strlen(json), IGNORED))
		abort();
	return ret;
}

#define RUNTIME(name, policy)                                                          \
	"{'apiVersion':'" TRAINER_API_VERSION "','kind':'ClusterTrainingRuntime',"     \
	"'metadata':{'name':'" name "'},'spec':{'mlPolicy':{'numNodes':1," policy "}," \
	"'template':{'spec':{'replicatedJobs':[{'name':'node','template':{"            \
	"'metadata':{'labels':{'trainer.kubeflow.org/trainjob-ancestor-step':"         \
	"'trainer'}},'spec':{'backoffLimit':1,'template':{'spec':{'containers':[{"     \
	"'name':'node','image':'first'}]}}}}}]}}}}"

void users_make_runtimes(struct world *w)
{
	static const char *const texts[] = {
		RUNTIME("torch", "'torch':{}"),
		RUNTIME("mpi", "'mpi':{'numProcPerNode':1,'mpiImplementation':'OpenMPI',"
			       "'sshAuthMountPath':'/root/.ssh'}"),
	};
	struct error err = { 0 };

	for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
		cleanup_json cJSON *runtime = users_read(texts[i]);

		if (apiserver_write(w->api, "POST",
				    "/apis/" TRAINER_API_VERSION
				    "/clustertrainingruntimes",
				    runtime, NULL, &err))
			sim_broken(w->sim, "start: %s", err.msg);
	}
}

static void change_runtime(struct job *j)
{
	char text[400];
	cleanup_json cJSON *patch = NULL;

	snprintf(text, sizeof(text),
		 "{'spec':{'template':{'spec':{'replicatedJobs':[{'name':'node',"
		 "'template':{'metadata':{'labels':{'trainer.kubeflow.org/trainjob-"
		 "ancestor-step':'trainer'}},'spec':{'backoffLimit':1,'template':{"
		 "'spec':{'containers':[{'name':'node','image':'change-%d'}]}}}}}]}}}}",
		 ++j->w->changes);
	patch = users_read(text);
	if (!apiserver_write(j->w->api, "PATCH",
			     "/apis/" TRAINER_API_VERSION
			     "/clustertrainingruntimes/torch",
			     patch, NULL, IGNORED))
		sim_note(j->w->sim, "somebody changes the runtime");
}

/* ---- TrainJobs ---- */

static void forget(struct job *j, const char *uid)
{
	free(j->uid);
	free(j->image);
	free(j->secret);
	j->uid = xstrdup(uid);
	j->image = j->secret = NULL;
	j->finished = j->completed = j->succeeded = j->failed = j->ran_again = false;
	j->expired = false;
	j->objects_deleted = false;
	j->unended_ms = j->deadline_ms = 0;
	j->began_ms = j->runs_since = clock_ms();
	j->exists = true;
}

void users_lose(struct job *j)
{
	j->exists = false;
	j->gone_ms = clock_ms();
	users_changed(j);
}

void users_create(struct job *j)
{
	struct world *w = j->w;
	cleanup_json cJSON *tj =
		meta_new(TRAINER_API_VERSION, TRAINJOB_KIND, "default", j->name);
	cleanup_json cJSON *stored = NULL;
	struct error err = { 0 };
	bool suspend;
	int deadline;

	if (j->dying)
		return;
	json_put_str(tj, runtimes[sim_dice(w->sim, N_ELEMENTS(runtimes))], "spec",
		     "runtimeRef", "name");
	json_put_str(tj, CLUSTER_RUNTIME_KIND, "spec", "runtimeRef", "kind");
	json_put_str(tj, TRAINER_GROUP, "spec", "runtimeRef", "apiGroup");
	suspend = is_calm(w) ? j->stays_suspended : sim_dice(w->sim, 4) == 3;
	if (suspend)
		json_put(tj, cJSON_CreateTrue(), "spec", "suspend");
	deadline = sim_dice(w->sim, 2) ? 6 + (int)sim_dice(w->sim, 44) : 0;
	if (deadline)
		json_put_int(tj, deadline, "spec", "activeDeadlineSeconds");
	if (j->i % 2) /* not by chance: the dice of known schedules stay */
		json_put_int(tj, j->i * 7, "spec", "ttlSecondsAfterFinished");
	if (apiserver_write(w->api, "POST", JOBS_PATH, tj, &stored, &err)) {
		if (err.code != 409)
			sim_broken(w->sim, "cannot create a TrainJob: %s", err.msg);
		return;
	}
	sim_note(w->sim, "user creates %s", j->name);
	forget(j, meta_uid(stored));
	j->suspend = suspend;
	j->deadline_ms = deadline * 1000;
	users_changed(j);
}

static void suspend_job(struct job *j, bool suspend)
{
	cleanup_json cJSON *patch = cJSON_CreateObject();
	const cJSON *tj = trainjob_of(j);
	bool stood = status_is_true(tj_status(tj), COND_SUSPENDED);

	if (json_bool(tj, false, "spec", "suspend") == suspend)
		return;
	json_put(patch, cJSON_CreateBool(suspend), "spec", "suspend");
	if (apiserver_write(j->w->api, "PATCH", j->path, patch, NULL, IGNORED))
		return;
	sim_note(j->w->sim, "user %s %s", suspend ? "suspends" : "resumes", j->name);
	j->suspend = suspend;
	if (stood && !suspend)
		j->runs_since = clock_ms();
	users_changed(j);
}

static void delete_of(struct job *j, int which, const char *what)
{
	const cJSON *obj = object_of(j, which);
	char path[OBJECT_PATH];

	if (!obj || apiserver_write(j->w->api, "DELETE", object_path(j, which, path),
				    NULL, NULL, IGNORED))
		return;
	sim_note(j->w->sim, "user deletes the %s %s", what, j->name);
	j->objects_deleted = true;
	if (str_eq(j->blocker, meta_uid(obj)))
		*j->blocker = 0;
	users_changed(j);
}

static void delete_job(struct job *j)
{
	struct world *w = j->w;
	const cJSON *tj = trainjob_of(j);

	if (!tj || meta_is_deleted(tj))
		return;
	sim_note(w->sim, "user deletes %s", j->name);
	users_lose(j);
	apiserver_drop(w->api, TRAINER_API_VERSION, TRAINJOB_KIND, "default", j->name,
		       meta_uid(tj));
	objects_collect(j, meta_uid(tj));
}

static void delete_snapshot(struct job *j)
{
	delete_of(j, SNAPSHOT, "snapshot of");
}

/* ---- what they do ---- */

static void suspend(struct job *j)
{
	suspend_job(j, true);
}

static void resume(struct job *j)
{
	suspend_job(j, false);
}

static void delete_jobset(struct job *j)
{
	delete_of(j, JOBSET, "JobSet");
}

static void replace(struct job *j)
{
	delete_job(j);
	users_create(j);
}

static void kill_controller(struct job *j)
{
	controllers_kill_one(j->w);
}

static void stop_controller(struct job *j)
{
	controllers_stop_one(j->w);
}

static void part_controller(struct job *j)
{
	controllers_part_one(j->w);
}

static void (*const acts[])(struct job *j) = {
	users_create,    suspend,         suspend,         resume,
	resume,          delete_job,      delete_jobset,   delete_snapshot,
	replace,         replace,         change_runtime,  nodes_lose_one,
	kill_controller, stop_controller, part_controller, others_edit,
	others_block,    others_toggle,   others_hold,     others_delete_namespace,
};

static void act(void *ctx)
{
	struct job *j = ctx;

	if (j->w->over)
		return;
	if (is_calm(j->w)) {
		users_create(j); /* if there is none */
		suspend_job(j, j->stays_suspended);
		if (j->snapshot_edited)
			delete_snapshot(j);
		return;
	}
	acts[sim_dice(j->w->sim, N_ELEMENTS(acts))](j);
	sim_after(j->w->sim, 200 + sim_dice(j->w->sim, 12000), act, j);
}

static void replace_now(void *ctx)
{
	struct job *j = ctx;

	if (!j->w->over && !is_calm(j->w))
		replace(j);
}

static void clean_up(void *ctx)
{
	struct job *j = ctx;

	if (!j->w->over && j->finished)
		delete_jobset(j);
}

void users_see_the_status(struct job *j)
{
	if (j->i % 2 == 0) /* not by chance, as above */
		sim_after(j->w->sim, 5000, clean_up, j);
}

void users_see_the_end(struct job *j)
{
	if (percent(j->w, 40))
		sim_after(j->w->sim, sim_dice(j->w->sim, 700), replace_now, j);
}

void users_start(struct job *j)
{
	j->stays_suspended = sim_dice(j->w->sim, 8) == 7;
	users_create(j);
	sim_after(j->w->sim, 1000, act, j);
}
