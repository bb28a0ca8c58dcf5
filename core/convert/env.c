/*
 * env.c - set the variables that V1's controllers set (convert/job.h).
 *
 * Variables that a runtime's policy sets are omitted. Indexes and addresses are those of
 * the new pods. As in V1, these variables override the user's.
 */
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "convert/job.h"
#include "convert/names.h"
#include "trainer/api.h"
#include "trainer/carry.h"
#include "trainer/peers.h"
#include "trainer/podspec.h"

enum { ENV_MAX = 128 * 1024 - 64, PROCS_MAX = 100000 };

/* The containers that get a variable, and the condition. */
enum {
	MAIN = 1 << 0,        /* only the main container */
	AT_LAUNCHER = 1 << 1, /* only containers of the launcher */
	WITH_MASTER = 1 << 2, /* if there is a master */
	NO_MASTER = 1 << 3,
	ELASTIC = 1 << 4,
	SEVERAL = 1 << 5, /* more than one pod */
	BLIND = 1 << 6,   /* a launcher from which GPUs are hidden */
};

static const struct {
	unsigned kinds, when;
	const char *name;
} v1_env[] = {
	{ KIND_PYTORCH | KIND_XGBOOST | KIND_PADDLE | KIND_JAX, 0, "PYTHONUNBUFFERED" },
	{ KIND_PYTORCH, WITH_MASTER, "MASTER_ADDR" },
	{ KIND_PYTORCH, WITH_MASTER, "MASTER_PORT" },
	{ KIND_PYTORCH, WITH_MASTER, "WORLD_SIZE" },
	{ KIND_PYTORCH, WITH_MASTER, "RANK" },
	{ KIND_PYTORCH, WITH_MASTER, "PET_MASTER_ADDR" },
	{ KIND_PYTORCH, WITH_MASTER, "PET_MASTER_PORT" },
	{ KIND_PYTORCH, WITH_MASTER, "PET_NODE_RANK" },
	{ KIND_PYTORCH, 0, "PET_NNODES" },
	{ KIND_PYTORCH, 0, "PET_NPROC_PER_NODE" },
	{ KIND_PYTORCH, ELASTIC, "PET_RDZV_BACKEND" },
	{ KIND_PYTORCH, ELASTIC, "PET_RDZV_ENDPOINT" },
	{ KIND_XGBOOST, 0, "MASTER_ADDR" },
	{ KIND_XGBOOST, 0, "MASTER_PORT" },
	{ KIND_XGBOOST, 0, "WORLD_SIZE" },
	{ KIND_XGBOOST, 0, "RANK" },
	{ KIND_XGBOOST, SEVERAL, "WORKER_PORT" },
	{ KIND_XGBOOST, SEVERAL, "WORKER_ADDRS" },
	{ KIND_JAX, 0, "COORDINATOR_ADDRESS" },
	{ KIND_JAX, 0, "COORDINATOR_PORT" },
	{ KIND_JAX, 0, "NUM_PROCESSES" },
	{ KIND_JAX, 0, "PROCESS_ID" },
	{ KIND_TENSORFLOW, MAIN | SEVERAL, TF_CONFIG },
	{ KIND_PADDLE, 0, "PADDLE_JOB_ID" },
	{ KIND_PADDLE, 0, "PADDLE_NNODES" },
	{ KIND_PADDLE, 0, PADDLE_MASTER },
	{ KIND_PADDLE, WITH_MASTER, "PADDLE_SERVER_NUM" },
	{ KIND_PADDLE, WITH_MASTER, "PADDLE_TRAINER_NUM" },
	{ KIND_MPI, MAIN | AT_LAUNCHER, "OMPI_MCA_orte_default_hostfile" },
	{ KIND_MPI, MAIN | AT_LAUNCHER, "OMPI_MCA_plm_rsh_agent" },
	{ KIND_MPI2, MAIN, "K_MPI_JOB_ROLE" },
	{ KIND_MPI | KIND_MPI2, MAIN | AT_LAUNCHER | BLIND, "NVIDIA_VISIBLE_DEVICES" },
	{ KIND_MPI | KIND_MPI2, MAIN | AT_LAUNCHER | BLIND,
	  "NVIDIA_DRIVER_CAPABILITIES" },
};

