/* legacy.c - the pods of a run of kftrainer 0.1.0 (machine/legacy.h). */
#include "machine/legacy.h"

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "kubelet/node.h"
#include "local/state_impl.h"
#include "trainer/api.h"
#include "trainer/jobset.h"
#include "trainer/podcause.h"
#include "trainer/podname.h"
#include "trainer/trainjob.h"
#include "trainer/trainjob_status.h"

/* As the kubelet reports a container whose end it has not seen. */
#define UNKNOWN      "ContainerStatusUnknown"
#define UNKNOWN_TEXT "kftrainer 0.1.0 did not store its exit code"

struct legacy_run {
	struct published_run *run;
	const cJSON *jobset, *trainjob;
	const cJSON *end; /* the condition; NULL: none */
	bool ended, complete;
};

static cJSON *state_of(const struct legacy_run *o)
{
	cJSON *state = cJSON_CreateObject();

	if (!o->ended) {
		json_put_str(state, meta_created(o->trainjob), "running", "startedAt");
		return state;
	}
	json_put_int(state, o->complete ? 0 : 1, "terminated", "exitCode");
	json_put_str(state, o->complete ? "Completed" : UNKNOWN, "terminated", "reason");
	if (!o->complete)
		json_put_str(state, UNKNOWN_TEXT, "terminated", "message");
	return state;
}

static void put_statuses(cJSON *pod, const char *list, const char *statuses,
			 const struct legacy_run *o)
{
	cJSON *all = json_list(json_obj(pod, "status"), statuses);
	const cJSON *c;

	json_each(c, json_get(pod, "spec", list)) {
		cJSON *one = cJSON_CreateObject();

		json_put_str(one, json_str(c, "name"), "name");
		json_put_bool(one, !o->ended, "ready");
		json_put(one, state_of(o), "state");
		cJSON_AddItemToArray(all, one);
	}
}

static void put_labels(cJSON *obj, const cJSON *jobset, const struct podname *at)
{
	cleanup_arena struct arena a = { 0 };

	meta_set_label(obj, POD_JOBSET_LABEL, meta_name(jobset));
	meta_set_label(obj, "jobset.sigs.k8s.io/replicatedjob-name", at->step);
	meta_set_label(obj, "jobset.sigs.k8s.io/job-index",
		       arena_printf(&a, "%d", at->replica));
}

/* An object of the run: its uid is made from the TrainJob's and its name. */
static cJSON *make(const char *api_version, const char *kind, const struct legacy_run *o,
		   const char *name)
{
	cleanup_arena struct arena a = { 0 };
	cJSON *obj = meta_new(api_version, kind, o->run->ns, name);

	meta_set_uid(obj, arena_printf(&a, "%s-%s", meta_uid(o->trainjob), name));
	json_put_str(obj, meta_created(o->trainjob), "metadata", "creationTimestamp");
	return obj;
}

/* The Job of a pod. */
static cJSON *make_job(const struct legacy_run *o, const struct podname *at)
{
	cleanup_arena struct arena a = { 0 };
	const char *name =
		arena_printf(&a, "%s-%s-%d", o->run->name, at->step, at->replica);
	cJSON *job = make("batch/v1", "Job", o, name);

	put_labels(job, o->jobset, at);
	json_put(job, json_dup(json_get(at->rjob, "template", "spec")), "spec");
	if (o->ended)
		(void)published_end_job(job, o->complete ? COND_COMPLETE : COND_FAILED,
					o->end);
	else
		json_put_int(job, rjob_pods(at->rjob), "status", "active");
	return job;
}

static cJSON *make_pod(const struct legacy_run *o, const struct podname *at,
		       const cJSON *job, const char *name)
{
	cleanup_arena struct arena a = { 0 };
	cJSON *pod = make("v1", "Pod", o, name);
	const char *phase = o->complete ? "Succeeded" : "Failed";

	put_labels(pod, o->jobset, at);
	if (at->index >= 0)
		meta_set_label(pod, "batch.kubernetes.io/job-completion-index",
			       arena_printf(&a, "%d", at->index));
	meta_set_annotation(pod, NODE_LOGS_ANNOTATION,
			    arena_printf(&a, "%s/logs/%s", o->run->dir, name));
	meta_set_owner(pod, job);
	json_put(pod, json_dup(rjob_pod_spec_const(at->rjob)), "spec");
	json_put_str(pod, o->ended ? phase : "Running", "status", "phase");
	put_statuses(pod, "initContainers", "initContainerStatuses", o);
	put_statuses(pod, "containers", "containerStatuses", o);
	return pod;
}

/* Put an object, unless it has been put. */
static void put(const struct legacy_run *o, const struct published_sink *to, cJSON *obj)
{
	cleanup_arena struct arena a = { 0 };
	const char *path = arena_printf(&a, "%s/logs/%s/%s.%s.json", o->run->dir,
					meta_name(obj), meta_kind(obj), meta_name(obj));

	if (published_is_new(o->run, path, o->ended))
		(void)to->put(to->ctx, o->run, obj);
}

void legacy_read_run(struct published_run *r, bool ended, const struct published_sink *to)
{
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *jobset = NULL, *trainjob = NULL;
	struct legacy_run o = { .run = r, .ended = ended };

	if (state_read_jobset(&jobset, r->dir, IGNORED) ||
	    state_read_job(&trainjob, r->dir, !ended, IGNORED))
		return;
	o.jobset = jobset;
	o.trainjob = trainjob;
	o.end = status_condition(tj_status(trainjob), COND_COMPLETE);
	o.complete = o.end != NULL;
	if (!o.end)
		o.end = status_condition(tj_status(trainjob), COND_FAILED);
	for (char **e = state_entries(&a, path_join(&a, r->dir, "logs")); *e; e++) {
		cleanup_json cJSON *job = NULL, *pod = NULL;
		struct podname at;

		if (!podname_parse(&at, jobset, *e))
			continue;
		job = make_job(&o, &at);
		pod = make_pod(&o, &at, job, *e);
		put(&o, to, job);
		put(&o, to, pod);
	}
}
