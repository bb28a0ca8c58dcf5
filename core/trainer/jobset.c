/* jobset.c - read and write the fields of a JobSet (trainer/jobset.h). */
#include "trainer/jobset.h"

#include <stdlib.h>

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/json_index.h"
#include "base/map.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "trainer/api.h"
#include "trainer/podspec.h"
#include "trainer/shape.h"
#include "trainer/trainjob_status.h"

static const struct shape job_spec[] = {
	MEMBER("parallelism", INT32),
	MEMBER("completions", INT32),
	MEMBER("completionMode", STRING),
	MEMBER("template", OBJECT, .of = shape_pod_template),
	{ 0 },
};
static const struct shape job_template[] = {
	MEMBER("metadata", OBJECT, .of = shape_metadata),
	MEMBER("spec", OBJECT, .of = job_spec),
	{ 0 },
};
static const struct shape rjob_shape[] = {
	MEMBER("name", STRING, .required = true),
	MEMBER("replicas", INT32),
	MEMBER("template", OBJECT, .of = job_template),
	{ 0 },
};
static const struct shape network[] = { MEMBER("subdomain", STRING), { 0 } };
static const struct shape claim_policy[] = {
	MEMBER("templates", LIST, .of = shape_claim_template),
	{ 0 },
};
const struct shape shape_jobset_spec[] = {
	MEMBER("replicatedJobs", LIST, .of = rjob_shape, .max = 1000),
	MEMBER("network", OBJECT, .of = network),
	MEMBER("volumeClaimPolicies", LIST, .of = claim_policy),
	{ 0 },
};

cJSON *jobset_jobs(cJSON *spec)
{
	return json_get(spec, "replicatedJobs");
}

const cJSON *jobset_jobs_const(const cJSON *spec)
{
	return json_get(spec, "replicatedJobs");
}

const cJSON *jobset_spec_of(const cJSON *jobset)
{
	return json_get(jobset, "spec");
}

const char *jobset_subdomain(const cJSON *spec)
{
	return json_str(spec, "network", "subdomain");
}

bool jobset_suspended(const cJSON *jobset)
{
	return json_bool(jobset, false, "spec", "suspend");
}

void jobset_set_suspend(cJSON *spec, const cJSON *suspend)
{
	if (suspend)
		json_put(spec, json_dup(suspend), "suspend");
	else
		json_del(spec, JSON_PATH("suspend"));
}

void jobset_default_success(cJSON *spec, cJSON *take_jobs)
{
	cJSON *policy = json_get(spec, "successPolicy");

	if (policy) {
		cJSON_Delete(take_jobs);
		return;
	}
	json_put_str(spec, "All", "successPolicy", "operator");
	json_put(spec, take_jobs, "successPolicy", "targetReplicatedJobs");
}

bool jobset_awaits(const cJSON *spec, const char *name)
{
	const cJSON *policy = json_get(spec, "successPolicy");
	const cJSON *jobs = jobset_jobs_const(spec);
	const cJSON *targets = json_get(policy, "targetReplicatedJobs");
	int n = cJSON_GetArraySize(targets);

	if (!json_find_const(jobs, "name", name) || (n && !json_has_str(targets, name)))
		return false;
	return !str_eq(json_str(policy, "operator"), "Any") ||
	       (n ? n : cJSON_GetArraySize(jobs)) == 1;
}

int64_t rjob_replicas(const cJSON *rjob)
{
	int64_t n = json_int(rjob, 1, "replicas");

	return n > 0 ? n : 1;
}

const cJSON *rjob_replicas_given(const cJSON *rjob)
{
	return json_get(rjob, "replicas");
}

void rjob_set_replicas(cJSON *rjob, int64_t n)
{
	json_put_int(rjob, n, "replicas");
}

const char *rjob_ancestor(const cJSON *rjob)
{
	return json_str(rjob, "template", "metadata", "labels", LABEL_ANCESTOR);
}

bool rjob_is_indexed(const cJSON *rjob)
{
	const char *mode = json_str(rjob, "template", "spec", "completionMode");

	return !mode || str_eq(mode, "Indexed"); /* JobSet's default */
}

