/*
 * jax.c - set JAX_* variables for jax.distributed (trainer/plugin.h).
 *
 * Follows upstream's plugins/jax. The job's own variables are added later, with the
 * JobSet, and override these.
 */
#include "plugins/plugins.h"
#include "trainer/api.h"
#include "trainer/podspec.h"
#include "trainer/trainjob.h"

static int enforce_ml_policy(const struct plugin_env *env, struct info *info,
			     const cJSON *tj, struct error *err)
{
	cJSON *node = info_trainer_container(info);

	info_set_nodes(info, tj);
	if (!tj_trainer(tj) || !node)
		return 0;
	container_set_env_int(node, "JAX_NUM_PROCESSES", info_nodes(info));
	container_set_env_field(node, "JAX_PROCESS_ID", COMPLETION_INDEX_FIELD);
	container_set_env(
		node, "JAX_COORDINATOR_ADDRESS",
		arena_printf(&info->arena, "%s:%d", info_lead_host(info), TRAINER_PORT));
	container_add_port(node, TRAINER_PORT);
	return 0;
}

const struct plugin plugin_jax = {
	.name = "JAX",
	.policy = "jax",
	.edit[ENFORCE_ML_POLICY] = enforce_ml_policy,
};
