/*
 * jax.c - set JAX_* variables for jax.distributed (trainer/plugin.h).
 *
 * Follows upstream's plugins/jax. The job's own variables are added later, with the
 * JobSet, and override these. JAX_INITIALIZE_ANNOTATION is ours.
 */
#include "trainer/jax.h"
#include "api/meta.h"
#include "base/str.h"
#include "plugins/plugins.h"
#include "trainer/api.h"
#include "trainer/podspec.h"
#include "trainer/trainjob.h"

static bool asks_for_initialize(const struct info *info, const cJSON *tj)
{
	return str_eq(meta_annotation(tj, JAX_INITIALIZE_ANNOTATION), "true") ||
	       str_eq(meta_annotation(info->runtime, JAX_INITIALIZE_ANNOTATION), "true");
}

static void set_cluster(struct info *info, cJSON *node)
{
	for (const struct jax_variable *v = jax_cluster; v->name; v++)
		container_set_env(node, v->name, v->value);
	container_set_env(node, JAX_DEVICE_IDS,
			  jax_device_ids(&info->arena, info_gpus(info, NULL)));
}

static int enforce_ml_policy(const struct plugin_env *env, struct info *info,
			     const cJSON *tj, struct error *err)
{
	cJSON *node = info_trainer_container(info);

	info_set_nodes(info, tj);
	if (!tj_trainer(tj) || !node)
		return 0;
	container_set_env_int(node, JAX_PROCESSES, info_nodes(info));
	container_set_env_field(node, JAX_PROCESS, COMPLETION_INDEX_FIELD);
	container_set_env(
		node, JAX_ADDRESS,
		arena_printf(&info->arena, "%s:%d", info_lead_host(info), TRAINER_PORT));
	if (asks_for_initialize(info, tj))
		set_cluster(info, node);
	container_add_port(node, TRAINER_PORT);
	return 0;
}

const struct plugin plugin_jax = {
	.name = "JAX",
	.policy = "jax",
	.edit[ENFORCE_ML_POLICY] = enforce_ml_policy,
};
