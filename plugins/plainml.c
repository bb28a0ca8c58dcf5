/*
 * plainml.c - no framework: set the nodes and the job's variables (trainer/plugin.h).
 *
 * Follows upstream's plugins/plainml, which also applies to XGBoost and Flux: here those
 * plugins call info_set_plain_nodes() themselves.
 */
#include "plugins/plugins.h"

static int enforce_ml_policy(const struct plugin_env *env, struct info *info,
			     const cJSON *tj, struct error *err)
{
	for (size_t i = 0; plugins[i]; i++)
		if (plugins[i]->policy && json_get(info->ml_policy, plugins[i]->policy))
			return 0;
	info_set_plain_nodes(info, tj);
	return 0;
}

const struct plugin plugin_plainml = {
	.name = "PlainML",
	.edit[ENFORCE_ML_POLICY] = enforce_ml_policy,
};
