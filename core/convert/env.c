/*
 * env.c - set the variables that V1's controllers set (convert/job.h).
 *
 * Variables that a runtime's policy sets are not here. Indexes and addresses are the new
 * ones. As in V1, they override the user's.
 */
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "convert/job.h"
#include "trainer/api.h"
#include "trainer/peers.h"
#include "trainer/podspec.h"

enum { ENV_MAX = 128 * 1024 - 64, PROCS_MAX = 100000 };

static const struct {
	unsigned kinds;
	bool with_master; /* only if there is a master */
	const char *name;
} v1_env[] = {
	{ PYTORCH | XGBOOST | PADDLE | JAX, false, "PYTHONUNBUFFERED" },
	{ PYTORCH, true, "MASTER_ADDR" },
	{ PYTORCH, true, "MASTER_PORT" },
	{ PYTORCH, true, "WORLD_SIZE" },
	{ PYTORCH, true, "RANK" },
	{ PYTORCH, false, "PET_MASTER_ADDR" },
	{ PYTORCH, false, "PET_MASTER_PORT" },
	{ PYTORCH, false, "PET_NNODES" },
	{ PYTORCH, false, "PET_NODE_RANK" },
	{ PYTORCH, false, "PET_NPROC_PER_NODE" },
	{ XGBOOST, false, "MASTER_ADDR" },
	{ XGBOOST, false, "MASTER_PORT" },
	{ XGBOOST, false, "WORLD_SIZE" },
	{ XGBOOST, false, "RANK" },
	{ XGBOOST, false, "WORKER_PORT" },
	{ XGBOOST, false, "WORKER_ADDRS" },
	{ JAX, false, "COORDINATOR_ADDRESS" },
	{ JAX, false, "COORDINATOR_PORT" },
	{ JAX, false, "NUM_PROCESSES" },
	{ JAX, false, "PROCESS_ID" },
	{ TENSORFLOW, false, TF_CONFIG },
	{ PADDLE, false, "PADDLE_JOB_ID" },
	{ PADDLE, false, "PADDLE_NNODES" },
	{ PADDLE, false, PADDLE_MASTER },
	{ PADDLE, true, "PADDLE_SERVER_NUM" },
	{ PADDLE, true, "PADDLE_TRAINER_NUM" },
	{ MPI, false, "OMPI_MCA_orte_default_hostfile" },
	{ MPI2, false, "K_MPI_JOB_ROLE" },
};

/* MPI Operator's variables depend on the implementation. */
static const struct {
	const char *implementation, *name;
} mpi2_env[] = {
	{ "OpenMPI", "OMPI_MCA_orte_default_hostfile" },
	{ "OpenMPI", "OMPI_MCA_orte_keep_fqdn_hostnames" },
	{ "OpenMPI", "OMPI_MCA_orte_set_default_slots" },
	{ "OpenMPI", "OMPI_MCA_plm_rsh_args" },
	{ "Intel", "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS" },
	{ "Intel", "I_MPI_HYDRA_HOST_FILE" },
	{ "Intel", "I_MPI_PERHOST" },
	{ "MPICH", "HYDRA_HOST_FILE" },
	{ "MPICH", "HYDRA_LAUNCH_EXTRA_ARGS" },
};

const char *mpi_of(const struct v1_job *j)
{
	const char *name = json_str(j->spec, "mpiImplementation");

	return name ? name : "OpenMPI";
}

static bool is_mpi2s(const struct v1_job *j, const char *name)
{
	for (size_t i = 0; i < sizeof(mpi2_env) / sizeof(*mpi2_env); i++)
		if (str_eq(mpi2_env[i].implementation, mpi_of(j)) &&
		    str_eq(mpi2_env[i].name, name))
			return true;
	return false;
}

bool env_is_v1s(const struct v1_job *j, const char *name)
{
	for (size_t i = 0; i < sizeof(v1_env) / sizeof(*v1_env); i++)
		if (v1_env[i].kinds & j->kind->bit && str_eq(v1_env[i].name, name))
			return !v1_env[i].with_master || role_find(j, "Master");
	return j->kind->bit == MPI2 && is_mpi2s(j, name);
}

