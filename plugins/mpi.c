/*
 * mpi.c - give mpirun a host file, variables and ssh to the nodes (trainer/plugin.h).
 *
 * Follows upstream's plugins/mpi, keyed as there on the jobs called "node" and
 * "launcher". Intel MPI and MPICH, which upstream does not have, follow the MPI Operator
 * (v2beta1).
 *
 * The command line of mpirun is the job's or the runtime's command; its options are given
 * as variables (flavors[]). Not in upstream: MPI_ANNOTATION replaces ssh by mpi-launch
 * and, depending on its value, the nodes' sshd by mpi-worker; then `mpi-launch --watch`
 * precedes the command (pre_build_sync(), and apply_runner() in jobset.c). Without the
 * annotation all objects equal upstream's.
 */
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "plugins/common.h"
#include "plugins/plugins.h"
#include "trainer/api.h"
#include "trainer/carry.h"
#include "trainer/jobset.h"
#include "trainer/podspec.h"
#include "trainer/runtime.h"
#include "trainer/trainjob.h"

#define SSH_SUFFIX      "-mpi-ssh-auth"
#define HOSTFILE_SUFFIX "-mpi-hostfile"
#define HOSTFILE        "hostfile"
#define HOSTFILE_DIR    "/etc/mpi"
#define SSH_ARGS        "-o ConnectionAttempts=10"

enum {
	HOSTFILE_MAX = 1024 * 1024, /* the limit of a ConfigMap */
	WORKER_PORT = 2222,
	PROBE_SECONDS = 2, /* short: the launcher may wait for the nodes to be Ready */
};

#define AGENT        CARRY_PATH "/mpi-launch"
#define WORKER       CARRY_PATH "/mpi-worker"
#define WAIT_TIMEOUT "10m"
#define KEY_FILE     "id_rsa"
#define KEY_ENV      "KFTRAINER_MPI_KEY"
#define PORT_ENV     "KFTRAINER_MPI_PORT"
#define TIMEOUT_ENV  "KFTRAINER_MPI_TIMEOUT"

/* A variable for mpirun, and the agents with which it is set: ssh, mpi-launch, both. */
enum agent { SSH = 1, OURS = 2, EITHER = SSH | OURS };
struct mpi_env {
	enum agent agent;
	const char *name, *value; /* value NULL: the number of slots */
};

/*
 * Open MPI 4 (OMPI_) and 5 (PRTE_): mpirun of 5 translates none of the old names, and
 * values that it passes on to the nodes must not contain '='. keep_fqdn_hostnames is
 * false in 5: otherwise mpirun treats the launcher's own name as another host.
 */
static const struct mpi_env open_mpi[] = {
	{ EITHER, "OMPI_MCA_orte_default_hostfile", HOSTFILE_DIR "/" HOSTFILE },
	{ EITHER, "OMPI_MCA_orte_keep_fqdn_hostnames", "true" },
	{ EITHER, "OMPI_MCA_orte_set_default_slots", NULL },
	{ SSH, "OMPI_MCA_plm_rsh_args", SSH_ARGS },
	{ OURS, "OMPI_MCA_plm_rsh_agent", AGENT },
	{ OURS, "PRTE_MCA_prte_default_hostfile", HOSTFILE_DIR "/" HOSTFILE },
	{ OURS, "PRTE_MCA_prte_keep_fqdn_hostnames", "false" },
	{ OURS, "PRTE_MCA_prte_set_default_slots", NULL },
	{ OURS, "PRTE_MCA_plm_ssh_agent", AGENT },
	{ 0 },
};
/* Intel MPI ignores the slots of a host file. */
static const struct mpi_env intel[] = {
	{ EITHER, "I_MPI_HYDRA_HOST_FILE", HOSTFILE_DIR "/" HOSTFILE },
	{ EITHER, "I_MPI_PERHOST", NULL },
	{ SSH, "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", SSH_ARGS },
	{ OURS, "I_MPI_HYDRA_BOOTSTRAP", "rsh" },
	{ OURS, "I_MPI_HYDRA_BOOTSTRAP_EXEC", AGENT },
	{ 0 },
};
/* MPICH: with an rsh agent, mpirun does not pace itself for sshd's MaxStartups. */
static const struct mpi_env mpich[] = {
	{ EITHER, "HYDRA_HOST_FILE", HOSTFILE_DIR "/" HOSTFILE },
	{ SSH, "HYDRA_LAUNCHER_EXTRA_ARGS", SSH_ARGS },
	{ OURS, "HYDRA_LAUNCHER", "rsh" },
	{ OURS, "HYDRA_LAUNCHER_EXEC", AGENT },
	{ 0 },
};

