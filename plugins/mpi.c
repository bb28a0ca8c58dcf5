/*
 * mpi.c - mpirun finds the nodes in a host file and reaches them over ssh.
 *
 * Follows upstream's plugins/mpi, keyed as there on the jobs called "node" and
 * "launcher". Intel MPI and MPICH follow the MPI Operator (v2beta1) and Trainer's
 * proposal for them; the CRD does not admit them yet.
 */
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "plugins/common.h"
#include "plugins/plugins.h"
#include "trainer/api.h"
#include "trainer/jobset.h"
#include "trainer/podspec.h"
#include "trainer/runtime.h"
#include "trainer/trainjob.h"

#define SSH_VOLUME      "mpi-ssh-auth"
#define SSH_SUFFIX      "-mpi-ssh-auth"
#define HOSTFILE_VOLUME "mpi-hostfile"
#define HOSTFILE_SUFFIX "-mpi-hostfile"
#define HOSTFILE        "hostfile"
#define HOSTFILE_DIR    "/etc/mpi"
#define SSH_ARGS        "-o ConnectionAttempts=10"

/* A ConfigMap holds no more. */
enum { HOSTFILE_MAX = 1024 * 1024 };

/* What mpirun reads from its environment. A variable without a value: the slots. */
struct mpi_flavor {
	const char *name;
	struct {
		const char *name, *value;
	} env[5];
	const char *const *reserved; /* sorted names of env */
	const char *separator;       /* of host and slots, on a line of the host file */
};

static const char *const reserved_open_mpi[] = {
	"OMPI_MCA_orte_default_hostfile",
	"OMPI_MCA_orte_keep_fqdn_hostnames",
	"OMPI_MCA_orte_set_default_slots",
	"OMPI_MCA_plm_rsh_args",
	NULL,
};
static const char *const reserved_intel[] = {
	"I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS",
	"I_MPI_HYDRA_HOST_FILE",
	"I_MPI_PERHOST",
	NULL,
};
static const char *const reserved_mpich[] = { "HYDRA_HOST_FILE",
					      "HYDRA_LAUNCHER_EXTRA_ARGS", NULL };

static const struct mpi_flavor flavors[] = {
	{ "OpenMPI",
	  { { "OMPI_MCA_orte_default_hostfile", HOSTFILE_DIR "/" HOSTFILE },
	    { "OMPI_MCA_orte_keep_fqdn_hostnames", "true" },
	    { "OMPI_MCA_orte_set_default_slots", NULL },
	    { "OMPI_MCA_plm_rsh_args", SSH_ARGS } },
	  reserved_open_mpi,
	  " slots=" },
	{ "Intel",
	  { { "I_MPI_HYDRA_HOST_FILE", HOSTFILE_DIR "/" HOSTFILE },
	    { "I_MPI_PERHOST", NULL },
	    { "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", SSH_ARGS } },
	  reserved_intel,
	  ":" },
	{ "MPICH",
	  { { "HYDRA_HOST_FILE", HOSTFILE_DIR "/" HOSTFILE },
	    { "HYDRA_LAUNCHER_EXTRA_ARGS", SSH_ARGS } },
	  reserved_mpich,
	  ":" },
};

/* NULL: unknown name. */
static const struct mpi_flavor *flavor_of(const cJSON *mpi)
{
	for (size_t i = 0; i < sizeof(flavors) / sizeof(*flavors); i++)
		if (str_eq(flavors[i].name, mpi_implementation(mpi)))
			return &flavors[i];
	return NULL;
}

static int find_flavor(const struct mpi_flavor **ret, const cJSON *mpi, struct error *err)
{
	*ret = flavor_of(mpi);
	if (*ret)
		return 0;
	return error_set(err, ERR_INVALID,
			 "spec.mlPolicy.mpi.mpiImplementation: \"%s\" is not one of "
			 "OpenMPI, Intel, MPICH",
			 mpi_implementation(mpi));
}

/* Processes on a node: the job's; else the runtime's, where 1 means the GPUs there are. */
static int64_t slots(struct info *info, const cJSON *tj)
{
	int64_t n = tj_num_proc_per_node(tj), gpus;

	if (n != ABSENT)
		return n;
	n = mpi_num_proc_per_node(policy_mpi(info->ml_policy));
	if (n != 1)
		return n;
	gpus = resources_gpus(info_resources(info, tj, NODE));
	return gpus > 1 ? gpus : 1;
}

/* Does mpirun start processes in the pods of this set? */
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

	(void)env;
	(void)old;
	if (tj_num_nodes(tj) >= 2 && mpi_launcher_is_node(mpi) && !both)
		field_error_add(
			errs, FIELD_INVALID, "spec.trainer.numNodes",
			tj_trainer_member(tj, "numNodes"),
			"must be 1: the runtime runs its launcher as a node, but does "
			"not have both a job \"launcher\" and a job \"node\"");
	if (flavor)
		refuse_reserved_env(tj, flavor->reserved, "MPI", errs);
}

/* ---- editing the template ---- */

/*
 * numNodes, the job's or else the runtime's, is the number of pods that run
 * processes: where the launcher is one of them, the others are one fewer. The
 * launcher is never multiplied, though it carries the trainer's label.
 */
