/* overrides.c - fields of Kubeflow Trainer 2.0 and 2.1 (convert/convert.h). */
#include "api/meta.h"
#include "base/str.h"
#include "convert/job.h"
#include "trainer/api.h"

#define OVERRIDE_MANAGER TRAINER_GROUP "/override" /* and a number */

static void drop_null(cJSON *spec, const char *key)
{
	if (cJSON_IsNull(json_member(spec, key)))
		json_del(spec, JSON_PATH(key));
}

static cJSON *add_patch(cJSON *patches, const char *manager)
{
	cJSON *patch = cJSON_CreateObject();

	json_put_str(patch, manager, "manager");
	cJSON_AddItemToArray(patches, patch);
	return json_obj(patch, "trainingRuntimeSpec", "template");
}

/* Labels and annotations of spec were the JobSet's. */
static void convert_metadata(cJSON *spec, cJSON *patches)
{
	static const char *const keys[] = { "labels", "annotations", NULL };
	cJSON *template = NULL;

	for (const char *const *key = keys; *key; key++) {
		cJSON *value = cJSON_DetachItemFromObjectCaseSensitive(spec, *key);

		if (!value)
			continue;
		if (!template)
			template = add_patch(patches, TRAINER_GROUP "/metadata");
		json_put(template, value, "metadata", *key);
	}
}

/* 2.0 had the members of the pod's spec beside targetJobs; 2.1 has metadata and spec. */
static cJSON *pod_template(const cJSON *override, bool flat)
{
	cJSON *pod = cJSON_CreateObject();
	const cJSON *member;

	json_each(member, override) {
		if (str_eq(member->string, "targetJobs"))
			continue;
		if (flat)
			json_put(pod, json_dup(member), "spec", member->string);
		else
			json_put(pod, json_dup(member), member->string);
	}
	return pod;
}

/* number: of the patch; the API server wants one manager for each. */
static void convert_override(struct v1_job *j, cJSON *patches, size_t number,
			     const char *path, const cJSON *override, bool flat)
{
	const cJSON *targets = json_get(override, "targetJobs"), *target;
	char *at = arena_printf(j->arena, "%s.targetJobs", path);
	cJSON *jobs;

	if (!cJSON_IsArray(targets) || !targets->child) {
		v1_refuse(j, at, NULL, "name the jobs of the runtime");
		return;
	}
	jobs = json_list(
		add_patch(patches,
			  arena_printf(j->arena, OVERRIDE_MANAGER "-%zu", number)),
		"spec", "replicatedJobs");
	json_each(target, targets) {
		const char *name = json_str(target, "name");
		cJSON *job = cJSON_CreateObject();

		if (!name)
			v1_refuse(j, at, target, "must be an object with the job's name");
		json_put_str(job, name ? name : "", "name");
		json_put(job, pod_template(override, flat), "template", "spec",
			 "template");
		cJSON_AddItemToArray(jobs, job);
	}
}

static void convert_overrides(struct v1_job *j, cJSON *spec, cJSON *patches,
			      const char *key, bool flat)
{
	cJSON *list = cJSON_DetachItemFromObjectCaseSensitive(spec, key);
	const char *path = arena_printf(j->arena, "spec.%s", key);
	const cJSON *one;
	size_t before = (size_t)cJSON_GetArraySize(patches), i = 0;

	if (list && !cJSON_IsArray(list))
		v1_refuse(j, path, list, "must be a list");
	json_each(one, list) {
		convert_override(j, patches, before + i + 1,
				 arena_printf(j->arena, "%s[%zu]", path, i), one, flat);
		i++;
	}
	cJSON_Delete(list);
}

/* Drop words of torchrun; also a number, if `lost` has what to do instead. */
static void convert_procs(struct v1_job *j, cJSON *owner, const char *path,
			  const char *lost)
{
	const cJSON *value = json_get(owner, "numProcPerNode");
	const char *word = cJSON_GetStringValue(value);

	if (str_eq(word, "auto"))
		v1_note(j, GRADE_EXACT, path, value, "it is the default");
	else if (str_eq(word, "gpu") || str_eq(word, "cpu"))
		v1_note(j, GRADE_APPROXIMATE, path, value,
			"the default is a process for each GPU or, without GPUs, CPU");
	else if (value && lost)
		v1_note(j, GRADE_LOST, path, value, lost);
	else
		return;
	json_del(owner, JSON_PATH("numProcPerNode"));
}

static void convert_train_job(struct v1_job *j, cJSON *spec)
{
	static const char *const before[] = { "labels", "annotations", "podSpecOverrides",
					      "podTemplateOverrides", NULL };
	bool any = false;
	cJSON *patches, *others, *other;

	for (const char *const *key = before; *key; key++) {
		drop_null(spec, *key);
		any = any || json_member(spec, *key);
	}
	convert_procs(j, json_get(spec, "trainer"), "spec.trainer.numProcPerNode", NULL);
	if (!any)
		return;
	others = cJSON_DetachItemFromObjectCaseSensitive(spec, "runtimePatches");
	if (others && !cJSON_IsArray(others))
		v1_refuse(j, "spec.runtimePatches", others, "must be a list");
	patches = json_list(spec, "runtimePatches");
	convert_metadata(spec, patches);
	convert_overrides(j, spec, patches, "podSpecOverrides", true);
	convert_overrides(j, spec, patches, "podTemplateOverrides", false);
	while (others && (other = cJSON_DetachItemViaPointer(others, others->child)))
		cJSON_AddItemToArray(patches, other);
	cJSON_Delete(others);
}

static void convert_runtime(struct v1_job *j, cJSON *torch)
{
	const cJSON *elastic = json_get(torch, "elasticPolicy");

	convert_procs(j, torch, "spec.mlPolicy.torch.numProcPerNode",
		      "set spec.trainer.numProcPerNode of the TrainJobs");
	if (!elastic)
		return;
	v1_note(j, GRADE_EXACT, "spec.mlPolicy.torch.elasticPolicy", elastic,
		"it had no effect");
	json_del(torch, JSON_PATH("elasticPolicy"));
}

void convert_trainer(struct convert_result *ret, cJSON *obj)
{
	struct v1_job j = { .ret = ret, .arena = &ret->arena };

	if (meta_is(obj, TRAINER_GROUP, TRAINJOB_KIND))
		convert_train_job(&j, json_get(obj, "spec"));
	else if (meta_is(obj, TRAINER_GROUP, RUNTIME_KIND) ||
		 meta_is(obj, TRAINER_GROUP, CLUSTER_RUNTIME_KIND))
		convert_runtime(&j, json_get(obj, "spec", "mlPolicy", "torch"));
}
