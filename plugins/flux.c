/*
 * flux.c - run the command in a Flux instance over the nodes (trainer/plugin.h).
 *
 * Follows upstream's plugins/flux in hosts, tasks, resources, addresses and paths. An
 * init container copies Flux (a "view") to an emptyDir of the pod; the main container
 * starts a broker on every node, and the first node runs the command.
 */
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "plugins/common.h"
#include "plugins/flux_scripts.h"
#include "plugins/plugins.h"
#include "trainer/api.h"
#include "trainer/podspec.h"
#include "trainer/runtime.h"
#include "trainer/trainjob.h"

#define INSTALLER     "flux-installer"
#define SCRIPT_SUFFIX "-flux-entrypoint"
#define CURVE_SUFFIX  "-flux-curve"
#define CONFIG_DIR    "/etc/flux-config"

/* Settings with defaults, which a variable of the job or the runtime overrides. */
enum setting { VIEW_IMAGE, NETWORK_DEVICE, QUEUE_POLICY, N_SETTINGS };
static const struct {
	const char *name, *value;
} settings[N_SETTINGS] = {
	[VIEW_IMAGE] = { "FLUX_VIEW_IMAGE",
			 "ghcr.io/converged-computing/flux-view-ubuntu:tag-jammy" },
	[NETWORK_DEVICE] = { "FLUX_NETWORK_DEVICE", "eth0" },
	[QUEUE_POLICY] = { "FLUX_QUEUE_POLICY", "fcfs" },
};

static const char *setting(struct info *info, const cJSON *tj, enum setting which)
{
	const char *name = settings[which].name;
	const cJSON *given = json_find_const(tj_env(tj), "name", name);
	const char *value = podspec_env_value(tj_env(tj), name);

	if (given) /* even without a value, as in upstream */
		return value ? value : "";
	value = podspec_env_value(container_env(info_trainer_container(info)), name);
	return value && *value ? value : settings[which].value;
}

static void validate(const struct plugin_env *env, struct info *info, const cJSON *old,
		     const cJSON *tj, struct field_errors *errs)
{
	struct pod_set *node = info_by_name(info, NODE);
	const cJSON *taken;

	if (!node)
		return;
	taken = pod_init_container(node->pod_spec, INSTALLER);
	if (taken)
		field_error_add(errs, FIELD_INVALID, "spec.trainer.initContainers",
				json_get(taken, "name"),
				"the Flux policy adds an init container of this name");
}

/* ---- editing the template ---- */

/* The words of a list, separated by blanks. */
static void add_words(struct buf *out, const cJSON *words)
{
	const cJSON *word;

	json_each(word, words)
		buf_printf(out, "%s%s", out->len ? " " : "", word->valuestring);
}

/*
 * The command to run inside Flux: the job's, else the runtime's, and likewise its args. The
 * container gets none: the entry point would add them (kubeflow/trainer#4003).
 */
static const char *wrapped_command(struct info *info, const cJSON *tj)
{
	cleanup_buf struct buf line = { .max = 4 * 1024 * 1024 };
	const cJSON *command = tj_command(tj), *args = tj_args(tj);

	if (!command)
		command = container_command(info_trainer_container(info));
	if (!args)
		args = container_args(info_trainer_container(info));
	add_words(&line, command);
	add_words(&line, args);
	return str_trim(&info->arena, line.data ? (const char *)line.data : "");
}

static cJSON *words(const char *a, const char *b, const char *c)
{
	const char *const list[] = { a, b, c };

	return cJSON_CreateStringArray(list, c ? 3 : 2);
}

static void add_volumes(struct info *info, cJSON *pod_spec)
{
	const char *scripts = plugin_object_name(info, SCRIPT_SUFFIX);
	cJSON *v = podspec_volume("spack-install");

	json_obj(v, "emptyDir");
	pod_set_volume(pod_spec, v);
	v = podspec_volume("flux-install");
	json_obj(v, "emptyDir");
	pod_set_volume(pod_spec, v);
	v = podspec_volume(scripts);
	json_put_str(v, scripts, "configMap", "name");
	json_put_int(v, 0755, "configMap", "defaultMode");
	pod_set_volume(pod_spec, v);
	v = podspec_volume("shared-memory");
	json_put_str(v, "Memory", "emptyDir", "medium");
	pod_set_volume(pod_spec, v);
	v = podspec_volume("flux-curve");
	json_put_str(v, plugin_object_name(info, CURVE_SUFFIX), "secret", "secretName");
	json_put_int(v, 0400, "secret", "defaultMode");
	pod_set_volume(pod_spec, v);
}

static void add_installer(struct info *info, const cJSON *tj, cJSON *pod_spec)
{
	cJSON *c = container_new(INSTALLER, setting(info, tj, VIEW_IMAGE));
	cJSON *command = words("/bin/bash", CONFIG_DIR "/init.sh", NULL);

	container_set_command(c, command);
	cJSON_Delete(command);
	container_mount(c, "flux-install", "/mnt/flux", false);
	container_mount(c, plugin_object_name(info, SCRIPT_SUFFIX), CONFIG_DIR, true);
	cJSON_AddItemToArray(pod_init_containers(pod_spec), c);
}