bool jobset_starts_in_order(const cJSON *spec)
{
	return str_eq(json_str(spec, "startupPolicy", "startupPolicyOrder"), "InOrder");
}

const cJSON *rjob_depends_on(const cJSON *rjob)
{
	return json_get(rjob, "dependsOn");
}

void rjob_set_depends_ready(cJSON *rjob, const char *job)
{
	cJSON *dep = cJSON_CreateObject();

	json_put_str(dep, job, "name");
	json_put_str(dep, "Ready", "status");
	json_upsert(json_list(rjob, "dependsOn"), "name", dep);
}

bool jobset_depends_on_complete(const cJSON *dependency)
{
	return str_eq(json_str(dependency, "status"), "Complete");
}

static const char *other_manager(const cJSON *spec, const char *own)
{
	const char *manager = json_str(spec, "managedBy");

	return str_eq(manager, own) ? NULL : manager;
}

const char *jobset_other_manager(const cJSON *spec)
{
	return other_manager(spec, "jobset.sigs.k8s.io/jobset-controller");
}

const char *rjob_other_manager(const cJSON *rjob)
{
	return other_manager(json_get(rjob, "template", "spec"),
			     "kubernetes.io/job-controller");
}

cJSON *rjob_job_spec(cJSON *rjob)
{
	return json_obj(rjob, "template", "spec");
}

cJSON *rjob_pod_template(cJSON *rjob)
{
	return json_obj(rjob, "template", "spec", "template");
}

cJSON *rjob_pod_spec(cJSON *rjob)
{
	return json_obj(rjob, "template", "spec", "template", "spec");
}

const cJSON *rjob_pod_spec_const(const cJSON *rjob)
{
	return json_get(rjob, "template", "spec", "template", "spec");
}

/* The identity of an element of tolerations or schedulingGates. */
static const char *placement_key(struct arena *arena, const cJSON *item)
{
	static const char *const members[] = { "name", "key", "operator", "value",
					       "effect" };
	const char *text = "";

	for (size_t i = 0; i < N_ELEMENTS(members); i++) {
		const char *value = json_str(item, members[i]);

		text = arena_printf(arena, "%s%s\n", text, value ? value : "");
	}
	return arena_printf(arena, "%s%lld", text,
			    (long long)json_int(item, -1, "tolerationSeconds"));
}

static bool list_drops(const cJSON *before, const cJSON *after)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_map struct map kept = { 0 };
	const cJSON *item;

	json_each(item, after)
		map_put(&kept, placement_key(&arena, item), (void *)(uintptr_t)item);
	json_each(item, before)
		if (!map_get(&kept, placement_key(&arena, item)))
			return true;
	return false;
}

static bool pods_drop_placement(const cJSON *before, const cJSON *after)
{
	static const char *const lists[] = { "tolerations", "schedulingGates" };
	cleanup_json_index struct json_index selector = {
		.of = json_get(after, "nodeSelector")
	};
	const cJSON *item;

	json_each(item, json_get(before, "nodeSelector"))
		if (!json_index_get(&selector, item->string))
			return true;
	for (size_t i = 0; i < N_ELEMENTS(lists); i++)
		if (list_drops(json_get(before, lists[i]), json_get(after, lists[i])))
			return true;
	return false;
}

bool jobset_drops_placement(const cJSON *before, const cJSON *after)
{
	cleanup_json_index struct json_index now = {
		.of = jobset_jobs_const(jobset_spec_of(after)), .key = "name"
	};
	const cJSON *rjob, *same;

	json_each(rjob, jobset_jobs_const(jobset_spec_of(before))) {
		same = json_index_get(&now, json_str(rjob, "name"));
		if (same && pods_drop_placement(rjob_pod_spec_const(rjob),
						rjob_pod_spec_const(same)))
			return true;
	}
	return false;
}

int64_t job_parallelism(const cJSON *job)
{
	return json_int(job, 1, "parallelism");
}

int64_t rjob_pods(const cJSON *rjob)
{
	const cJSON *job = json_get(rjob, "template", "spec");
	int64_t n = job_parallelism(job), completions = json_int(job, n, "completions");

	return (completions < n ? completions : n) * rjob_replicas(rjob);
}