/* Variables that upstream refuses in a TrainJob and replaces in a runtime; sorted. */
static const char *const reserved[] = {
	"OMPI_MCA_orte_default_hostfile",
	"OMPI_MCA_orte_keep_fqdn_hostnames",
	"OMPI_MCA_orte_set_default_slots",
	"OMPI_MCA_plm_rsh_args",
	NULL,
};

struct mpi_flavor {
	const char *name;
	const struct mpi_env *env;
	const char *const *reserved; /* NULL: none */
	const char *separator; /* format of a host file's line, with host and slots */
	bool calls_back;       /* nodes connect to the launcher's short name */
	bool in_tree; /* nodes start other nodes, also mpirun's own if it is not first */
};

static const struct mpi_flavor flavors[] = {
	{ "OpenMPI", open_mpi, reserved, " slots=", false, false },
	{ "Intel", intel, NULL, ":", true, true },
	{ "MPICH", mpich, NULL, ":", true, false },
};

/* The settings for one TrainJob. */
struct plan {
	const struct plugin_env *env;
	struct info *info;
	const cJSON *tj, *mpi;
	const struct mpi_flavor *flavor;
	enum mpi_transport transport;
};

/* NULL: unknown name. */
static const struct mpi_flavor *flavor_of(const cJSON *mpi)
{
	for (size_t i = 0; i < N_ELEMENTS(flavors); i++)
		if (str_eq(flavors[i].name, mpi_implementation(mpi)))
			return &flavors[i];
	return NULL;
}

static int make_plan(struct plan *ret, const struct plugin_env *env, struct info *info,
		     const cJSON *tj, struct error *err)
{
	const cJSON *mpi = policy_mpi(info->ml_policy);

	*ret = (struct plan){ env, info, tj, mpi, flavor_of(mpi), MPI_UPSTREAM };
	if (!ret->flavor)
		return error_set(err, ERR_INVALID,
				 "spec.mlPolicy.mpi.mpiImplementation: \"%s\" is not one "
				 "of OpenMPI, Intel, MPICH",
				 mpi_implementation(mpi));
	return mpi_transport(&ret->transport, info->annotations, err);
}

/* Processes on a node: the job's, else the runtime's; its 1 means the number of GPUs. */
static int64_t slots(const struct plan *p)
{
	int64_t n = tj_num_proc_per_node(p->tj), gpus;

	if (n != ABSENT)
		return n;
	n = mpi_num_proc_per_node(p->mpi);
	if (n != 1)
		return n;
	gpus = info_gpus(p->info, NODE);
	if (gpus == 0) /* upstream applies resourcesPerNode only to the trainer's job */
		gpus = info_gpus(p->info, NULL);
	return gpus > 1 ? gpus : 1;
}

/* Does mpirun start processes in the pods of this replicatedJob? */
static bool is_node(const struct info *info, const struct pod_set *ps)
{
	return str_eq(ps->name, NODE) ||
	       (str_eq(ps->name, LAUNCHER) &&
		mpi_launcher_is_node(policy_mpi(info->ml_policy)));
}

/* ---- admission ---- */

static void validate(const struct plugin_env *env, struct info *info, const cJSON *old,
		     const cJSON *tj, struct field_errors *errs)
{
	const cJSON *mpi = policy_mpi(info->ml_policy);
	const struct mpi_flavor *flavor = flavor_of(mpi);
	bool both = info_by_name(info, LAUNCHER) && info_by_name(info, NODE);

	if (tj_num_nodes(tj) >= 2 && mpi_launcher_is_node(mpi) && !both)
		field_error_add(
			errs, FIELD_INVALID, "spec.trainer.numNodes",
			tj_trainer_member(tj, "numNodes"),
			"must be 1: the runtime runs its launcher as a node, but does "
			"not have both a job \"launcher\" and a job \"node\"");
	if (flavor && flavor->reserved)
		plugin_refuse_reserved_env(tj, flavor->reserved, "MPI", errs);
}

/* ---- editing the template ---- */

/*
 * numNodes, of the job or else the runtime, counts the pods that run processes: if the
 * launcher is one of them, there is one node fewer. There is always one launcher, though
 * it has the trainer's label.
 */
