/*
 * shared.c - use an existing runtime instead of one for each job (convert/job.h).
 *
 * spec.trainer gets image, command, variables and resources, runtimePatches the fields
 * that a patch may contain; the rest of the pod templates is lost.
 */
#include "api/meta.h"
#include "base/str.h"
#include "convert/job.h"
#include "trainer/api.h"
#include "trainer/jobset.h"
#include "trainer/podspec.h"
#include "trainer/runtime.h"
#include "trainer/trainjob.h"

#define T       "spec.R.*.template."
#define MANAGER "kftrainer.io/convert"

/* The fields of PodSpecPatch and ContainerPatch. */
static const char *const of_pod[] = {
	"affinity",
	"imagePullSecrets",
	"nodeSelector",
	"schedulingGates",
	"securityContext",
	"serviceAccountName",
	"terminationGracePeriodSeconds",
	"tolerations",
	"volumes",
	NULL,
};
static const char *const of_container[] = { "securityContext", "volumeMounts", NULL };
/* The fields that spec.trainer sets in the trainer's container. */
static const char *const of_trainer[] = { "image", "command",   "args",
					  "env",   "resources", NULL };
static const char *const of_metadata[] = { "labels", "annotations", NULL };

static bool trains(const struct v1_job *j, const struct role *role)
{
	const cJSON *rjob =
		json_find_const(runtime_jobs(j->conf->shared), "name", role->rjob);

	return str_eq(rjob_ancestor(rjob), ANCESTOR_TRAINER);
}

/* Does the pattern begin with PREFIX and one of the words? */
static bool begins(const char *pattern, const char *prefix, const char *const *words)
{
	const char *rest = str_after(pattern, prefix);

	for (; rest && *words; words++) {
		const char *end = str_after(rest, *words);

		if (end && (!*end || *end == '.' || *end == '['))
			return true;
	}
	return false;
}

bool v1_shared_carries(const struct v1_job *j, const struct role *role,
		       const char *pattern)
{
	static const char *const name[] = { "name", NULL };

	return begins(pattern, T "metadata.", of_metadata) ||
	       begins(pattern, T "spec.", of_pod) ||
	       begins(pattern, T "spec.containers[].", of_container) ||
	       begins(pattern, T "spec.containers[].", name) ||
	       (trains(j, role) && begins(pattern, T "spec.containers[].", of_trainer));
}

static void copy(cJSON *to, const cJSON *from, const char *const *words)
{
	for (; from && *words; words++)
		if (json_member(from, *words))
			json_put(to, json_dup(json_member(from, *words)), *words);
}

static bool is_reserved(const char *name)
{
	static const char *const reserved[] = {
		"PET_MASTER_ADDR", "PET_MASTER_PORT",    "PET_NNODES",
		"PET_NODE_RANK",   "PET_NPROC_PER_NODE", NULL,
	};

	return str_in(name, reserved) || str_starts(name, "OMPI_MCA_orte_") ||
	       str_starts(name, "OMPI_MCA_plm_") || str_starts(name, "DMLC_");
}

/* Omits variables that the runtime's policy sets: the webhook would refuse them. */
static void fill_trainer(struct v1_job *j, const cJSON *node)
{
	cJSON *trainer = json_obj(j->job, "spec", "trainer");
	cJSON *list, *e, *next;

	copy(trainer, node, of_trainer);
	if (json_get(trainer, "resources"))
		json_put(trainer,
			 cJSON_DetachItemFromObjectCaseSensitive(trainer, "resources"),
			 "resourcesPerNode");
	list = json_get(trainer, "env");
	for (e = list ? list->child : NULL; e; e = next) {
		next = e->next;
		if (is_reserved(podspec_element_name(e)))
			cJSON_Delete(cJSON_DetachItemViaPointer(list, e));
	}
}

