/*
 * plainml.c - no framework: the number of nodes and the job's variables.
 *
 * Follows upstream's plugins/plainml. Acts also beside XGBoost and Flux, which
 * do not count nodes or merge variables themselves.
 */
#include "plugins/plugins.h"
#include "trainer/podspec.h"
#include "trainer/runtime.h"
#include "trainer/trainjob.h"

static int enforce_ml_policy(const struct plugin_env *env, struct info *info,
			     const cJSON *tj, struct error *err)
{
	const cJSON *ml = info->ml_policy;
	cJSON *node = info_trainer_container(info);

	(void)env;
	(void)err;
	if (policy_torch(ml) || policy_mpi(ml) || policy_jax(ml))
		return 0;
	info_set_nodes(info, tj);
	if (node)
		container_merge_env(node, tj_env(tj));
	return 0;
}

const struct plugin plugin_plainml = {
	.name = "PlainML",
	.edit[ENFORCE_ML_POLICY] = enforce_ml_policy,
};