static void set_counts(struct info *info, const cJSON *tj)
{
	const cJSON *mpi = policy_mpi(info->ml_policy);
	struct pod_set *node = info_by_name(info, NODE);
	struct pod_set *launcher = info_by_name(info, LAUNCHER);
	int64_t n = tj_num_nodes(tj);

	if (n == ABSENT) {
		n = policy_num_nodes(info->ml_policy);
		n = n < 1 && n != ABSENT ? 1 : n;
	}
	if (launcher && str_eq(launcher->ancestor, ANCESTOR_TRAINER))
		pod_set_set_count(launcher, 1);
	if (!node || n == ABSENT)
		return;
	if (launcher && mpi_launcher_is_node(mpi) && n > 0)
		n--;
	pod_set_set_count(node, n);
}

static cJSON *ssh_volume(struct info *info)
{
	cJSON *volume = podspec_volume(MPI_KEY_VOLUME);
	cJSON *items;

	json_put_str(volume, plugin_object_name(info, SSH_SUFFIX), "secret",
		     "secretName");
	json_put_int(volume, 0400, "secret", "defaultMode");
	items = json_list(volume, "secret", "items");
	cJSON_AddItemToArray(items,
			     podspec_volume_item("ssh-privatekey", KEY_FILE, 0640));
	cJSON_AddItemToArray(items,
			     podspec_volume_item("ssh-publickey", "id_rsa.pub", 0644));
	cJSON_AddItemToArray(
		items, podspec_volume_item("ssh-publickey", "authorized_keys", 0644));
	return volume;
}

static cJSON *hostfile_volume(struct info *info)
{
	cJSON *volume = podspec_volume(MPI_HOSTFILE_VOLUME);

	json_put_str(volume, plugin_object_name(info, HOSTFILE_SUFFIX), "configMap",
		     "name");
	cJSON_AddItemToArray(json_list(volume, "configMap", "items"),
			     podspec_volume_item(HOSTFILE, HOSTFILE, 0444));
	return volume;
}

static void set_env(const struct plan *p, cJSON *c)
{
	enum agent agent = p->transport == MPI_UPSTREAM ? SSH : OURS;
	const char *const *fixed = p->flavor->reserved;
	const char *n_slots = arena_printf(&p->info->arena, "%" PRId64, slots(p));

	for (const struct mpi_env *e = p->flavor->env; e->name; e++) {
		const char *value = e->value ? e->value : n_slots;

		if (!(e->agent & agent))
			continue;
		if (fixed && str_in(e->name, fixed))
			container_set_env(c, e->name, value);
		else
			container_default_env(c, e->name, value);
	}
}

/* A variable of a container: the TrainJob's, else the runtime's; NULL: no literal one. */
static const char *env_given(const struct plan *p, const cJSON *c, const char *name)
{
	const cJSON *list = tj_env(p->tj);

	return podspec_env_value(
		json_find_const(list, "name", name) ? list : container_env(c), name);
}

/* The port of mpi-worker. */
static int worker_port(const struct plan *p, const cJSON *c)
{
	const char *given = env_given(p, c, PORT_ENV);
	int64_t port;

	if (!given || str_int(&port, given, 1, 65535, IGNORED))
		return WORKER_PORT;
	return (int)port;
}

/* The TrainJob's trainer settings apply to the nodes, too, except command and args. */
static void run_worker(const struct plan *p, cJSON *c)
{
	static const char *const words[] = { WORKER };
	cleanup_json cJSON *command = cJSON_CreateStringArray(words, 1);

	container_set_command(c, command);
	container_set_args(c, NULL);
	if (tj_image(p->tj))
		container_set_image(c, tj_image(p->tj));
	container_merge_env(c, tj_env(p->tj));
	container_probe_port(c, worker_port(p, c), PROBE_SECONDS);
}

/* Add the DNS search domain in which the launcher's short name resolves. */
static void search_service(const struct plan *p, cJSON *pod_spec)
{
	const char *domain = p->env->cluster_domain;

	pod_add_search(pod_spec,
		       arena_printf(&p->info->arena, "%s.%s.svc.%s", p->info->subdomain,
				    p->info->ns ? p->info->ns : "default",
				    domain ? domain : "cluster.local"));
}

/* Put our agent into a container: the launcher and, for trees of daemons, the nodes. */
static int add_agent(const struct plan *p, struct pod_set *ps, cJSON *c,
		     struct error *err)
{
	bool node = str_eq(ps->name, NODE);

