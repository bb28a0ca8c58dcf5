/* build.c - build a job's TrainingRuntime and TrainJob (convert/job.h). */
#include <inttypes.h>

#include "api/last_applied.h"
#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "convert/job.h"
#include "trainer/api.h"
#include "trainer/jobset.h"
#include "trainer/podspec.h"
#include "trainer/trainjob.h"

#define VOLCANO          "volcano"
#define QUEUE_ANNOTATION "scheduling.volcano.sh/queue-name"

/* For cleanPodPolicy All: seconds to read the status; V1 retries greater exit codes. */
enum { CLEANED_AFTER = 60, LAST_PERMANENT_CODE = 127 };

const char *v1_pod_host(const struct v1_job *j, const char *rjob, int64_t index)
{
	const char *subdomain =
		jobset_subdomain(json_get(j->conf->shared, "spec", "template", "spec"));

	return arena_printf(j->arena, "%s-%s-0-%" PRId64 ".%s", j->name, rjob, index,
			    subdomain && *subdomain ? subdomain : j->name);
}

static cJSON *template_spec(struct v1_job *j)
{
	return json_obj(j->runtime, "spec", "template", "spec");
}

cJSON *v1_find_rjob(struct v1_job *j, const char *name)
{
	return json_find(json_list(template_spec(j), "replicatedJobs"), "name", name);
}

void v1_succeed_with(struct v1_job *j, const char *rjob)
{
	cJSON *policy = json_obj(template_spec(j), "successPolicy");

	json_put_str(policy, "All", "operator");
	cJSON_AddItemToArray(json_list(policy, "targetReplicatedJobs"),
			     cJSON_CreateString(rjob));
}

void v1_succeed_with_index(struct v1_job *j, const char *rule, cJSON *take_value)
{
	cJSON *job = rjob_job_spec(v1_find_rjob(j, NODE));
	cJSON *one = cJSON_CreateObject();

	cJSON_AddItemToObject(one, rule, take_value);
	cJSON_AddItemToArray(json_list(job, "successPolicy", "rules"), one);
}

/* ---- restarting ---- */

static void fail_on_permanent_codes(cJSON *job)
{
	cJSON *rule = cJSON_CreateObject();
	cJSON *values = json_list(rule, "onExitCodes", "values");

	json_put_str(rule, "FailJob", "action");
	json_put_str(rule, NODE, "onExitCodes", "containerName");
	json_put_str(rule, "In", "onExitCodes", "operator");
	for (int code = 1; code <= LAST_PERMANENT_CODE; code++)
		cJSON_AddItemToArray(values, json_new_int(code));
	cJSON_AddItemToArray(json_list(job, "podFailurePolicy", "rules"), rule);
}

static void set_restart(struct v1_job *j, const struct role *role, cJSON *rjob)
{
	cJSON *job = rjob_job_spec(rjob);
	bool never = str_eq(role->restart, "Never");
	bool exit_code = str_eq(role->restart, "ExitCode");
	const cJSON *limit = json_get(j->policy, "backoffLimit");

	json_put_str(rjob_pod_spec(rjob), never || exit_code ? "Never" : "OnFailure",
		     "restartPolicy");
	if (j->kind->bit == KIND_MPI2 && str_eq(role->name, "Launcher")) {
		if (limit) /* MPI Operator's launcher is a Job with this field, too */
			json_put(job, json_dup(limit), "backoffLimit");
		return;
	}
	if (never)
		json_put_int(job, 0, "backoffLimit");
	else if (limit)
		json_put(job, json_dup(limit), "backoffLimit");
	else
		json_put_int(job, NO_LIMIT, "backoffLimit");
	if (exit_code)
		fail_on_permanent_codes(job);
}

/* ---- scheduling and cleaning up ---- */

enum v1_gang v1_gang_of(const struct v1_job *j)
{
	const cJSON *policy = json_get(j->policy, "schedulingPolicy");

	if (!policy)
		return GANG_NONE;
	if (json_get(policy, "queue") || json_get(policy, "priorityClass"))
		return GANG_VOLCANO;
	if (json_get(policy, "scheduleTimeoutSeconds"))
		return GANG_COSCHEDULING;
	return str_eq(json_str(j->roles[0].template, "spec", "schedulerName"), VOLCANO)
		       ? GANG_VOLCANO
		       : GANG_NONE;
}

static void set_gang(struct v1_job *j)
{
	const cJSON *policy = json_get(j->policy, "schedulingPolicy");
	const cJSON *timeout = json_get(policy, "scheduleTimeoutSeconds");
	cJSON *groups;

	if (v1_gang_of(j) == GANG_NONE)
		return;
	groups = json_obj(j->runtime, "spec", "podGroupPolicy");
	if (v1_gang_of(j) == GANG_COSCHEDULING) {
		json_put(json_obj(groups, "coscheduling"), json_dup(timeout),
			 "scheduleTimeoutSeconds");
		return;
	}
	json_obj(groups, "volcano");
	json_put(j->runtime, json_dup(json_get(policy, "queue")), "spec", "template",
		 "metadata", "annotations", QUEUE_ANNOTATION);
}

