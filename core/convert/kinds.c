/* kinds.c - the kinds of jobs, and what is special in their runtimes (convert/job.h). */
#include "base/str.h"
#include "convert/job.h"
#include "trainer/api.h"
#include "trainer/jobset.h"
#include "trainer/peers.h"
#include "trainer/podspec.h"
#include "trainer/requests.h"
#include "trainer/trainjob.h"

enum { MAX_INJECTED = 8 }; /* containers, of one job (the CRD) */

const struct v1_kind v1_kinds[] = {
	{ KIND_PYTORCH,
	  "PyTorchJob",
	  "v1",
	  "pytorchReplicaSpecs",
	  "pytorch",
	  "pytorchjob-port",
	  "OnFailure",
	  "torch",
	  "torch",
	  true,
	  { { "Master", NODE }, { "Worker", NODE } },
	  v1_check_pytorch,
	  v1_env_pytorch,
	  v1_build_pytorch },
	{ KIND_TENSORFLOW,
	  "TFJob",
	  "v1",
	  "tfReplicaSpecs",
	  "tensorflow",
	  "tfjob-port",
	  "Never",
	  FRAMEWORK_TENSORFLOW,
	  NULL,
	  false,
	  { { "Chief", "chief" },
	    { "Master", "master" },
	    { "PS", "ps" },
	    { "Worker", NODE },
	    { "Evaluator", "evaluator" } },
	  v1_check_tensorflow,
	  v1_env_tensorflow,
	  v1_build_tensorflow },
	{ KIND_XGBOOST,
	  "XGBoostJob",
	  "v1",
	  "xgbReplicaSpecs",
	  "xgboost",
	  "xgboostjob-port",
	  "Never",
	  "xgboost",
	  "xgboost",
	  true,
	  { { "Master", NODE }, { "Worker", NODE } },
	  v1_check_xgboost,
	  v1_env_xgboost,
	  v1_build_xgboost },
	{ KIND_PADDLE,
	  "PaddleJob",
	  "v1",
	  "paddleReplicaSpecs",
	  "paddle",
	  "master",
	  "OnFailure",
	  FRAMEWORK_PADDLE,
	  NULL,
	  false,
	  { { "Master", "ps" }, { "Worker", NODE } },
	  NULL,
	  v1_env_paddle,
	  v1_build_paddle },
	{ KIND_JAX,
	  "JAXJob",
	  "v1",
	  "jaxReplicaSpecs",
	  "jax",
	  "jaxjob-port",
	  "Never",
	  "jax",
	  "jax",
	  true,
	  { { "Worker", NODE } },
	  NULL,
	  v1_env_jax,
	  v1_build_jax },
	{ KIND_MPI,
	  "MPIJob",
	  "v1",
	  "mpiReplicaSpecs",
	  "mpi",
	  "mpi-port",
	  "Never",
	  "mpi",
	  "mpi",
	  false,
	  { { "Worker", NODE }, { "Launcher", LAUNCHER } },
	  v1_check_mpi,
	  v1_env_mpi,
	  v1_build_mpi },
	{ KIND_MPI2,
	  "MPIJob",
	  "v2beta1",
	  "mpiReplicaSpecs",
	  NULL,
	  NULL,
	  "Never",
	  "mpi",
	  "mpi",
	  false,
	  { { "Worker", NODE }, { "Launcher", LAUNCHER } },
	  v1_check_mpi,
	  v1_env_mpi,
	  v1_build_mpi },
	{ .kind = NULL },
};

/* ---- torch ---- */

/* Give the policy's variables to the other containers, too. */
static void inject_into_others(struct v1_job *j)
{
	const cJSON *c,
		*list = json_get(rjob_pod_spec(v1_find_rjob(j, NODE)), "containers");
	cJSON *target = cJSON_CreateObject();
	cJSON *names = json_list(target, "containerNames");
	int n = 0;

	json_put_str(target, NODE, "jobName");
	json_each(c, list)
		if (!str_eq(podspec_element_name(c), NODE) && n++ < MAX_INJECTED)
			cJSON_AddItemToArray(names,
					     cJSON_CreateString(podspec_element_name(c)));
	if (!n) {
		cJSON_Delete(target);
		return;
	}
	cJSON_AddItemToArray(json_list(j->runtime, "spec", "mlPolicy", "torch",
				       "envInjection", "targets"),
			     target);
}

/* The processes of V1's nprocPerNode "gpu": the number of GPUs that the pod requests. */
static int64_t gpus(struct v1_job *j)
{
	cJSON *pod = rjob_pod_spec(v1_find_rjob(j, NODE));

	return resources_gpus(container_resources(pod_container(pod, NODE)));
}

void v1_build_pytorch(struct v1_job *j)
{
	int64_t procs = v1_numeric_procs(j);

	if (!procs && str_eq(json_str(j->spec, "nprocPerNode"), "gpu"))
		procs = gpus(j);
	if (procs)
		tj_set_num_proc_per_node(j->job, procs);
	inject_into_others(j);
	if (v1_role(j, "Master"))
		v1_succeed_with_index(j, "succeededIndexes", cJSON_CreateString("0"));
	else if (j->elastic)
		v1_succeed_with_index(j, "succeededCount", json_new_int(1));
}