void job_set_count(cJSON *job, int64_t n)
{
	json_put_int(job, n, "parallelism");
	json_put_int(job, n, "completions");
}

cJSON *jobset_job_names(const cJSON *spec)
{
	cJSON *names = cJSON_CreateArray();
	const cJSON *rjob;

	json_each(rjob, jobset_jobs_const(spec))
		cJSON_AddItemToArray(names,
				     cJSON_CreateString(podspec_element_name(rjob)));
	return names;
}

struct placed {
	size_t place, seq;
	cJSON *rjob;
};

static int by_place(const void *pa, const void *pb)
{
	const struct placed *a = pa, *b = pb;

	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	return a->seq < b->seq ? -1 : 1;
}

void jobset_sort_jobs(cJSON *spec, const cJSON *names)
{
	cJSON *jobs = jobset_jobs(spec);
	size_t n = (size_t)cJSON_GetArraySize(jobs), i = 0;
	cleanup_free struct placed *placed = xcalloc(n + 1, sizeof(*placed));
	cleanup_map struct map places = { 0 };
	const cJSON *listed;
	uintptr_t place = 0;

	json_each(listed, names)
		if (!map_get(&places, listed->valuestring))
			map_put(&places, listed->valuestring, (void *)++place);
	for (; i < n; i++) {
		cJSON *rjob = cJSON_DetachItemViaPointer(jobs, jobs->child);
		const char *name = podspec_element_name(rjob);

		place = name ? (uintptr_t)map_get(&places, name) : 0;
		placed[i] = (struct placed){ place ? place : 1, i, rjob };
	}
	qsort(placed, n, sizeof(*placed), by_place);
	for (i = 0; i < n; i++)
		cJSON_AddItemToArray(jobs, placed[i].rjob);
}

const cJSON *jobset_jobs_status(const cJSON *jobset)
{
	return json_get(jobset, "status", "replicatedJobsStatus");
}

int64_t job_status_succeeded(const cJSON *status)
{
	return json_int(status, 0, "succeeded");
}

int64_t job_status_active(const cJSON *status)
{
	return json_int(status, 0, "active");
}

bool jobset_has_status(const cJSON *jobset)
{
	const cJSON *status = json_get(jobset, "status");

	return status && status->child;
}

bool jobset_finished(const cJSON *jobset)
{
	const cJSON *status = json_get(jobset, "status");

	return status_is_true(status, "Completed") || status_is_true(status, "Failed");
}

int64_t jobset_restarts(const cJSON *jobset)
{
	return json_int(jobset, 0, "status", "restarts");
}

int64_t jobset_attempts(const cJSON *jobset)
{
	return json_int(jobset, -1, "status", "executionAttempts");
}

int64_t pod_attempt(const cJSON *pod)
{
	const char *text = meta_annotation(pod, POD_ATTEMPT_ANNOTATION);
	int64_t n;

	return text && !str_int(&n, text, 0, INT32_MAX, IGNORED) ? n : -1;
}

bool jobset_is_active(const cJSON *jobset)
{
	const cJSON *job;

	json_each(job, jobset_jobs_status(jobset))
		if (job_status_active(job) > 0)
			return true;
	return false;
}

/* A copy with only these members. */
static cJSON *only(const cJSON *obj, const char *const *keys)
{
	cJSON *ret = cJSON_CreateObject();

	for (; *keys; keys++)
		json_put(ret, json_dup(json_get(obj, *keys)), *keys);
	return ret;
}

static void digest_meta(cJSON *jobset)
{
	cJSON *labels = json_dup(json_get(jobset, "metadata", "labels"));
	cJSON *annotations = json_dup(json_get(jobset, "metadata", "annotations"));

	meta_digest(jobset);
	json_put(jobset, labels, "metadata", "labels");
	json_put(jobset, annotations, "metadata", "annotations");
}

