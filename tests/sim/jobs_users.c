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

void users_changed(struct job *j)
{
	j->changed = true;
	nodes_look(j, DICE(j, 300));
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

#define TRAINER "'labels':{'trainer.kubeflow.org/trainjob-ancestor-step':'trainer'}"
#define JOB(name, labels, more, job, restart, image)                                  \
	"{'name':'" name "'," more "'template':{'metadata':{" labels "},'spec':{" job \
	"'template':{'spec':{'restartPolicy':'" restart "','containers':["            \
	"{'name':'" name "','image':'" image "'}]}}}}}"
#define FIRST(more, job, restart) JOB("first", "", more, job, restart, "first")
#define STEP(more, job) \
	JOB("node", TRAINER, more, "'backoffLimit':1," job, "Never", "first")
#define TORCH "'torch':{}"
#define MPI                                                        \
	"'mpi':{'numProcPerNode':1,'mpiImplementation':'OpenMPI'," \
	"'sshAuthMountPath':'/root/.ssh'}"

/* The first of these; the rest: of rich schedules. */
enum { OFTEN = 3, PLAIN = 9, PLAIN_ACTS = 20 };

/* Each has another part of what JobSet and Job have. */
static const struct runtime {
	const char *name, *policy, *jobset, *jobs;
	int nodes;
	bool own;  /* the namespace's, with the finalizer of an old release */
	bool late; /* made some time after the start */
} runtimes[] = {
	{ "torch", TORCH, "", STEP("", ""), .nodes = 1 },
	{ "torch", TORCH, "", STEP("", ""), .nodes = 1 },
	{ "mpi", MPI, "", STEP("", ""), .nodes = 1 },
	{ "own", TORCH, "", STEP("", ""), .nodes = 1, .own = true },
	{ "late", TORCH, "", STEP("", ""), .nodes = 2, .late = true },
	{ "steps", TORCH,
	  "'successPolicy':{'operator':'Any','targetReplicatedJobs':['node']},",
	  FIRST("", "", "Never") "," STEP(
		  "'dependsOn':[{'name':'first','status':'Complete'}],", ""),
	  .nodes = 1 },
	{ "ready", TORCH,
	  "'network':{'enableDNSHostnames':false},'successPolicy':{'operator':'All',"
	  "'targetReplicatedJobs':['node']},",
	  FIRST("'groupName':'a',", "'parallelism':2,'backoffLimit':2,",
		"OnFailure") "," STEP("'dependsOn':[{'name':'first',"
				      "'status':'Ready'}],",
				      ""),
	  .nodes = 1 },
	{ "ordered", TORCH,
	  "'startupPolicy':{'startupPolicyOrder':'InOrder'},'failurePolicy':{"
	  "'maxRestarts':1,'restartStrategy':'BlockingRecreate','rules':["
	  "{'name':'a','action':'FailJobSet','onJobFailureReasons':"
	  "['DeadlineExceeded']},{'name':'b','action':'RestartJob',"
	  "'targetReplicatedJobs':['first']},{'name':'c','action':"
	  "'RestartJobSetAndIgnoreMaxRestarts','onJobFailureMessagePatterns':"
	  "['.*limit']}]},",
	  FIRST("'replicas':2,", "'activeDeadlineSeconds':60,", "Never") "," STEP("", ""),
	  .nodes = 1 },
	{ "indexed", TORCH, "'failurePolicy':{'maxRestarts':2},",
	  STEP("", "'backoffLimitPerIndex':1,'maxFailedIndexes':1,"
		   "'completionMode':'Indexed','successPolicy':{'rules':[{"
		   "'succeededIndexes':'0,2-3','succeededCount':1}]},"
		   "'podFailurePolicy':{'rules':["
		   "{'action':'FailJob','onExitCodes':{'operator':'In','values':[42]}},"
		   "{'action':'Ignore','onPodConditions':[{'type':'DisruptionTarget'}]},"
		   "{'action':'FailIndex','onExitCodes':{'operator':'NotIn',"
		   "'values':[1,42]}}]},"),
	  .nodes = 3 },
	{ "loose", TORCH,
	  "'coordinator':{'replicatedJob':'node'},'network':{'subdomain':'net'},",
	  FIRST("", "'completionMode':'NonIndexed','parallelism':2,", "Never") "," STEP(
		  "", "'completionMode':'NonIndexed','podReplacementPolicy':'Failed',"),
	  .nodes = 2 },
	{ "rules", TORCH "},'runPolicy':{'ttlSecondsAfterFinished':5",
	  "'startupPolicy':{'startupPolicyOrder':'InOrder'},'failurePolicy':{"
	  "'maxRestarts':2,'rules':[{'name':'a','action':'RestartJob',"
	  "'onJobFailureReasons':['BackoffLimitExceeded']},{'name':'b','action':"
	  "'FailJobSet','onJobFailureReasons':['PodFailurePolicy'],"
	  "'targetReplicatedJobs':['first']},{'name':'c','action':"
	  "'RestartJobAndIgnoreMaxRestarts','onJobFailureMessagePatterns':"
	  "['none','.*index']}]},",
	  FIRST("'replicas':2,",
		"'backoffLimit':0,'podFailurePolicy':{'rules':[{'action':'FailJob',"
		"'onExitCodes':{'containerName':'first','operator':'In','values':[42]}}]"
		"},",
		"Never") "," STEP("",
				  "'backoffLimitPerIndex':0,'maxFailedIndexes':0,"
				  "'completionMode':'Indexed','successPolicy':{'rules':["
				  "{'succeededCount':2}]},'podFailurePolicy':{'rules':["
				  "{'action':'Count','onPodConditions':[{'type':"
				  "'DisruptionTarget','status':'True'}]},{'action':'FailJob',"
				  "'onPodConditions':[{'type':'Scheduled'}]}]},"),
	  .nodes = 3 },
	{ "gang", TORCH "},'podGroupPolicy':{'coscheduling':{'scheduleTimeoutSeconds':9}",
	  "", JOB("node", TRAINER, "", "", "Never','runtimeClassName':'fast", "first"),
	  .nodes = 2 },
	{ "volcano", TORCH "},'podGroupPolicy':{'volcano':{}", "", STEP("", ""),
	  .nodes = 1 },
	{ "native", TORCH "},'scheduling':{'schedulingPolicy':{'gang':{}}", "",
	  STEP("", ""), .nodes = 2 },
	{ "limits", TORCH "},'runPolicy':{'activeDeadlineSeconds':15", "",
	  STEP("", "'completionMode':'Indexed','backoffLimitPerIndex':2,"
		   "'podFailurePolicy':{'rules':[{'action':'Ignore','onExitCodes':{"
		   "'operator':'In','values':[42]}}]},"),
	  .nodes = 2 },
};

/* What JobSet's webhook refuses: one in a schedule. */
#define WRONG(jobset, more, job, restart)                                           \
	{                                                                           \
		"wrong", TORCH, jobset, FIRST(more, job, restart) "," STEP("", ""), \
			.nodes = 1                                                  \
	}
#define RULES(what) "'podFailurePolicy':{'rules':[" what "]},"
static const struct runtime wrongs[] = {
	WRONG("", "", "", "Always"),
	WRONG("", "", RULES("{'action':'Ignore','onPodConditions':[]}"), "OnFailure"),
	WRONG("", "", "'backoffLimitPerIndex':1,", "OnFailure"),
	WRONG("", "", "'backoffLimitPerIndex':1,'completionMode':'NonIndexed',", "Never"),
	WRONG("", "", "'successPolicy':{'rules':[]},'completionMode':'NonIndexed',",
	      "Never"),
	WRONG("", "", "'maxFailedIndexes':1,", "Never"),
	WRONG("", "",
	      RULES("{'action':'FailIndex','onExitCodes':{'operator':'In',"
		    "'values':[1]}}"),
	      "Never"),
	WRONG("", "'dependsOn':[{'name':'none','status':'Ready'}],", "", "Never"),
	WRONG("'successPolicy':{'operator':'All','targetReplicatedJobs':['none']},", "",
	      "", "Never"),
	WRONG("'failurePolicy':{'rules':[{'name':'a','action':'FailJobSet',"
	      "'targetReplicatedJobs':['none']}]},",
	      "", "", "Never"),
	WRONG("'failurePolicy':{'rules':[{'name':'a','action':'FailJobSet',"
	      "'onJobFailureMessagePatterns':['(']}]},",
	      "", "", "Never"),
	WRONG("'network':{'subdomain':'a.b'},", "", "", "Never"),
	WRONG("", "'replicas':20000,", "", "Never"),
	{ "wrong", TORCH, "",
	  JOB("a-name-that-is-too-long-for-the-hosts-of-pods-with-a-job-and-it", "", "",
	      "", "Never", "first") "," STEP("", ""),
	  .nodes = 1 },
};

static void make_runtime(struct world *w, const struct runtime *r)
{
	cleanup_json cJSON *doc = NULL;
	struct error err = { 0 };
	char text[3000];

	snprintf(text, sizeof(text),
		 "{'metadata':{'name':'%s'%s},'spec':{'mlPolicy':{'numNodes':%d,%s},"
		 "'template':{'spec':{%s'replicatedJobs':[%s]}}}}",
		 r->name,
		 r->own ? ",'finalizers':['" TRAINER_GROUP "/resource-in-use"
			  "']"
			: "",
		 r->nodes, r->policy, r->jobset, r->jobs);
	doc = users_read(text);
	json_put_str(doc, TRAINER_API_VERSION, "apiVersion");
	json_put_str(doc, r->own ? RUNTIME_KIND : CLUSTER_RUNTIME_KIND, "kind");
	if (apiserver_write(w->api, "POST",
			    r->own ? "/apis/" TRAINER_API_VERSION
				     "/namespaces/default/trainingruntimes"
				   : "/apis/" TRAINER_API_VERSION
				     "/clustertrainingruntimes",
			    doc, NULL, &err) &&
	    err.code != 409)
		sim_broken(w->sim, "runtime %s: %s", r->name, err.msg);
}

static void make_late(void *ctx)
{
	struct world *w = ctx;

	for (size_t i = 0; !w->over && i < N_ELEMENTS(runtimes); i++)
		if (runtimes[i].late)
			make_runtime(w, &runtimes[i]);
}

void users_make_runtimes(struct world *w)
{
	int wrong;

	for (size_t i = 1; i < (w->rich ? N_ELEMENTS(runtimes) : PLAIN); i++)
		if (!runtimes[i].late)
			make_runtime(w, &runtimes[i]);
	sim_after(w->sim, sim_dice(w->sim, 20000), make_late, w);
	if (w->rich) {
		wrong = (int)sim_dice(w->sim, N_ELEMENTS(wrongs));
		sim_note(w->sim, "JobSet refuses runtime %d", wrong);
		make_runtime(w, &wrongs[wrong]);
	}
}

static void change_runtime(struct job *j)
{
	char text[500];
	cleanup_json cJSON *patch = NULL;

	snprintf(text, sizeof(text),
		 "{'spec':{'template':{'spec':{'replicatedJobs':[" JOB(
			 "node", TRAINER, "", "'backoffLimit':1,", "Never",
			 "change-%d") "]}}}}",
		 ++j->w->changes);
	patch = users_read(text);
	if (!apiserver_write(j->w->api, "PATCH",
			     "/apis/" TRAINER_API_VERSION
			     "/clustertrainingruntimes/torch",
			     patch, NULL, IGNORED))
		NOTE(j, "somebody changes the runtime");
}

static void make_torch(void *ctx)
{
	struct world *w = ctx;

	if (!w->over)
		make_runtime(w, runtimes);
}

static void lose_runtime(struct job *j)
{
	if (apiserver_write(j->w->api, "DELETE",
			    "/apis/" TRAINER_API_VERSION "/clustertrainingruntimes/torch",
			    NULL, NULL, IGNORED))
		return;
	NOTE(j, "somebody deletes the runtime, and makes it again");
	sim_after(j->w->sim, DICE(j, 8000), make_torch, j->w);
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
	j->expired = j->ended_elsewhere = false;
	j->objects_deleted = false;
	j->unended_ms = j->deadline_ms = j->ended_ms = j->late_ms = 0;
	j->flavor = 0;
	j->toggled = false;
	j->began_ms = j->runs_since = clock_ms();
	j->exists = true;
}

void users_lose(struct job *j)
{
	j->exists = false;
	j->gone_ms = clock_ms();
	users_changed(j);
}

static const struct runtime *choose_runtime(struct world *w)
{
	if (!w->rich)
		return &runtimes[sim_dice(w->sim,
					  sim_dice(w->sim, 3) == 2 ? PLAIN : OFTEN)];
	if (!is_calm(w) && sim_dice(w->sim, 8) == 7)
		return wrongs;
	return &runtimes[sim_dice(w->sim, N_ELEMENTS(runtimes))];
}

void users_create(struct job *j)
{
	struct world *w = j->w;
	cleanup_json cJSON *tj =
		meta_new(TRAINER_API_VERSION, TRAINJOB_KIND, "default", j->name);
	cleanup_json cJSON *stored = NULL;
	struct error err = { 0 };
	const struct runtime *runtime;
	bool suspend, foreign, local, none;
	int deadline;

	if (j->dying)
		return;
	runtime = choose_runtime(w);
	json_put_str(tj, runtime->name, "spec", "runtimeRef", "name");
	json_put_str(tj, runtime->own ? RUNTIME_KIND : CLUSTER_RUNTIME_KIND, "spec",
		     "runtimeRef", "kind");
	json_put_str(tj, TRAINER_GROUP, "spec", "runtimeRef", "apiGroup");
	foreign = !is_calm(w) && sim_dice(w->sim, 16) == 15;
	local = foreign && w->rich && sim_dice(w->sim, 2);
	if (local)
		json_put_str(tj, "a", "metadata", "annotations", LOCAL_RUN_ANNOTATION);
	else if (foreign)
		json_put_str(tj, "kueue.x-k8s.io/multikueue", "spec", "managedBy");
	suspend = is_calm(w) ? j->stays_suspended : sim_dice(w->sim, 4) == 3;
	if (suspend)
		json_put(tj, cJSON_CreateTrue(), "spec", "suspend");
	deadline = sim_dice(w->sim, 2) ? 6 + (int)sim_dice(w->sim, 44) : 0;
	if (deadline)
		json_put_int(tj, deadline, "spec", "activeDeadlineSeconds");
	if (j->i % 2) /* not by chance: the dice of known schedules stay */
		json_put_int(tj, j->i * 7, "spec", "ttlSecondsAfterFinished");
	if (w->rich)
		json_put_str(tj, "b", "spec", "labels", "a");
	none = w->rich && !is_calm(w) && sim_dice(w->sim, 16) == 15;
	if (none)
		json_put_str(tj, "Other", "spec", "runtimeRef", "kind");
	if (apiserver_write(w->api, "POST", JOBS_PATH, tj, &stored, &err)) {
		if (err.code != 409)
			sim_broken(w->sim, "cannot create a TrainJob: %s", err.msg);
		return;
	}
	sim_note(w->sim, "user creates %s", j->name);
	forget(j, meta_uid(stored));
	j->suspend = suspend;
	j->foreign = foreign;
	j->wrong = runtime == wrongs || none;
	j->failed = none; /* at once */
	j->deadline_ms = deadline * 1000;
	users_changed(j);
	if (foreign && !local && w->rich)
		others_end(j);
}

/* As Kueue: it names the nodes in the write that lets a job run which stands still. */
static int admit(struct job *j, cJSON *patch)
{
	const cJSON *jobset = jobset_of(j);
	int flavor = j->flavor + 1;
	char text[300];

	if (j->i != 2 || !json_bool(jobset, false, "spec", "suspend") ||
	    jobset_is_active(jobset))
		return j->flavor;
	snprintf(text, sizeof(text),
		 "[{'manager':'kueue.x-k8s.io/manager','trainingRuntimeSpec':{'template':"
		 "{'spec':{'replicatedJobs':[{'name':'node','template':{'spec':{"
		 "'template':{'spec':{'nodeSelector':{'flavor':'%d'}}}}}}]}}}}]",
		 flavor);
	json_put(patch, users_read(text), "spec", "runtimePatches");
	return flavor;
}

static void suspend_job(struct job *j, bool suspend)
{
	cleanup_json cJSON *patch = cJSON_CreateObject();
	const cJSON *tj = trainjob_of(j);
	bool stood = status_is_true(tj_status(tj), COND_SUSPENDED);
	int flavor;

	if (json_bool(tj, false, "spec", "suspend") == suspend)
		return;
	json_put(patch, cJSON_CreateBool(suspend), "spec", "suspend");
	flavor = suspend ? j->flavor : admit(j, patch);
	if (apiserver_write(j->w->api, "PATCH", j->path, patch, NULL, IGNORED))
		return;
	NOTE(j, "user %s %s", suspend ? "suspends" : "resumes", j->name);
	j->suspend = suspend;
	j->flavor = flavor;
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
	NOTE(j, "user deletes the %s %s", what, j->name);
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

static void (*const acts[])(struct job *j) = {
	users_create,
	suspend,
	suspend,
	resume,
	resume,
	delete_job,
	delete_jobset,
	delete_snapshot,
	replace,
	replace,
	change_runtime,
	nodes_lose_one,
	controllers_kill_one,
	controllers_stop_one,
	controllers_part_one,
	others_edit,
	others_block,
	others_toggle,
	others_hold,
	others_delete_namespace,
	/* of rich schedules */
	lose_runtime,
	others_report,
	extras_change,
};

static void act(void *ctx)
{
	struct job *j = ctx;

	if (j->w->over)
		return;
	if (is_calm(j->w)) {
		if (j->wrong)
			delete_job(j);
		users_create(j); /* if there is none */
		suspend_job(j, j->stays_suspended);
		if (j->snapshot_edited)
			delete_snapshot(j);
		return;
	}
	acts[DICE(j, j->w->rich ? (int)N_ELEMENTS(acts) : PLAIN_ACTS)](j);
	sim_after(j->w->sim, 200 + DICE(j, 12000), act, j);
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
	if (j->i == 0 || j->i == 2) /* not by chance, as above */
		sim_after(j->w->sim, 5000, clean_up, j);
}

void users_see_the_end(struct job *j)
{
	if (percent(j->w, 40))
		sim_after(j->w->sim, DICE(j, 700), replace_now, j);
}

void users_start(struct job *j)
{
	j->stays_suspended = DICE(j, 8) == 7;
	users_create(j);
	sim_after(j->w->sim, 1000, act, j);
}