void v1_build_xgboost(struct v1_job *j)
{
	v1_succeed_with_index(j, "succeededIndexes", cJSON_CreateString("0"));
}

void v1_build_jax(struct v1_job *j)
{
}

/* ---- TensorFlow, Paddle ---- */

/* Limit failures per index, so that a failed worker does not end the others. */
static void tolerate_failures(struct v1_job *j)
{
	cJSON *job = rjob_job_spec(v1_find_rjob(j, NODE)), *limit;

	limit = json_dup(json_get(job, "backoffLimit"));
	json_del(job, JSON_PATH("backoffLimit"));
	json_put(job, limit, "backoffLimitPerIndex");
	json_put_str(rjob_pod_spec(v1_find_rjob(j, NODE)), "Never", "restartPolicy");
}

void v1_build_tensorflow(struct v1_job *j)
{
	const char *lead = v1_role(j, "Chief")    ? "chief"
			   : v1_role(j, "Master") ? "master"
						  : NODE;
	bool all = str_eq(json_str(j->spec, "successPolicy"), "AllWorkers");

	if (j->n_roles > 1)
		v1_succeed_with(j, lead);
	if (str_eq(lead, NODE) && !all)
		v1_succeed_with_index(j, "succeededIndexes", cJSON_CreateString("0"));
	if (!json_bool(j->spec, false, "enableDynamicWorker"))
		return;
	if (v1_role(j, "Worker"))
		tolerate_failures(j);
	if (!j->conf->upstream)
		json_put_str(j->runtime, "true", "metadata", "annotations",
			     TF_DYNAMIC_ANNOTATION);
}

void v1_build_paddle(struct v1_job *j)
{
	if (v1_role(j, "Master") && j->n_roles > 1)
		v1_succeed_with(j, "ps");
}

/* ---- MPI ---- */

static void start_sshd(cJSON *node)
{
	static const char *const words[] = { "/usr/sbin/sshd" };
	static const char *const args[] = { "-De" };
	cJSON *command = cJSON_CreateStringArray(words, 1);
	cJSON *rest = cJSON_CreateStringArray(args, 1);

	container_set_command(node, command);
	container_set_args(node, rest);
	cJSON_Delete(command);
	cJSON_Delete(rest);
}

static void wait_for_workers(struct v1_job *j)
{
	cJSON *need = cJSON_CreateObject();

	json_put_str(need, NODE, "name");
	json_put_str(need, "Ready", "status");
	cJSON_AddItemToArray(json_list(v1_find_rjob(j, LAUNCHER), "dependsOn"), need);
}

const char *v1_mpi_transport(const struct v1_job *j)
{
	if (j->conf->upstream || j->conf->shared)
		return NULL;
	if (j->kind->bit == KIND_MPI)
		return "worker";
	return str_eq(v1_mpi_implementation(j), "OpenMPI") ? NULL : "ssh";
}

/* v1's workers are idle pods for kubectl exec; v2beta1's run sshd. */
static void start_worker(const struct v1_job *j, cJSON *node)
{
	if (j->kind->bit != KIND_MPI &&
	    (json_get(node, "command") || json_get(node, "args")))
		return;
	container_set_args(node, NULL);
	if (str_eq(v1_mpi_transport(j), "worker"))
		container_set_command(node, NULL);
	else
		start_sshd(node);
}

void v1_build_mpi(struct v1_job *j)
{
	const char *transport = v1_mpi_transport(j);
	bool as_node = json_bool(j->spec, false, "runLauncherAsWorker");
	int64_t slots = json_int(j->spec, 1, "slotsPerWorker");
	int64_t n = v1_role(j, "Worker")->n + as_node;
	cJSON *mpi = json_obj(j->runtime, "spec", "mlPolicy", "mpi");
	cJSON *node = pod_container(rjob_pod_spec(v1_find_rjob(j, NODE)), NODE);
	const char *path = json_str(j->spec, "sshAuthMountPath");

	json_put_int(j->runtime, n, "spec", "mlPolicy", "numNodes");
	json_put_str(mpi, v1_mpi_implementation(j), "mpiImplementation");
	json_put_int(mpi, slots, "numProcPerNode");
	if (transport)
		json_put_str(j->runtime, transport, "spec", "template", "metadata",
			     "annotations", MPI_ANNOTATION);
	if (path)
		json_put_str(mpi, path, "sshAuthMountPath");
	if (as_node)
		json_put_bool(mpi, true, "runLauncherAsNode");
	tj_set_num_nodes(j->job, n);
	tj_set_num_proc_per_node(j->job, slots);
	start_worker(j, node);
	if (str_eq(json_str(j->spec, "launcherCreationPolicy"), "WaitForWorkersReady"))
		wait_for_workers(j);
	v1_succeed_with(j, LAUNCHER);
}