void jobset_digest(cJSON *jobset)
{
	cJSON *spec = only(json_get(jobset, "spec"), JSON_PATH("suspend"));
	cJSON *status = only(json_get(jobset, "status"),
			     JSON_PATH("conditions", "replicatedJobsStatus", "restarts"));

	digest_meta(jobset);
	json_put(jobset, spec, "spec");
	json_put(jobset, status, "status");
}

cJSON *jobset_as_written(const cJSON *meta, bool suspend, const cJSON *previous)
{
	cJSON *ret = json_dup(meta);

	json_put_str(ret, JOBSET_API_VERSION, "apiVersion");
	json_put_str(ret, JOBSET_KIND, "kind");
	digest_meta(ret);
	json_put_bool(ret, suspend, "spec", "suspend");
	json_put(ret, json_dup(json_get(previous, "status")), "status");
	return ret;
}

/*
 * Server-side apply turns an object that became empty, but is still applied as {}, into
 * null, which the API server refuses: remove it.
 */
static void drop_empty_metadata(cJSON *template_of)
{
	static const char *const maps[] = { "labels", "annotations" };
	cJSON *metadata = json_get(template_of, "metadata");

	for (size_t i = 0; metadata && i < N_ELEMENTS(maps); i++) {
		const cJSON *map = json_get(metadata, maps[i]);

		if (map && !map->child)
			json_del(metadata, JSON_PATH(maps[i]));
	}
	if (metadata && !metadata->child)
		json_del(template_of, JSON_PATH("metadata"));
}

/*
 * Adds the defaults of volumeClaimPolicies, as JobSet's webhook does to a new JobSet. The
 * policies are immutable: without the defaults a suspended JobSet could not be applied
 * again.
 */
static void complete_claims(cJSON *jobset_spec)
{
	cJSON *policy, *claim;

	json_each(policy, json_get(jobset_spec, "volumeClaimPolicies")) {
		if (!json_str(policy, "retentionPolicy", "whenDeleted"))
			json_put_str(policy, "Delete", "retentionPolicy", "whenDeleted");
		json_each(claim, json_get(policy, "templates")) {
			json_obj(claim, "spec", "resources");
			json_obj(claim, "status");
		}
	}
}

/* A condition's status is always sent; for Jobs "" is "True". */
static void spell_conditions(cJSON *rjob)
{
	cJSON *rule, *condition;

	json_each(rule, json_get(rjob_job_spec(rjob), "podFailurePolicy", "rules"))
		json_each(condition, json_get(rule, "onPodConditions"))
			if (cJSON_IsObject(condition) && !json_get(condition, "status"))
				json_put_str(condition, "", "status");
}

static const char *claim_of(struct arena *arena, const cJSON *jobset,
			    const cJSON *template)
{
	return arena_printf(arena, "%s-%s", meta_name(template), meta_name(jobset));
}

static void add_claim(cJSON *jobset, const cJSON *template)
{
	cleanup_arena struct arena arena = { 0 };
	const char *name = meta_name(template);
	cJSON *rjob;

	json_each(rjob, jobset_jobs(json_get(jobset, "spec"))) {
		cJSON *pod_spec = rjob_pod_spec(rjob);
		cJSON *volume;

		if (!pod_mounts(pod_spec, name) || pod_has_volume(pod_spec, name))
			continue;
		volume = podspec_volume(name);
		json_put_str(volume, claim_of(&arena, jobset, template),
			     "persistentVolumeClaim", "claimName");
		pod_set_volume(pod_spec, volume);
	}
}

void jobset_add_claims(cJSON *jobset)
{
	const cJSON *policy, *claim;

	json_each(policy, json_get((const cJSON *)jobset, "spec", "volumeClaimPolicies"))
		json_each(claim, json_get(policy, "templates"))
			if (meta_name(claim))
				add_claim(jobset, claim);
}

cJSON *jobset_own_claims(const cJSON *jobset)
{
	cleanup_arena struct arena arena = { 0 };
	cJSON *names = cJSON_CreateArray();
	const cJSON *policy, *claim;

	json_each(policy, json_get(jobset, "spec", "volumeClaimPolicies")) {
		if (str_eq(json_str(policy, "retentionPolicy", "whenDeleted"), "Retain"))
			continue;
		json_each(claim, json_get(policy, "templates"))
			if (meta_name(claim))
				cJSON_AddItemToArray(
					names, cJSON_CreateString(
						       claim_of(&arena, jobset, claim)));
	}
	return names;
}