	if (carry_into(p->env, ps, c, err))
		return -1;
	if (node && p->transport == MPI_WORKER)
		run_worker(p, c);
	if (node && p->flavor->calls_back)
		search_service(p, ps->pod_spec);
	container_default_env(
		c, KEY_ENV,
		arena_printf(&p->info->arena, "%s/" KEY_FILE, mpi_ssh_path(p->mpi)));
	return 0;
}

static int edit_pods(const struct plan *p, struct pod_set *ps, struct error *err)
{
	cJSON *c = pod_container(ps->pod_spec, NODE);

	pod_set_volume(ps->pod_spec, ssh_volume(p->info));
	if (c)
		container_mount(c, MPI_KEY_VOLUME, mpi_ssh_path(p->mpi), false);
	if (str_eq(ps->name, LAUNCHER)) {
		pod_set_volume(ps->pod_spec, hostfile_volume(p->info));
		if (c) {
			container_mount(c, MPI_HOSTFILE_VOLUME, HOSTFILE_DIR, false);
			set_env(p, c);
		}
	}
	if (!c || p->transport == MPI_UPSTREAM)
		return 0;
	return add_agent(p, ps, c, err);
}

static int enforce_ml_policy(const struct plugin_env *env, struct info *info,
			     const cJSON *tj, struct error *err)
{
	struct plan p;

	if (make_plan(&p, env, info, tj, err))
		return -1;
	set_counts(info, tj);
	for (size_t i = 0; i < info->n_pod_sets; i++) {
		struct pod_set *ps = &info->pod_sets[i];

		if ((str_eq(ps->name, NODE) || str_eq(ps->name, LAUNCHER)) &&
		    edit_pods(&p, ps, err))
			return -1;
	}
	return 0;
}

/* ---- waiting for the nodes ---- */

/* Copy a variable of the launcher, if set. */
static void share_env(const struct plan *p, cJSON *to, const cJSON *launcher,
		      const char *name)
{
	const cJSON *var = json_find_const(tj_env(p->tj), "name", name);
	cleanup_json cJSON *list = cJSON_CreateArray();

	if (!var)
		var = json_find_const(container_env(launcher), "name", name);
	if (!var)
		return;
	cJSON_AddItemToArray(list, json_dup(var));
	container_merge_env(to, list);
}

/* Use the launcher's image and user: sshd accepts mpirun's user, who can read the key. */
static cJSON *wait_container(const struct plan *p, const struct pod_set *ps,
			     const cJSON *launcher)
{
	static const char *const command[] = { AGENT };
	const char *timeout = env_given(p, launcher, TIMEOUT_ENV);
	const char *const args[] = { "--wait", HOSTFILE_DIR "/" HOSTFILE, "--timeout",
				     timeout ? timeout : WAIT_TIMEOUT };
	cleanup_json cJSON *words = cJSON_CreateStringArray(command, 1);
	cleanup_json cJSON *rest = cJSON_CreateStringArray(args, 4);
	cJSON *c = container_new(MPI_WAIT_CONTAINER, "");

	container_copy_image(c, launcher);
	if (str_eq(ps->ancestor, ANCESTOR_TRAINER) && tj_image(p->tj))
		container_set_image(c, tj_image(p->tj));
	container_set_command(c, words);
	container_set_args(c, rest);
	container_harden(c);
	container_copy_user(c, launcher);
	container_log_on_error(c);
	container_copy_size(c, launcher);
	share_env(p, c, launcher, KEY_ENV);
	share_env(p, c, launcher, PORT_ENV);
	container_mount(c, MPI_KEY_VOLUME, mpi_ssh_path(p->mpi), true);
	container_mount(c, MPI_HOSTFILE_VOLUME, HOSTFILE_DIR, true);
	return c;
}

/* Run mpirun under mpi-launch, because some exit with 0 when they lose a node. */
static const char *const watch[] = { AGENT, "--watch", HOSTFILE_DIR "/" HOSTFILE, "--",
				     NULL };

/* The container that waits is the last: nodes start while the other plugins' run. */
static int pre_build_sync(const struct plugin_env *env, struct info *info,
			  const cJSON *tj, struct error *err)
{
	struct pod_set *ps = info_by_name(info, LAUNCHER);
	cJSON *launcher = ps ? pod_container(ps->pod_spec, NODE) : NULL, *c;
	struct plan p;

	if (make_plan(&p, env, info, tj, err))
		return -1;
	if (!launcher || p.transport == MPI_UPSTREAM)
		return 0;
	if (pod_any_container(ps->pod_spec, MPI_WAIT_CONTAINER))
		return error_set(
			err, ERR_INVALID,
			"job %s of the runtime has a container \"" MPI_WAIT_CONTAINER
			"\" of its own",
			ps->name);
	c = wait_container(&p, ps, launcher);
	cJSON_AddItemToArray(pod_init_containers(ps->pod_spec), c);
	ps->runner = watch;
	return carry_into(env, ps, c, err);
}