bool env_is_policys(const struct v1_job *j, const char *name)
{
	static const char *const xgboost[] = { "DMLC_NUM_WORKER", "DMLC_TASK_ID",
					       "DMLC_TRACKER_PORT", "DMLC_TRACKER_URI",
					       NULL };
	static const char *const mpi[] = { "OMPI_MCA_orte_keep_fqdn_hostnames",
					   "OMPI_MCA_orte_set_default_slots",
					   "OMPI_MCA_plm_rsh_args", NULL };

	return (j->kind->bit == XGBOOST && str_in(name, xgboost)) ||
	       (j->kind->bit == MPI && str_in(name, mpi));
}

int64_t numeric_procs(const struct v1_job *j)
{
	const char *text = json_str(j->spec, "nprocPerNode");
	struct error err = { 0 };
	int64_t n = json_int(j->elastic, 0, "nProcPerNode");

	if (text && str_int(&n, text, 1, PROCS_MAX, &err))
		return 0;
	return n;
}

static void set_port(cJSON *c, const char *name)
{
	container_set_env_int(c, name, TRAINER_PORT);
}

/* ---- PyTorch ---- */

static void set_rendezvous(struct v1_job *j, cJSON *c)
{
	static const struct {
		const char *field, *env;
	} plain[] = {
		{ "rdzvBackend", "PET_RDZV_BACKEND" },
		{ "rdzvId", "PET_RDZV_ID" },
	};
	const char *host = json_str(j->elastic, "rdzvHost");
	int64_t port = json_int(j->elastic, TRAINER_PORT, "rdzvPort");
	int64_t restarts = json_int(j->elastic, -1, "maxRestarts");
	cleanup_buf struct buf conf = { .max = ENV_MAX };
	const cJSON *e;

	container_set_env(c, plain[0].env, "c10d");
	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
		if (json_str(j->elastic, plain[i].field))
			container_set_env(c, plain[i].env,
					  json_str(j->elastic, plain[i].field));
	host = host ? rename_hosts(j, host) : pod_host(j, NODE, 0);
	container_set_env(c, "PET_RDZV_ENDPOINT",
			  arena_printf(j->arena, "%s:%" PRId64, host, port));
	json_each(e, json_get(j->elastic, "rdzvConf"))
		buf_printf(&conf, "%s%s=%s", conf.len ? "," : "",
			   json_str(e, "key") ? json_str(e, "key") : "",
			   json_str(e, "value") ? json_str(e, "value") : "");
	if (conf.len)
		container_set_env(c, "PET_RDZV_CONF", (const char *)conf.data);
	if (restarts >= 0)
		container_set_env_int(c, "PET_MAX_RESTARTS", restarts);
	if (json_bool(j->elastic, false, "standalone"))
		container_set_env(c, "PET_STANDALONE", "");
}

void env_pytorch(struct v1_job *j, const struct role *role, cJSON *c)
{
	int64_t procs = numeric_procs(j);

	(void)role;
	container_set_env(c, "PYTHONUNBUFFERED", "1");
	if (role_find(j, "Master")) {
		container_set_env(c, "MASTER_ADDR", pod_host(j, NODE, 0));
		set_port(c, "MASTER_PORT");
		container_set_env_int(c, "WORLD_SIZE", j->pods * (procs ? procs : 1));
		container_set_env_field(c, "RANK", COMPLETION_INDEX_FIELD);
	}
	if (j->elastic)
		set_rendezvous(j, c);
}

/* ---- XGBoost, JAX ---- */

static const char *worker_addresses(struct v1_job *j)
{
	cleanup_buf struct buf list = { .max = ENV_MAX };

	for (int64_t i = 1; i < j->pods && !list.overflowed; i++)
		buf_printf(&list, "%s%s", list.len ? "," : "", pod_host(j, NODE, i));
	if (!list.overflowed)
		return arena_strdup(j->arena, list.data ? (const char *)list.data : "");
	refuse(j, arena_printf(j->arena, "%s.replicas", role_find(j, "Worker")->path),
	       json_get(role_find(j, "Worker")->spec, "replicas"),
	       "their addresses exceed the size of a variable (%d bytes)", ENV_MAX);
	return "";
}

void env_xgboost(struct v1_job *j, const struct role *role, cJSON *c)
{
	(void)role;
	container_set_env(c, "MASTER_ADDR", pod_host(j, NODE, 0));
	set_port(c, "MASTER_PORT");
	container_set_env_int(c, "WORLD_SIZE", j->pods);
	container_set_env_field(c, "RANK", COMPLETION_INDEX_FIELD);
	container_set_env(c, "PYTHONUNBUFFERED", "1");
	if (j->pods < 2)
		return;
	set_port(c, "WORKER_PORT");
	container_set_env(c, "WORKER_ADDRS", worker_addresses(j));
}