/* The patch of one replicatedJob; NULL: none needed. */
static cJSON *patch_of(const cJSON *rjob)
{
	const cJSON *template = json_get(rjob, "template", "spec", "template");
	const cJSON *pod = json_get(template, "spec");
	const cJSON *node = json_find_const(pod_containers_const(pod), "name", NODE);
	cJSON *ret = cJSON_CreateObject(), *metadata = cJSON_CreateObject();
	cJSON *spec = cJSON_CreateObject(), *c = cJSON_CreateObject();

	copy(metadata, json_get(template, "metadata"), of_metadata);
	copy(spec, pod, of_pod);
	copy(c, node, of_container);
	if (c->child) {
		json_put_str(c, NODE, "name");
		cJSON_AddItemToArray(json_list(spec, "containers"), c);
	} else {
		cJSON_Delete(c);
	}
	if (!metadata->child && !spec->child) {
		cJSON_Delete(metadata);
		cJSON_Delete(spec);
		cJSON_Delete(ret);
		return NULL;
	}
	json_put_str(ret, podspec_element_name(rjob), "name");
	if (metadata->child)
		json_put(ret, metadata, "template", "spec", "template", "metadata");
	else
		cJSON_Delete(metadata);
	if (spec->child)
		json_put(ret, spec, "template", "spec", "template", "spec");
	else
		cJSON_Delete(spec);
	return ret;
}

static void patch(struct v1_job *j)
{
	const cJSON *rjob;
	cJSON *one = cJSON_CreateObject(), *jobs;

	json_put_str(one, MANAGER, "manager");
	jobs = json_list(one, "trainingRuntimeSpec", "template", "spec",
			 "replicatedJobs");
	json_each(rjob, runtime_jobs(j->runtime)) {
		cJSON *p = patch_of(rjob);

		if (p)
			cJSON_AddItemToArray(jobs, p);
	}
	if (jobs->child)
		cJSON_AddItemToArray(json_list(j->job, "spec", "runtimePatches"), one);
	else
		cJSON_Delete(one);
}

void v1_use_shared(struct v1_job *j)
{
	const cJSON *runtime = j->conf->shared;

	json_put_str(j->job, meta_name(runtime), "spec", "runtimeRef", "name");
	if (str_eq(meta_kind(runtime), CLUSTER_RUNTIME_KIND))
		json_del(j->job, JSON_PATH("spec", "runtimeRef", "kind"));
	for (size_t i = 0; i < j->n_roles; i++)
		if (trains(j, &j->roles[i]))
			fill_trainer(j, pod_container(rjob_pod_spec(v1_find_rjob(
							      j, j->roles[i].rjob)),
						      NODE));
	patch(j);
	cJSON_Delete(j->runtime);
	j->runtime = NULL;
}

/* ---- check the runtime ---- */

static const char *framework_of(const cJSON *runtime)
{
	const cJSON *ml = runtime_ml_policy(runtime);
	const char *label = meta_label(runtime, LABEL_FRAMEWORK);

	if (policy_torch(ml))
		return "torch";
	if (json_get(ml, "jax"))
		return "jax";
	if (json_get(ml, "xgboost"))
		return "xgboost";
	if (policy_mpi(ml))
		return "mpi";
	return label && !policy_flux(ml) ? label : "no framework";
}

void v1_check_shared(struct v1_job *j)
{
	const cJSON *runtime = j->conf->shared;
	const char *framework = framework_of(runtime);

	if (!str_eq(framework, j->kind->framework)) {
		v1_refuse(j, "kind", json_get(j->obj, "kind"),
			  "the shared runtime %s is for %s, not for %s",
			  meta_name(runtime), framework, j->kind->framework);
		return;
	}
	for (size_t i = 0; i < j->n_roles; i++)
		if (!json_find_const(runtime_jobs(runtime), "name", j->roles[i].rjob))
			v1_refuse(j, j->roles[i].path, j->roles[i].spec,
				  "the shared runtime %s has no job \"%s\"",
				  meta_name(runtime), j->roles[i].rjob);
}
