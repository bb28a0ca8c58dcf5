/* local_job.c - a TrainJob, its API and its controller (machine/local_job.h). */
#include "machine/local_job.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api/event.h"
#include "api/meta.h"
#include "apiserver/apiserver.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "kube/kube.h"
#include "local/inputs.h"
#include "logtext/alone.h"
#include "machine/local_status.h"
#include "manager/names.h"
#include "manager/one_job.h"
#include "trainer/api.h"
#include "trainer/trainjob.h"
#include "trainer/workspace_spec.h"

struct local_job {
	const char *ns, *name; /* the job's */
	struct apiserver *api;
	struct kube *kube;
	struct one_job *one_job;
	struct local_status *status;   /* NULL: no status server */
	struct error no_status;        /* why */
	char pod_key[RANDOM_KEY_SIZE]; /* the key of its pods' tokens */
	struct local_controller controller;
	cJSON *trainjob, *objects;
	cJSON *events;        /* events since the last pass */
	cJSON *sent;          /* the JobSet's last status */
	pthread_mutex_t lock; /* guards the rest */
	cJSON *reported;      /* events of the status server, since the last pass */
	unsigned n_reported;  /* so far */
	char *alone;          /* of progress_server_watch(), since the last pass */
};

static const struct kube_write how = { .manager = "kftrainer" };

/* ---- the controller ------------------------------------------------------------------- */

static void on_event(void *ctx, const cJSON *event)
{
	struct local_job *j = ctx;

	cJSON_AddItemToArray(j->events, json_dup(event));
}

static cJSON *jobset_of(struct local_job *j)
{
	return apiserver_get(j->api, JOBSET_API_VERSION, JOBSET_KIND, j->ns, j->name);
}

/*
 * Set the JobSet's status, in place of the JobSet controller; ignored if it was deleted.
 */
static int put_status(struct local_job *j, const cJSON *status, struct error *err)
{
	const struct kube_ref ref = { JOBSET_API_VERSION, JOBSET_KIND, j->ns, j->name };
	const struct kube_write as = { .manager = "jobset",
				       .subresource = "status",
				       .meta_only = true };
	cleanup_json cJSON *patch = NULL;

	if (json_equal(status, j->sent))
		return 0;
	patch = cJSON_CreateObject();
	json_put(patch, json_dup(status), "status");
	if (kube_merge_patch(j->kube, &ref, patch, &as, NULL, err))
		return error_clear_if(err, ERR_NOT_FOUND);
	cJSON_Delete(j->sent);
	j->sent = json_dup(status);
	return 0;
}

/* In a thread of the status server. */
static void on_report(void *ctx, const cJSON *about, const char *reason,
		      const char *message)
{
	struct local_job *j = ctx;
	cleanup_arena struct arena arena = { 0 };
	cJSON *event;
	int64_t now = clock_now();

	pthread_mutex_lock(&j->lock);
	if (str_eq(reason, ALONE_REASON)) {
		free(j->alone);
		j->alone = xstrdup(message);
	} else {
		event = event_new(about, MANAGER_COMPONENT, true, reason, message);
		meta_set_name(event, arena_printf(&arena, "%s.report-%u", j->name,
						  ++j->n_reported));
		event_set_first(event, now);
		event_set_last(event, now, 1);
		cJSON_AddItemToArray(j->reported, event);
	}
	pthread_mutex_unlock(&j->lock);
}

static int pass(void *ctx, const cJSON *jobset_status, struct local_pass *ret,
		struct error *err)
{
	struct local_job *j = ctx;
	cleanup_json cJSON *jobset = NULL;

	if (j->status)
		local_status_clear(j->status);
	if (put_status(j, jobset_status, err) ||
	    one_job_pass(j->one_job, &ret->after_ms, err))
		return -1;
	jobset = jobset_of(j);
	ret->deleted = !jobset;
	ret->suspended = json_bool(jobset, false, "spec", "suspend");
	ret->trainjob =
		apiserver_get(j->api, TRAINER_API_VERSION, TRAINJOB_KIND, j->ns, j->name);
	meta_drop_managed_fields(ret->trainjob);
	ret->events = j->events;
	j->events = cJSON_CreateArray();
	pthread_mutex_lock(&j->lock);
	ret->alone = STEAL(j->alone);
	for (cJSON *e; (e = cJSON_DetachItemFromArray(j->reported, 0));)
		cJSON_AddItemToArray(ret->events, e);
	pthread_mutex_unlock(&j->lock);
	return 0;
}

