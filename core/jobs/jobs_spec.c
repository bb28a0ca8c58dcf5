/* jobs_spec.c - set defaults and read the JobSet (jobs/jobs_impl.h). */
#include <stdint.h>
#include <stdlib.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "jobs/jobs_impl.h"

static void default_str(cJSON *doc, const char *const *path, const char *value)
{
	if (!json_at(doc, path))
		json_put_at(doc, path, cJSON_CreateString(value));
}

static void default_int(cJSON *doc, const char *const *path, int64_t value)
{
	if (!json_at(doc, path))
		json_put_at(doc, path, json_new_int(value));
}

static void default_bool(cJSON *doc, const char *const *path, bool value)
{
	if (!json_at(doc, path))
		json_put_at(doc, path, cJSON_CreateBool(value));
}

/* batch/v1 SetDefaults_Job, after what JobSet's webhook sets. */
static void default_job(cJSON *rjob)
{
	cJSON *spec = json_obj(rjob, "template", "spec");
	bool per_index = json_get(spec, "backoffLimitPerIndex") != NULL;

	default_str(spec, JSON_PATH("completionMode"), "Indexed");
	default_str(spec, JSON_PATH("template", "spec", "restartPolicy"), "OnFailure");
	if (!json_get(spec, "completions") && !json_get(spec, "parallelism"))
		json_put_int(spec, 1, "completions");
	default_int(spec, JSON_PATH("parallelism"), 1);
	default_int(spec, JSON_PATH("backoffLimit"), per_index ? INT32_MAX : 6);
	default_str(spec, JSON_PATH("podReplacementPolicy"),
		    json_get(spec, "podFailurePolicy") ? "Failed"
						       : "TerminatingOrFailed");
}

static void default_rules(cJSON *failure_policy)
{
	cJSON *rule;
	int i = 0;

	default_int(failure_policy, JSON_PATH("maxRestarts"), 0);
	default_str(failure_policy, JSON_PATH("restartStrategy"), "Recreate");
	json_each(rule, json_get(failure_policy, "rules")) {
		cleanup_free char *name = jobs_printf("failurePolicyRule%d", i++);

		default_str(rule, JSON_PATH("name"), name);
	}
}

/* JobSet's CRD and webhook (pkg/webhooks/jobset_webhook.go, Default). */
void jobs_default(cJSON *jobset)
{
	cJSON *spec = json_obj(jobset, "spec"), *rjob;

	default_str(spec, JSON_PATH("successPolicy", "operator"), "All");
	default_str(spec, JSON_PATH("startupPolicy", "startupPolicyOrder"), "AnyOrder");
	default_bool(spec, JSON_PATH("network", "enableDNSHostnames"), true);
	default_bool(spec, JSON_PATH("network", "publishNotReadyAddresses"), true);
	json_each(rjob, json_get(spec, "replicatedJobs")) {
		default_str(rjob, JSON_PATH("groupName"), "default");
		default_int(rjob, JSON_PATH("replicas"), 1);
		default_job(rjob);
	}
	if (json_get(spec, "failurePolicy"))
		default_rules(json_get(spec, "failurePolicy"));
}

/* Reads an integer of a Job's spec: -1 if absent; an error if out of range. */
static int read_int(int64_t *ret, const cJSON *rjob, const char *const *path,
		    const char *field, struct error *err)
{
	const cJSON *node = json_at(rjob, path);
	int64_t v = -1;

	if (node && (!json_int_of(node, &v) || v < 0 || v > INT32_MAX))
		return error_set(err, ERR_INVALID,
				 "replicatedJob %s: %s: want an integer from 0 to %d",
				 json_str(rjob, "name"), field, INT32_MAX);
	*ret = v;
	return 0;
}