void jobset_tidy(cJSON *jobset_spec)
{
	cJSON *rjob;

	json_each(rjob, jobset_jobs(jobset_spec)) {
		drop_empty_metadata(json_get(rjob, "template"));
		drop_empty_metadata(rjob_pod_template(rjob));
		spell_conditions(rjob);
		if (!json_int(rjob, 1, "replicas"))
			json_del(rjob, JSON_PATH("replicas"));
	}
	drop_omitempty(jobset_spec);
	complete_claims(jobset_spec);
}

/* ---- pods that fail, and pods that are lost ---- */

enum { BY_KILL = 137, BY_TERM = 143, LOST_PODS = 6 };

static bool has_code(const cJSON *codes, int code)
{
	const cJSON *value;
	int64_t n;

	json_each(value, json_get(codes, "values"))
		if (json_int_of(value, &n) && n == code)
			return true;
	return false;
}

static bool rule_matches(const cJSON *rule, const char *container, int code)
{
	const cJSON *codes = json_get(rule, "onExitCodes");
	const char *whose = json_str(codes, "containerName");

	if (!codes || (whose && !str_eq(whose, container)))
		return false;
	return has_code(codes, code) == str_eq(json_str(codes, "operator"), "In");
}

void job_final_codes(const cJSON *job, const char *container, bool final[256])
{
	for (int code = 1; code < 256; code++) {
		const cJSON *rule;

		final[code] = false;
		json_each(rule, json_get(job, "podFailurePolicy", "rules")) {
			if (!rule_matches(rule, container, code))
				continue;
			final[code] = str_eq(json_str(rule, "action"), "FailJob");
			break;
		}
	}
}

static cJSON *add_rule(cJSON *job, const char *action)
{
	cJSON *rule = cJSON_CreateObject();

	json_put_str(rule, action, "action");
	cJSON_AddItemToArray(json_list(job, "podFailurePolicy", "rules"), rule);
	return rule;
}

void job_replace_lost_pods(cJSON *job, const char *container)
{
	cJSON *rule, *condition = cJSON_CreateObject(), *values;

	json_put_str(job, "Never", "template", "spec", "restartPolicy");
	if (!json_get(job, "backoffLimit"))
		json_put_int(job, LOST_PODS, "backoffLimit");
	json_put_str(job, "Failed", "podReplacementPolicy");
	rule = add_rule(job, "Ignore"); /* evicted, preempted, of a lost node */
	json_put_str(condition, "DisruptionTarget", "type");
	json_put_str(condition, "True", "status");
	cJSON_AddItemToArray(json_list(rule, "onPodConditions"), condition);
	rule = add_rule(job, "FailJob");
	json_put_str(rule, container, "onExitCodes", "containerName");
	json_put_str(rule, "NotIn", "onExitCodes", "operator");
	values = json_list(rule, "onExitCodes", "values");
	cJSON_AddItemToArray(values, cJSON_CreateNumber(BY_KILL)); /* deleted, or its */
	cJSON_AddItemToArray(values, cJSON_CreateNumber(BY_TERM)); /* node is shut down */
}

int64_t jobset_max_restarts(const cJSON *spec)
{
	return json_int(spec, 0, "failurePolicy", "maxRestarts");
}

void jobset_fail_with(cJSON *spec, const char *rjob)
{
	cJSON *rule = cJSON_CreateObject();

	json_put_str(rule, "supervised", "name");
	json_put_str(rule, "FailJobSet", "action");
	cJSON_AddItemToArray(json_list(rule, "onJobFailureReasons"),
			     cJSON_CreateString("PodFailurePolicy"));
	cJSON_AddItemToArray(json_list(rule, "targetReplicatedJobs"),
			     cJSON_CreateString(rjob));
	cJSON_InsertItemInArray(json_list(spec, "failurePolicy", "rules"), 0, rule);
}
