/* check.c - refuse jobs that V1 refuses, or that no TrainJob can do (convert/job.h). */
#include <string.h>

#include "api/meta.h"
#include "api/names.h"
#include "base/str.h"
#include "convert/job.h"
#include "trainer/api.h"

enum { MAX_PODS = 1000000 };

static const char *child(struct v1_job *j, const char *path, const char *key)
{
	return arena_printf(j->arena, "%s.%s", path, key);
}

static void check_containers(struct v1_job *j, const struct role *r)
{
	const char *path = child(j, r->path, "template.spec.containers");
	const cJSON *list = json_get(r->template, "spec", "containers"), *c;
	size_t i = 0;

	json_each(c, list) {
		const char *at = arena_printf(j->arena, "%s[%zu]", path, i++);
		const char *image = json_str(c, "image");

		if (!image || !*image)
			v1_refuse(j, child(j, at, "image"), NULL, "V1 refuses it, too");
		if (str_eq(json_str(c, "name"), NODE) && !str_eq(r->container, NODE))
			v1_refuse(
				j, child(j, at, "name"), json_get(c, "name"),
				"%s becomes the name of the training container: give this "
				"one another name",
				NODE);
	}
	if (!r->container && json_get(r->template, "spec"))
		v1_refuse(j, path, NULL, "one must be called \"%s\"", j->kind->container);
}

static void check_roles(struct v1_job *j)
{
	const char *path = arena_printf(j->arena, "spec.%s", j->kind->roles_key);

	if (!j->n_roles)
		v1_refuse(j, path, NULL, "at least one replica is required");
	if (j->pods > MAX_PODS)
		v1_refuse(j, path, NULL, "%lld replicas exceed the limit of %d",
			  (long long)j->pods, MAX_PODS);
	for (size_t i = 0; i < j->n_roles; i++)
		check_containers(j, &j->roles[i]);
}

void v1_check_job(struct v1_job *j)
{
	const cJSON *metrics = json_get(j->spec, "elasticPolicy", "metrics");
	const char *generate = meta_generate_name(j->obj);

	if (generate || !j->name || !*j->name) {
		v1_refuse(j, "metadata.name", NULL,
			  "the runtime is named after the job: set metadata.name%s",
			  generate ? " instead of generateName" : "");
		return;
	}
	if (metrics && metrics->child && j->kind->bit == KIND_PYTORCH)
		v1_refuse(j, "spec.elasticPolicy.metrics", metrics,
			  "a TrainJob cannot be scaled: remove it, and set the "
			  "number of workers");
	check_roles(j);
	if (j->kind->check)
		j->kind->check(j);
	if (j->conf->shared)
		v1_check_shared(j);
}

/* Refuse a role with more than one replica. */
static void check_one(struct v1_job *j, const char *role)
{
	const struct role *r = v1_role(j, role);

	if (r && r->n != 1)
		v1_refuse(j, child(j, r->path, "replicas"), json_get(r->spec, "replicas"),
			  "must be 1");
}

void v1_check_pytorch(struct v1_job *j)
{
	static const char *const words[] = { "auto", "cpu", "gpu", NULL };
	const cJSON *procs = json_get(j->spec, "nprocPerNode");

	check_one(j, "Master");
	if (procs && !v1_numeric_procs(j) && !str_in(procs->valuestring, words))
		v1_refuse(j, "spec.nprocPerNode", procs,
			  "must be auto, cpu, gpu or a positive number");
	if (procs && json_get(j->elastic, "nProcPerNode"))
		v1_refuse(j, "spec.elasticPolicy.nProcPerNode",
			  json_get(j->elastic, "nProcPerNode"),
			  "cannot be combined with spec.nprocPerNode, which replaces it");
	if (j->elastic && !v1_role(j, "Worker"))
		v1_refuse(j, "spec.pytorchReplicaSpecs.Worker", NULL,
			  "elasticPolicy requires workers");
}

void v1_check_xgboost(struct v1_job *j)
{
	check_one(j, "Master");
	if (!v1_role(j, "Master"))
		v1_refuse(j, "spec.xgbReplicaSpecs.Master", NULL,
			  "an XGBoostJob requires a master");
}

void v1_check_tensorflow(struct v1_job *j)
{
	if (v1_role(j, "Chief") && v1_role(j, "Master"))
		v1_refuse(j, "spec.tfReplicaSpecs.Master", v1_role(j, "Master")->spec,
			  "Chief and Master cannot be combined");
	if (j->n_roles && !v1_role(j, "Chief") && !v1_role(j, "Master") &&
	    !v1_role(j, "Worker"))
		v1_refuse(j, "spec.tfReplicaSpecs.Worker", NULL,
			  "a job without workers and chief never completes");
}

void v1_check_mpi(struct v1_job *j)
{
	const struct role *worker = v1_role(j, "Worker");

	check_one(j, "Launcher");
	if (!v1_role(j, "Launcher"))
		v1_refuse(j, "spec.mpiReplicaSpecs.Launcher", NULL,
			  "an MPIJob requires a launcher");
	if (!worker)
		v1_refuse(j, "spec.mpiReplicaSpecs.Worker", NULL,
			  "the mpi policy requires a worker");
	if (j->conf->upstream && !str_eq(v1_mpi_implementation(j), "OpenMPI"))
		v1_refuse(j, "spec.mpiImplementation",
			  json_get(j->spec, "mpiImplementation"),
			  "upstream's Trainer supports OpenMPI only; convert without "
			  "--target upstream");
	for (size_t i = 0; i < j->n_roles && j->kind->bit == KIND_MPI2; i++)
		if (!str_eq(j->roles[i].restart, "Never") &&
		    !str_eq(j->roles[i].restart, "OnFailure"))
			v1_refuse(j, child(j, j->roles[i].path, "restartPolicy"),
				  json_get(j->roles[i].spec, "restartPolicy"),
				  "must be Never or OnFailure");
}