/* Variables that V2's policy sets, in the main container only. */
static const struct {
	unsigned kinds, when;
	const char *name;
} policys_env[] = {
	{ KIND_PYTORCH, NO_MASTER, "PET_MASTER_ADDR" },
	{ KIND_PYTORCH, NO_MASTER, "PET_MASTER_PORT" },
	{ KIND_PYTORCH, NO_MASTER, "PET_NODE_RANK" },
	{ KIND_XGBOOST, MAIN, "DMLC_NUM_WORKER" },
	{ KIND_XGBOOST, MAIN, "DMLC_TASK_ID" },
	{ KIND_XGBOOST, MAIN, "DMLC_TRACKER_PORT" },
	{ KIND_XGBOOST, MAIN, "DMLC_TRACKER_URI" },
	{ KIND_MPI, MAIN | AT_LAUNCHER, "OMPI_MCA_orte_keep_fqdn_hostnames" },
	{ KIND_MPI, MAIN | AT_LAUNCHER, "OMPI_MCA_orte_set_default_slots" },
	{ KIND_MPI, MAIN | AT_LAUNCHER, "OMPI_MCA_plm_rsh_args" },
};

/* MPI Operator's variables of the launcher depend on the implementation. */
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

const char *v1_mpi_implementation(const struct v1_job *j)
{
	const char *name = json_str(j->spec, "mpiImplementation");

	return name ? name : "OpenMPI";
}

static bool is_mpi2s(const struct v1_job *j, const char *name)
{
	for (size_t i = 0; i < N_ELEMENTS(mpi2_env); i++)
		if (str_eq(mpi2_env[i].implementation, v1_mpi_implementation(j)) &&
		    str_eq(mpi2_env[i].name, name))
			return true;
	return false;
}

static bool wants_gpu(const cJSON *container)
{
	const cJSON *limit;

	json_each(limit, container_limits(container))
		if (strstr(limit->string, "gpu"))
			return true;
	return false;
}

/* Does the operator hide GPUs from the launcher? */
static bool is_blind(const struct v1_job *j, const struct role *launcher)
{
	const cJSON *list = json_get(launcher->template, "spec", "containers");

	return j->kind->bit == KIND_MPI2
		       ? !json_bool(j->spec, false, "runLauncherAsWorker")
		       : !wants_gpu(json_find_const(list, "name", launcher->container));
}

static bool applies(const struct v1_job *j, const struct role *role,
		    const char *container, unsigned when)
{
	bool master = v1_role(j, "Master") != NULL;

	return !((when & MAIN && !str_eq(container, role->container)) ||
		 (when & AT_LAUNCHER && !str_eq(role->rjob, LAUNCHER)) ||
		 (when & WITH_MASTER && !master) || (when & NO_MASTER && master) ||
		 (when & ELASTIC && !j->elastic) || (when & SEVERAL && j->pods < 2) ||
		 (when & BLIND && !is_blind(j, role)));
}

enum v1_env_owner v1_env_owner(const struct v1_job *j, const struct role *role,
			       const char *container, const char *name)
{
	for (size_t i = 0; i < N_ELEMENTS(v1_env); i++)
		if (v1_env[i].kinds & j->kind->bit && str_eq(v1_env[i].name, name) &&
		    applies(j, role, container, v1_env[i].when))
			return ENV_V1S;
	if (j->kind->bit == KIND_MPI2 && is_mpi2s(j, name) &&
	    applies(j, role, container, MAIN | AT_LAUNCHER))
		return ENV_V1S;
	for (size_t i = 0; i < N_ELEMENTS(policys_env); i++)
		if (policys_env[i].kinds & j->kind->bit &&
		    str_eq(policys_env[i].name, name) &&
		    applies(j, role, container, policys_env[i].when))
			return ENV_POLICYS;
	return ENV_USERS;
}

void v1_env_drop(const struct v1_job *j, const struct role *role, cJSON *c)
{
	cJSON *list = json_get(c, "env"), *e = list ? list->child : NULL, *next;

	for (; e; e = next) {
		next = e->next;
		if (v1_env_owner(j, role, podspec_element_name(c),
				 podspec_element_name(e)) != ENV_USERS)
			cJSON_Delete(cJSON_DetachItemViaPointer(list, e));
	}
	if (list && !list->child)
		json_del(c, JSON_PATH("env"));
}

int64_t v1_numeric_procs(const struct v1_job *j)
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
	for (size_t i = 0; i < N_ELEMENTS(plain); i++)
		if (json_str(j->elastic, plain[i].field))
			container_set_env(c, plain[i].env,
					  json_str(j->elastic, plain[i].field));
	host = host ? v1_rename_in_text(j, host).now : v1_pod_host(j, NODE, 0);
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