static int read_numbers(struct jobs_rjob *r, struct error *err)
{
	int64_t replicas, parallelism, completions, deadline;
	const struct {
		int64_t *to;
		const char *const *path;
		const char *field;
	} rows[] = {
		{ &replicas, JSON_PATH("replicas"), "replicas" },
		{ &parallelism, JSON_PATH("template", "spec", "parallelism"),
		  "parallelism" },
		{ &completions, JSON_PATH("template", "spec", "completions"),
		  "completions" },
		{ &deadline, JSON_PATH("template", "spec", "activeDeadlineSeconds"),
		  "activeDeadlineSeconds" },
		{ &r->backoff_limit, JSON_PATH("template", "spec", "backoffLimit"),
		  "backoffLimit" },
		{ &r->backoff_per_index,
		  JSON_PATH("template", "spec", "backoffLimitPerIndex"),
		  "backoffLimitPerIndex" },
		{ &r->max_failed_indexes,
		  JSON_PATH("template", "spec", "maxFailedIndexes"), "maxFailedIndexes" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		if (read_int(rows[i].to, r->doc, rows[i].path, rows[i].field, err))
			return -1;
	r->replicas = (int)replicas;
	r->parallelism = (int)parallelism;
	r->completions = (int)completions;
	r->deadline_ms = deadline < 0 ? -1 : deadline * 1000;
	if (r->indexed && r->completions < 0)
		return error_set(err, ERR_INVALID,
				 "replicatedJob %s: template.spec.completions: Required "
				 "value: when completion mode is Indexed",
				 r->name);
	return 0;
}

static int read_rjob(struct jobs_rjob *r, const cJSON *doc, struct error *err)
{
	const cJSON *spec = json_get(doc, "template", "spec");

	r->doc = doc;
	r->name = json_str(doc, "name");
	r->group = json_str(doc, "groupName");
	if (!r->name || !*r->name)
		return error_set(err, ERR_INVALID, "replicatedJob has no name");
	r->indexed = str_eq(json_str(spec, "completionMode"), "Indexed");
	r->on_failure =
		str_eq(json_str(spec, "template", "spec", "restartPolicy"), "OnFailure");
	r->failure_policy = json_get(spec, "podFailurePolicy");
	r->success_policy = json_get(spec, "successPolicy");
	r->depends_on = json_get(doc, "dependsOn");
	r->replace_failed_only = r->failure_policy != NULL ||
				 str_eq(json_str(spec, "podReplacementPolicy"), "Failed");
	return read_numbers(r, err);
}

static void make_jobs(struct jobs *j, struct jobs_rjob *r)
{
	r->jobs = xcalloc((size_t)r->replicas, sizeof(*r->jobs));
	for (int i = 0; i < r->replicas; i++) {
		struct jobs_job *job = &r->jobs[i];

		job->rjob = r;
		job->replica = i;
		job->name = jobs_printf("%s-%s-%d", j->name, r->name, i);
		job->start_ms = -1;
		job->tail = &job->pods;
		if (r->indexed)
			job->indexes =
				xcalloc((size_t)r->completions, sizeof(*job->indexes));
	}
}

int jobs_read(struct jobs *j, struct error *err)
{
	const cJSON *spec = json_get((const cJSON *)j->jobset, "spec"), *rjob;
	const char *subdomain = json_str(spec, "network", "subdomain");
	int64_t pods = 0;
	size_t i = 0;

	j->name = meta_name(j->jobset);
	j->ns = meta_namespace(j->jobset);
	j->uid = meta_uid(j->jobset);
	if (!j->name)
		return error_set(err, ERR_INVALID, "the JobSet has no name");
	j->ns = j->ns ? j->ns : "default";
	j->uid = j->uid ? j->uid : "";
	j->subdomain = subdomain && *subdomain ? subdomain : j->name;
	j->suspended = json_bool(spec, false, "suspend");
	j->n_rjobs = (size_t)cJSON_GetArraySize(json_get(spec, "replicatedJobs"));
	j->rjobs = xcalloc(j->n_rjobs, sizeof(*j->rjobs));
	json_each(rjob, json_get(spec, "replicatedJobs")) {
		struct jobs_rjob *r = &j->rjobs[i];

		if (read_rjob(r, rjob, err))
			return -1;
		pods += (int64_t)r->replicas *
			(r->indexed ? r->completions : r->parallelism);
		if (pods > JOBS_MAX_PODS || r->replicas > JOBS_MAX_PODS)
			return error_set(
				err, ERR_LIMIT,
				"replicatedJob %s: more than %d pods on one machine",
				r->name, JOBS_MAX_PODS);
		make_jobs(j, r);
		i++;
	}
	return jobs_check(j, err);
}