void env_jax(struct v1_job *j, const struct role *role, cJSON *c)
{
	(void)role;
	container_set_env(c, "PYTHONUNBUFFERED", "1");
	set_port(c, "COORDINATOR_PORT");
	container_set_env(c, "COORDINATOR_ADDRESS", pod_host(j, NODE, 0));
	container_set_env_int(c, "NUM_PROCESSES", j->pods);
	container_set_env_field(c, "PROCESS_ID", COMPLETION_INDEX_FIELD);
}

/* ---- TensorFlow, Paddle: the policy sets them, but upstream has none ---- */

static void drop_v1s(const struct v1_job *j, cJSON *c)
{
	cJSON *e = json_get(c, "env") ? json_get(c, "env")->child : NULL, *next;

	for (; e; e = next) {
		next = e->next;
		if (env_is_v1s(j, element_name(e)))
			cJSON_Delete(cJSON_DetachItemViaPointer(json_get(c, "env"), e));
	}
}

static const char *port_container(const struct v1_job *j, const struct role *r,
				  const cJSON **ret)
{
	*ret = json_find_const(json_get(r->template, "spec", "containers"), "name",
			       r->container);
	return j->kind->port;
}

static void peers_of(const struct v1_job *j, struct peers *p)
{
	*p = (struct peers){ .job = j->name, .subdomain = j->name };
	p->sparse = json_bool(j->spec, false, "enableDynamicWorker");
	for (size_t i = 0; i < j->n_roles; i++) {
		const struct role *r = &j->roles[i];
		const cJSON *c;
		const char *port = port_container(j, r, &c);

		p->groups[p->n++] = (struct peer_group){
			j->kind->bit == PADDLE && str_eq(r->rjob, NODE)
				? "worker"
				: tf_task(r->rjob),
			r->rjob, r->n,
			port_named(c, port,
				   j->kind->bit == PADDLE ? PADDLE_PORT : TF_PORT)
		};
	}
}

void env_tensorflow(struct v1_job *j, const struct role *role, cJSON *c)
{
	struct error err = { 0 };
	struct peers peers;

	if (j->pods < 2 || !str_eq(element_name(c), NODE))
		return;
	drop_v1s(j, c);
	if (!j->conf->upstream)
		return;
	peers_of(j, &peers);
	if (tf_env(c, &peers, &peers.groups[role - j->roles], &err))
		refuse(j, arena_printf(j->arena, "%s.replicas", role->path),
		       json_get(role->spec, "replicas"), "%s", err.msg);
}

void env_paddle(struct v1_job *j, const struct role *role, cJSON *c)
{
	struct peers peers;

	drop_v1s(j, c);
	container_set_env(c, "PYTHONUNBUFFERED", "1");
	if (!j->conf->upstream)
		return;
	peers_of(j, &peers);
	paddle_env(j->arena, c, &peers, &peers.groups[role - j->roles]);
}

/* ---- MPI ---- */

static bool wants_gpu(const cJSON *container)
{
	const cJSON *limit;

	json_each(limit, container_limits(container))
		if (strstr(limit->string, "gpu"))
			return true;
	return false;
}

void env_mpi(struct v1_job *j, const struct role *role, cJSON *c)
{
	bool launcher = str_eq(role->rjob, LAUNCHER), blind;

	if (!str_eq(element_name(c), NODE))
		return;
	if (j->kind->bit == MPI2)
		container_set_env(c, "K_MPI_JOB_ROLE", launcher ? "launcher" : "worker");
	blind = j->kind->bit == MPI2 ? !json_bool(j->spec, false, "runLauncherAsWorker")
				     : !wants_gpu(c);
	for (size_t i = 0; launcher && i < sizeof(mpi2_env) / sizeof(*mpi2_env); i++)
		if (j->kind->bit == MPI2 && is_mpi2s(j, mpi2_env[i].name))
			container_drop_env(c, mpi2_env[i].name);
	if (!launcher || !blind)
		return;
	container_set_env(c, "NVIDIA_VISIBLE_DEVICES", "");
	container_set_env(c, "NVIDIA_DRIVER_CAPABILITIES", "");
}