static void set_counts(struct info *info, const cJSON *tj)
{
	const cJSON *mpi = policy_mpi(info->ml_policy);
	struct pod_set *node = info_by_name(info, NODE);
	struct pod_set *launcher = info_by_name(info, LAUNCHER);
	int64_t n = tj_num_nodes(tj);

	if (n == ABSENT) {
		n = policy_num_nodes(info->ml_policy);
		n = n == 0 ? 1 : n;
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
	cJSON *volume = volume_new(SSH_VOLUME);
	cJSON *items;

	json_put_str(volume, object_name(info, SSH_SUFFIX), "secret", "secretName");
	json_put_int(volume, 0400, "secret", "defaultMode");
	items = json_list(volume, "secret", "items");
	cJSON_AddItemToArray(items, volume_item("ssh-privatekey", "id_rsa", 0640));
	cJSON_AddItemToArray(items, volume_item("ssh-publickey", "id_rsa.pub", 0644));
	cJSON_AddItemToArray(items,
			     volume_item("ssh-publickey", "authorized_keys", 0644));
	return volume;
}

static cJSON *hostfile_volume(struct info *info)
{
	cJSON *volume = volume_new(HOSTFILE_VOLUME);

	json_put_str(volume, object_name(info, HOSTFILE_SUFFIX), "configMap", "name");
	cJSON_AddItemToArray(json_list(volume, "configMap", "items"),
			     volume_item(HOSTFILE, HOSTFILE, 0444));
	return volume;
}

static void edit_launcher(struct info *info, struct pod_set *ps, cJSON *c,
			  const struct mpi_flavor *flavor, int64_t n_slots)
{
	pod_set_volume(ps->pod_spec, hostfile_volume(info));
	if (!c)
		return;
	container_mount(c, HOSTFILE_VOLUME, HOSTFILE_DIR, false);
	for (size_t i = 0; flavor->env[i].name; i++) {
		if (flavor->env[i].value)
			container_set_env(c, flavor->env[i].name, flavor->env[i].value);
		else
			container_set_env_int(c, flavor->env[i].name, n_slots);
	}
}

static int enforce_ml_policy(const struct plugin_env *env, struct info *info,
			     const cJSON *tj, struct error *err)
{
	const cJSON *mpi = policy_mpi(info->ml_policy);
	const struct mpi_flavor *flavor;
	int64_t n_slots;

	(void)env;
	if (find_flavor(&flavor, mpi, err))
		return -1;
	set_counts(info, tj);
	n_slots = slots(info, tj);
	for (size_t i = 0; i < info->n_pod_sets; i++) {
		struct pod_set *ps = &info->pod_sets[i];
		cJSON *c = pod_container(ps->pod_spec, NODE);

		if (!str_eq(ps->name, NODE) && !str_eq(ps->name, LAUNCHER))
			continue;
		pod_set_volume(ps->pod_spec, ssh_volume(info));
		if (c)
			container_mount(c, SSH_VOLUME, mpi_ssh_path(mpi), false);
		if (str_eq(ps->name, LAUNCHER))
			edit_launcher(info, ps, c, flavor, n_slots);
	}
	return 0;
}

/* ---- objects ---- */

static void add_hosts(const struct info *info, const struct pod_set *ps, struct buf *out,
		      const char *separator, int64_t n_slots)
{
	int64_t pods = pod_set_count(ps), replicas = rjob_replicas(ps->rjob);

	for (int64_t r = 0; pods && r < replicas && !out->overflowed; r++)
		for (int64_t i = 0; i < pods && !out->overflowed; i++)
			buf_printf(out, "%s-%s-%" PRId64 "-%" PRId64 ".%s%s%" PRId64 "\n",
				   info->name, ps->name, r, i, info->subdomain, separator,
				   n_slots);
}

static int add_hostfile(struct info *info, const cJSON *tj, cJSON *objects,
			struct error *err)
{
	cleanup_buf struct buf hosts = { .max = HOSTFILE_MAX };
	const struct mpi_flavor *flavor;

	if (find_flavor(&flavor, policy_mpi(info->ml_policy), err))
		return -1;
	for (size_t i = 0; i < info->n_pod_sets; i++)
		if (is_node(info, &info->pod_sets[i]))
			add_hosts(info, &info->pod_sets[i], &hosts, flavor->separator,
				  slots(info, tj));
	if (buf_check(&hosts, "the MPI host file", err))
		return -1;
	json_put_str(add_object(objects, tj, "v1", "ConfigMap", HOSTFILE_SUFFIX),
		     hosts.data ? (const char *)hosts.data : "", "data", HOSTFILE);
	return 0;
}

static int add_keys(const struct plugin_env *env, struct info *info, const cJSON *tj,
		    cJSON *objects, struct error *err)
{
	struct object_ref ref = { "v1", "Secret", info->ns,
				  object_name(info, SSH_SUFFIX) };
	const char *private_pem, *authorized_key;
	const cJSON *old;
	cJSON *secret;

	if (look_up(env, &ref, &old, err))
		return -1;
	if (old)
		return 0; /* a key is made once */
	if (!env->keys)
		return error_set(err, ERR_INVALID, "no source of ssh keys");
	if (env->keys->ssh(env->keys->ctx, &info->arena, &private_pem, &authorized_key,
			   err))
		return error_wrap(err, "ssh key");
	secret = add_object(objects, tj, "v1", "Secret", SSH_SUFFIX);
	json_put_str(secret, "kubernetes.io/ssh-auth", "type");
	json_put_bool(secret, true, "immutable");
	secret_data(secret, "ssh-privatekey", private_pem);
	secret_data(secret, "ssh-publickey", authorized_key);
	return 0;
}

static int build(const struct plugin_env *env, struct info *info, const cJSON *tj,
		 cJSON *objects, struct error *err)
{
	if (add_hostfile(info, tj, objects, err))
		return -1;
	return add_keys(env, info, tj, objects, err);
}

const struct plugin plugin_mpi = {
	.name = "MPI",
	.policy = "mpi",
	.cluster_only = true,
	.validate = validate,
	.edit[ENFORCE_ML_POLICY] = enforce_ml_policy,
	.build = build,
};