static void on_pod(void *ctx, const cJSON *old, const cJSON *now)
{
	struct local_job *j = ctx;
	struct error too_large = { 0 }; /* then the pod's reports are refused */

	if (now)
		(void)!apiserver_store(j->api, now, &too_large);
	else
		apiserver_drop(j->api, "v1", "Pod", j->ns, meta_name(old), NULL);
	one_job_pod_changed(j->one_job, old, now);
}

static int suspend(void *ctx, bool suspend, struct error *err)
{
	struct local_job *j = ctx;
	const struct kube_ref ref = { TRAINER_API_VERSION, TRAINJOB_KIND, j->ns,
				      j->name };
	cleanup_json cJSON *patch = cJSON_CreateObject();

	tj_set_suspend(patch, suspend);
	return kube_merge_patch(j->kube, &ref, patch, &how, NULL, err);
}

/* ---- input ----------------------------------------------------------------------- */

static int create(struct local_job *j, const cJSON *obj, struct error *err)
{
	return kube_create(j->kube, obj, &how, NULL, err);
}

static int create_namespace(struct local_job *j, struct error *err)
{
	cleanup_json cJSON *ns = meta_new("v1", "Namespace", NULL, j->ns);

	return create(j, ns, err) ? error_clear_if(err, ERR_EXISTS) : 0;
}

static int create_config(struct local_job *j, const struct job_set *set,
			 const struct job *job, struct error *err)
{
	cleanup_json cJSON *config = job_config(set, job);
	const cJSON *obj;

	json_each(obj, config)
		if (create(j, obj, err))
			return -1;
	return 0;
}

static int create_runtime(struct local_job *j, const struct job *job, struct error *err)
{
	cleanup_json cJSON *runtime = json_dup(job->runtime);

	if (str_eq(meta_kind(runtime), RUNTIME_KIND))
		meta_set_namespace(runtime, j->ns);
	return create(j, runtime, err);
}

/* Remove spec.managedBy: this controller manages the job. */
static int create_trainjob(struct local_job *j, const struct job *job, struct error *err)
{
	cleanup_json cJSON *tj = json_dup(job->trainjob);

	json_del(tj, JSON_PATH("status"));
	json_del(tj, JSON_PATH("spec", "managedBy"));
	meta_set_namespace(tj, j->ns);
	meta_set_name(tj, j->name);
	return kube_create(j->kube, tj, &how, &j->trainjob, err);
}

/* Without the archive: the pods use the directory (kubelet/workspace_mount.h). */
static int create_workspace(struct local_job *j, struct error *err)
{
	cleanup_json cJSON *map = NULL;
	struct workspace w;

	if (workspace_of(&w, j->trainjob, err))
		return -1;
	if (!w.digest)
		return 0;
	map = workspace_configmap(j->trainjob, w.digest, "", 0);
	return create(j, map, err);
}

/* ---- output ---------------------------------------------------------------------- */

/* The controller's last warning, which explains why there is no JobSet. */
static int no_jobset(const struct local_job *j, struct error *err)
{
	const char *why = "the controller did not create its JobSet";
	const cJSON *e;

	json_each(e, j->events)
		if (str_eq(json_str(e, "type"), "Warning"))
			why = json_str(e, "message");
	return error_set(err, ERR_INVALID, "TrainJob %s: %s", j->name, why);
}

/* Objects of kinds that this API does not serve. */
static void keep_others(struct local_job *j, const cJSON *objects)
{
	static const char *const made[] = { JOBSET_KIND, "ConfigMap", "Secret", "Service",
					    NULL };
	const cJSON *obj;

	json_each(obj, objects)
		if (!str_in(meta_kind(obj), made))
			cJSON_AddItemToArray(j->objects, json_dup(obj));
}