static void add_mounts(struct info *info, cJSON *c)
{
	container_mount(c, "flux-install", "/mnt/flux", false);
	container_mount(c, "spack-install", "/opt/software", false);
	container_mount(c, plugin_object_name(info, SCRIPT_SUFFIX), CONFIG_DIR, true);
	container_mount(c, "flux-curve", "/curve", true);
	container_mount(c, "shared-memory", "/dev/shm", true);
}

static int enforce_ml_policy(const struct plugin_env *env, struct info *info,
			     const cJSON *tj, struct error *err)
{
	struct pod_set *ps = info_by_name(info, NODE);
	cJSON *node;

	info_set_plain_nodes(info, tj);
	info_set_command(info, words("/bin/bash", CONFIG_DIR "/entrypoint.sh",
				     wrapped_command(info, tj)));
	info->args_used = true;
	if (!ps)
		return 0;
	add_volumes(info, ps->pod_spec);
	add_installer(info, tj, ps->pod_spec);
	node = pod_container(ps->pod_spec, NODE);
	if (node)
		add_mounts(info, node);
	return 0;
}

/* ---- objects ---- */

/* "0" or "0-3": the numbers below n, as Flux writes them. */
static const char *range(struct info *info, int64_t n)
{
	return n <= 1 ? "0" : arena_printf(&info->arena, "0-%" PRId64, n - 1);
}

static struct flux_facts facts_of(struct info *info, const cJSON *tj)
{
	struct pod_set *ps = info_by_name(info, NODE);
	int64_t nodes = tj_num_nodes(tj);
	int64_t tasks = tj_num_proc_per_node(tj);
	int64_t gpus = info_gpus(info, NODE);
	struct arena *a = &info->arena;
	struct flux_facts f;

	if (nodes == ABSENT)
		nodes = ps ? pod_set_count(ps) : info_nodes(info);
	if (tasks == ABSENT)
		tasks = policy_flux_num_proc_per_node(policy_flux(info->ml_policy));
	f.device = setting(info, tj, NETWORK_DEVICE);
	f.queue_policy = setting(info, tj, QUEUE_POLICY);
	f.domain = arena_printf(a, "%s.%s.svc.cluster.local", info->subdomain,
				info->ns ? info->ns : "default");
	f.hosts = arena_printf(a, "%s-" NODE "-0-[%s]", info->name, range(info, nodes));
	f.lead = arena_printf(a, "%s-" NODE "-0-0", info->name);
	f.flags = arena_printf(a, "-N %" PRId64 " -n %" PRId64, nodes, tasks * nodes);
	f.resources = arena_printf(a, "--cores=%s", range(info, tasks));
	if (gpus > 0) {
		f.flags = arena_printf(a, "%s -g %" PRId64, f.flags, gpus);
		f.resources =
			arena_printf(a, "%s --gpu=%s", f.resources, range(info, gpus));
	}
	return f;
}

static int add_scripts(struct info *info, const cJSON *tj, cJSON *objects,
		       struct error *err)
{
	cleanup_buf struct buf init = { .max = 64 * 1024 };
	cleanup_buf struct buf entrypoint = { .max = 64 * 1024 };
	struct flux_facts f = facts_of(info, tj);
	cJSON *map;

	flux_init_script(&init, &f);
	flux_entrypoint_script(&entrypoint, &f);
	if (buf_check(&init, "init.sh", err) ||
	    buf_check(&entrypoint, "entrypoint.sh", err))
		return -1;
	map = plugin_add_object(objects, tj, "v1", "ConfigMap", SCRIPT_SUFFIX);
	json_put_str(map, (const char *)entrypoint.data, "data", "entrypoint.sh");
	json_put_str(map, (const char *)init.data, "data", "init.sh");
	return 0;
}

/* ZeroMQ's certificate (ZPL, RFC 4 of rfc.zeromq.org), the same on every node. */
static int add_curve(const struct plugin_env *env, struct info *info, const cJSON *tj,
		     cJSON *objects, struct error *err)
{
	struct object_ref ref = { "v1", "Secret", info->ns,
				  plugin_object_name(info, CURVE_SUFFIX) };
	char public_z85[41], secret_z85[41];
	const cJSON *old;

	if (plugin_object_find(env, &ref, &old, err))
		return -1;
	if (old)
		return 0; /* random: created once, never changed */
	if (!env->keys)
		return error_set(err, ERR_INVALID, "no source of CURVE keys");
	if (env->keys->curve(env->keys->ctx, &info->arena, public_z85, secret_z85, err))
		return error_wrap(err, "curve key");
	plugin_secret_data(
		plugin_add_object(objects, tj, "v1", "Secret", CURVE_SUFFIX),
		"curve.cert",
		arena_printf(
			&info->arena,
			"# ZeroMQ CURVE certificate for the brokers of one TrainJob\n"
			"metadata\n"
			"    name = \"%s\"\n"
			"curve\n"
			"    public-key = \"%s\"\n"
			"    secret-key = \"%s\"\n",
			info->name, public_z85, secret_z85));
	return 0;
}

static int build(const struct plugin_env *env, struct info *info, const cJSON *tj,
		 cJSON *objects, struct error *err)
{
	if (add_scripts(info, tj, objects, err))
		return -1;
	return add_curve(env, info, tj, objects, err);
}

const struct plugin plugin_flux = {
	.name = "Flux",
	.policy = "flux",
	.cluster_only = true,
	.validate = validate,
	.edit[ENFORCE_ML_POLICY] = enforce_ml_policy,
	.build = build,
};