void v1_env_pytorch(struct v1_job *j, const struct role *role, cJSON *c)
{
	int64_t procs = v1_numeric_procs(j);

	container_set_env(c, "PYTHONUNBUFFERED", "1");
	if (v1_role(j, "Master")) {
		container_set_env(c, "MASTER_ADDR", v1_pod_host(j, NODE, 0));
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
		buf_printf(&list, "%s%s", list.len ? "," : "", v1_pod_host(j, NODE, i));
	if (!list.overflowed)
		return arena_strdup(j->arena, list.data ? (const char *)list.data : "");
	v1_refuse(j, arena_printf(j->arena, "%s.replicas", v1_role(j, "Worker")->path),
		  json_get(v1_role(j, "Worker")->spec, "replicas"),
		  "their addresses exceed the size of a variable (%d bytes)", ENV_MAX);
	return "";
}

void v1_env_xgboost(struct v1_job *j, const struct role *role, cJSON *c)
{
	container_set_env(c, "MASTER_ADDR", v1_pod_host(j, NODE, 0));
	set_port(c, "MASTER_PORT");
	container_set_env_int(c, "WORLD_SIZE", j->pods);
	container_set_env_field(c, "RANK", COMPLETION_INDEX_FIELD);
	container_set_env(c, "PYTHONUNBUFFERED", "1");
	if (j->pods < 2)
		return;
	set_port(c, "WORKER_PORT");
	container_set_env(c, "WORKER_ADDRS", worker_addresses(j));
}

void v1_env_jax(struct v1_job *j, const struct role *role, cJSON *c)
{
	container_set_env(c, "PYTHONUNBUFFERED", "1");
	set_port(c, "COORDINATOR_PORT");
	container_set_env(c, "COORDINATOR_ADDRESS", v1_pod_host(j, NODE, 0));
	container_set_env_int(c, "NUM_PROCESSES", j->pods);
	container_set_env_field(c, "PROCESS_ID", COMPLETION_INDEX_FIELD);
}

/* ---- TensorFlow, Paddle: the policy sets them, but upstream has none ---- */

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
			j->kind->bit == KIND_PADDLE && str_eq(r->rjob, NODE)
				? "worker"
				: peers_tf_task(r->rjob),
			r->rjob, r->n,
			peers_port(c, port,
				   j->kind->bit == KIND_PADDLE ? PADDLE_PORT : TF_PORT)
		};
	}
}

void v1_env_tensorflow(struct v1_job *j, const struct role *role, cJSON *c)
{
	struct error err = { 0 };
	struct peers peers;

	if (j->pods < 2 || !str_eq(podspec_element_name(c), NODE))
		return;
	if (!j->conf->upstream)
		return;
	peers_of(j, &peers);
	if (peers_tf_env(c, &peers, &peers.groups[role - j->roles], &err))
		v1_refuse(j, arena_printf(j->arena, "%s.replicas", role->path),
			  json_get(role->spec, "replicas"), "%s", err.msg);
}

void v1_env_paddle(struct v1_job *j, const struct role *role, cJSON *c)
{
	struct peers peers;

	container_set_env(c, "PYTHONUNBUFFERED", "1");
	if (!j->conf->upstream)
		return;
	peers_of(j, &peers);
	peers_paddle_env(j->arena, c, &peers, &peers.groups[role - j->roles]);
}

/* ---- MPI ---- */

void v1_env_mpi(struct v1_job *j, const struct role *role, cJSON *c)
{
	bool launcher = str_eq(role->rjob, LAUNCHER);

	if (!str_eq(podspec_element_name(c), NODE))
		return;
	if (j->kind->bit == KIND_MPI2)
		container_set_env(c, "K_MPI_JOB_ROLE", launcher ? "launcher" : "worker");
	if (!launcher)
		return;
	if (j->kind->bit == KIND_MPI &&
	    v1_mpi_transport(j)) { /* for Intel MPI, as in V1 */
		container_default_env(c, "I_MPI_HYDRA_BOOTSTRAP", "rsh");
		container_default_env(c, "I_MPI_HYDRA_BOOTSTRAP_EXEC",
				      CARRY_PATH "/mpi-launch");
	}
	if (!is_blind(j, role))
		return;
	container_set_env(c, "NVIDIA_VISIBLE_DEVICES", "");
	container_set_env(c, "NVIDIA_DRIVER_CAPABILITIES", "");
}