/* ---- objects ---- */

/*
 * With mpi-launch, list the launcher by its own name, which always resolves: MPICH and
 * Intel MPI treat any other name as another host.
 */
static void add_hosts(const struct plan *p, const struct pod_set *ps, struct buf *out)
{
	int64_t pods = pod_set_count(ps), replicas = rjob_replicas(ps->rjob);
	bool bare = p->transport != MPI_UPSTREAM && str_eq(ps->name, LAUNCHER);
	const char *tail = arena_printf(&p->info->arena, "%s%s%s%" PRId64,
					bare ? "" : ".", bare ? "" : p->info->subdomain,
					p->flavor->separator, slots(p));

	for (int64_t r = 0; pods && r < replicas && !out->overflowed; r++)
		for (int64_t i = 0; i < pods && !out->overflowed; i++)
			buf_printf(out, "%s-%s-%" PRId64 "-%" PRId64 "%s\n",
				   p->info->name, ps->name, r, i, tail);
}

/*
 * Must the pods precede all others in the host file? Nodes cannot start processes on the
 * launcher, which runs neither sshd nor mpi-worker.
 */
static bool comes_first(const struct plan *p, const struct pod_set *ps)
{
	return p->flavor->in_tree && p->transport != MPI_UPSTREAM &&
	       str_eq(ps->name, LAUNCHER);
}

static void add_nodes(const struct plan *p, bool first, struct buf *out)
{
	for (size_t i = 0; i < p->info->n_pod_sets; i++) {
		const struct pod_set *ps = &p->info->pod_sets[i];

		if (is_node(p->info, ps) && comes_first(p, ps) == first)
			add_hosts(p, ps, out);
	}
}

static int add_hostfile(const struct plan *p, cJSON *objects, struct error *err)
{
	cleanup_buf struct buf hosts = { .max = HOSTFILE_MAX };

	add_nodes(p, true, &hosts);
	add_nodes(p, false, &hosts);
	if (buf_check(&hosts, "the MPI host file", err))
		return -1;
	json_put_str(
		plugin_add_object(objects, p->tj, "v1", "ConfigMap", HOSTFILE_SUFFIX),
		hosts.data ? (const char *)hosts.data : "", "data", HOSTFILE);
	return 0;
}

static int add_keys(const struct plugin_env *env, struct info *info, const cJSON *tj,
		    cJSON *objects, struct error *err)
{
	struct object_ref ref = { "v1", "Secret", info->ns,
				  plugin_object_name(info, SSH_SUFFIX) };
	const char *private_pem, *authorized_key;
	const cJSON *old;
	cJSON *secret;

	if (plugin_object_find(env, &ref, &old, err))
		return -1;
	if (old)
		return 0; /* a key is created once */
	if (!env->keys)
		return error_set(err, ERR_INVALID, "no source of ssh keys");
	if (env->keys->ssh(env->keys->ctx, &info->arena, &private_pem, &authorized_key,
			   err))
		return error_wrap(err, "ssh key");
	secret = plugin_add_object(objects, tj, "v1", "Secret", SSH_SUFFIX);
	json_put_str(secret, "kubernetes.io/ssh-auth", "type");
	json_put_bool(secret, true, "immutable");
	plugin_secret_data(secret, "ssh-privatekey", private_pem);
	plugin_secret_data(secret, "ssh-publickey", authorized_key);
	return 0;
}

static int build(const struct plugin_env *env, struct info *info, const cJSON *tj,
		 cJSON *objects, struct error *err)
{
	struct plan p;

	if (make_plan(&p, env, info, tj, err) || add_hostfile(&p, objects, err))
		return -1;
	return add_keys(env, info, tj, objects, err);
}

const struct plugin plugin_mpi = {
	.name = "MPI",
	.policy = "mpi",
	.validate = validate,
	.edit[ENFORCE_ML_POLICY] = enforce_ml_policy,
	.edit[PRE_BUILD_SYNC] = pre_build_sync,
	.build = build,
};