static void set_gang_of_pods(struct v1_job *j, cJSON *pod_spec)
{
	const cJSON *class = json_get(j->policy, "schedulingPolicy", "priorityClass");

	if (v1_gang_of(j) != GANG_VOLCANO)
		return;
	if (!json_get(pod_spec, "schedulerName"))
		json_put_str(pod_spec, VOLCANO, "schedulerName");
	if (class && !json_get(pod_spec, "priorityClassName"))
		json_put(pod_spec, json_dup(class), "priorityClassName");
}

const cJSON *v1_clean_pod_policy(const struct v1_job *j)
{
	const cJSON *policy = json_get(j->policy, "cleanPodPolicy");

	return policy ? policy
		      : json_get(j->kind->bit == KIND_MPI ? j->spec : NULL,
				 "cleanPodPolicy");
}

static void set_cleaning(struct v1_job *j)
{
	int64_t ttl = json_int(j->policy, -1, "ttlSecondsAfterFinished");

	if (str_eq(cJSON_GetStringValue(v1_clean_pod_policy(j)), "All") &&
	    (ttl < 0 || ttl > CLEANED_AFTER))
		json_put_int(template_spec(j), CLEANED_AFTER, "ttlSecondsAfterFinished");
}

/* ---- replicatedJobs ---- */

/*
 * The replicatedJob that numNodes counts and that gets the TrainJob's image and command.
 */
static bool trains(const struct v1_job *j, const char *rjob)
{
	if (j->kind->bit & (KIND_MPI | KIND_MPI2))
		return str_eq(rjob, LAUNCHER);
	for (size_t i = 0; i < j->n_roles; i++)
		if (str_eq(j->roles[i].rjob, NODE))
			return str_eq(rjob, NODE);
	return str_eq(rjob, j->roles[0].rjob);
}

static void add_rjob(struct v1_job *j, const struct role *role, int64_t n,
		     cJSON *take_template)
{
	cJSON *rjob = cJSON_CreateObject(), *pod, *c;

	json_put_str(rjob, role->rjob, "name");
	cJSON_AddItemToArray(json_list(template_spec(j), "replicatedJobs"), rjob);
	if (trains(j, role->rjob))
		json_put_str(rjob, ANCESTOR_TRAINER, "template", "metadata", "labels",
			     LABEL_ANCESTOR);
	else
		job_set_count(rjob_job_spec(rjob), n);
	json_put(rjob_job_spec(rjob), take_template, "template");
	set_restart(j, role, rjob);
	pod = rjob_pod_spec(rjob);
	set_gang_of_pods(j, pod);
	json_each(c, json_get(pod, "containers"))
		j->kind->env(j, role, c);
}

static void add_rjobs(struct v1_job *j)
{
	if (j->kind->one_template) {
		add_rjob(j, &j->roles[0], j->pods, v1_merged_template(j));
		return;
	}
	for (size_t i = 0; i < j->n_roles; i++)
		add_rjob(j, &j->roles[i], j->roles[i].n,
			 v1_role_template(j, &j->roles[i]));
}

static int64_t nodes(const struct v1_job *j)
{
	int64_t n = 0;

	for (size_t i = 0; i < j->n_roles; i++)
		if (trains(j, j->roles[i].rjob))
			n += j->roles[i].n;
	return n;
}

/* ---- the TrainJob ---- */

/* Drop the fields that the server sets. */
static void copy_metadata(struct v1_job *j)
{
	static const char *const kept[] = {
		"name",       "namespace", "labels", "annotations", "ownerReferences",
		"finalizers", NULL
	};
	const cJSON *m;

	json_each(m, json_get(j->obj, "metadata"))
		if (str_in(m->string, kept) && !cJSON_IsNull(m))
			json_put(j->job, json_dup(m), "metadata", m->string);
	json_del(j->job, JSON_PATH("metadata", "annotations", LAST_APPLIED));
	if (meta_namespace(j->obj))
		meta_set_namespace(j->runtime, meta_namespace(j->obj));
}

static void set_run_policy(struct v1_job *j)
{
	const char *manager = json_str(j->policy, "managedBy");

	json_put(j->job, json_dup(json_get(j->policy, "suspend")), "spec", "suspend");
	json_put(j->job, json_dup(json_get(j->policy, "activeDeadlineSeconds")), "spec",
		 "activeDeadlineSeconds");
	json_put(j->job, json_dup(json_get(j->policy, "ttlSecondsAfterFinished")), "spec",
		 "ttlSecondsAfterFinished");
	if (manager)
		json_put_str(j->job,
			     str_starts(manager, "kubeflow.org/") ? MANAGED_BY_TRAINER
								  : manager,
			     "spec", "managedBy");
}

void v1_build_job(struct v1_job *j)
{
	cJSON *ml;

	j->runtime = meta_new(TRAINER_API_VERSION, RUNTIME_KIND, NULL, j->name);
	meta_set_label(j->runtime, LABEL_FRAMEWORK, j->kind->framework);
	ml = json_obj(j->runtime, "spec", "mlPolicy");
	json_put_int(ml, nodes(j), "numNodes");
	if (j->kind->policy)
		json_put(ml, cJSON_CreateObject(), j->kind->policy);
	j->job = tj_new(j->name, j->name);
	tj_set_runtime_kind(j->job, RUNTIME_KIND);
	tj_set_num_nodes(j->job, nodes(j));
	copy_metadata(j);
	set_gang(j);
	add_rjobs(j);
	set_cleaning(j);
	set_run_policy(j);
	j->kind->build(j);
}