static int make_objects(struct local_job *j, const struct job *job, struct error *err)
{
	cleanup_json cJSON *jobset = NULL;
	int64_t unused;

	if (one_job_pass(j->one_job, &unused, err))
		return -1;
	jobset = jobset_of(j);
	if (!jobset)
		return no_jobset(j, err);
	cJSON_Delete(j->trainjob);
	j->trainjob =
		apiserver_get(j->api, TRAINER_API_VERSION, TRAINJOB_KIND, j->ns, j->name);
	meta_drop_managed_fields(j->trainjob);
	j->objects = inputs_of(j->api, jobset, j->trainjob);
	keep_others(j, job->objects);
	return 0;
}

/* ---- status server --------------------------------------------------------------- */

/* A machine without a loopback interface can still run a job. */
static void start_status(struct local_job *j, struct one_job_conf *conf)
{
	const struct progress_watch watch = { .on_event = on_report, .ctx = j };

	if (local_status_start(&j->status, j->kube, &j->no_status))
		return;
	j->controller.wake_fd = local_status_fd(j->status);
	conf->status_server_url = local_status_url(j->status);
	conf->status_server_ca = local_status_ca(j->status);
	local_status_watch(j->status, &watch);
}

/* ---- start and end --------------------------------------------------------------------- */

static int start(struct local_job *j, const struct job_set *set, const struct job *job,
		 struct error *err)
{
	struct apiserver_conf conf = { .max_events = 16 }; /* there are no watches */
	const struct kube_config config = { .ns = "default" };
	struct kube_opts opts = { .user_agent = "kftrainer", .after_stop = true };
	struct one_job_conf one_job = {
		.ns = j->ns, .name = j->name, .on_event = on_event, .ctx = j
	};

	if (random_key(j->pod_key, err))
		return -1;
	conf.pod_key = j->pod_key;
	conf.schema = set->schema;
	if (apiserver_new(&j->api, &conf, err))
		return -1;
	opts.inside = (struct inside_server){ .handle = apiserver_handle_inside,
					      .ctx = j->api,
					      .documents = true };
	if (kube_new(&j->kube, &config, &opts, err))
		return -1;
	one_job.kube = j->kube;
	if (create_namespace(j, err) || create_config(j, set, job, err) ||
	    create_runtime(j, job, err) || create_trainjob(j, job, err) ||
	    create_workspace(j, err))
		return -1;
	start_status(j, &one_job);
	return one_job_new(&j->one_job, &one_job, err) || make_objects(j, job, err) ? -1
										    : 0;
}

int local_job_new(struct local_job **ret, const struct job_set *set,
		  const struct job *job, struct error *err)
{
	struct local_job *j = xcalloc(1, sizeof(*j));

	j->ns = job->ns;
	j->name = job->name;
	j->reported = cJSON_CreateArray();
	j->events = cJSON_CreateArray();
	pthread_mutex_init(&j->lock, NULL);
	j->controller = (struct local_controller){
		.pass = pass, .on_pod = on_pod, .suspend = suspend, .ctx = j
	};
	if (start(j, set, job, err)) {
		local_job_free(j);
		return -1;
	}
	*ret = j;
	return 0;
}

void local_job_free(struct local_job *j)
{
	if (!j)
		return;
	local_status_stop(j->status);
	one_job_free(j->one_job);
	if (j->kube)
		kube_free(j->kube);
	if (j->api)
		apiserver_free(j->api);
	cJSON_Delete(j->trainjob);
	cJSON_Delete(j->objects);
	cJSON_Delete(j->events);
	cJSON_Delete(j->reported);
	cJSON_Delete(j->sent);
	free(j->alone);
	pthread_mutex_destroy(&j->lock);
	str_wipe(j->pod_key);
	free(j);
}

const cJSON *local_job_trainjob(const struct local_job *j)
{
	return j->trainjob;
}

cJSON *local_job_objects(struct local_job *j)
{
	return j->objects;
}

const char *local_job_no_progress(const struct local_job *j)
{
	return j->status ? NULL : j->no_status.msg;
}

const char *local_job_pod_key(const struct local_job *j)
{
	return j->pod_key;
}

const struct local_controller *local_job_controller(const struct local_job *j)
{
	return &j->controller;
}
