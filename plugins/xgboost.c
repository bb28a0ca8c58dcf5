/*
 * xgboost.c - set DMLC_* variables for the Rabit tracker of rank 0 (trainer/plugin.h).
 *
 * Follows upstream's plugins/xgboost: one worker for each GPU, else one for each node.
 * The job's variables precede the policy's, as for Torch. (Upstream's order is random per
 * process; a JobSet built in one order cannot be resumed in the other.)
 */
#include <inttypes.h>

#include "base/str.h"
#include "plugins/plugins.h"
#include "trainer/api.h"
#include "trainer/podspec.h"
#include "trainer/trainjob.h"

static const char *const reserved[] = {
	"DMLC_NUM_WORKER", "DMLC_TASK_ID", "DMLC_TRACKER_PORT", "DMLC_TRACKER_URI", NULL,
};

static void validate(const struct plugin_env *env, struct info *info, const cJSON *old,
		     const cJSON *tj, struct field_errors *errs)
{
	const cJSON *var;
	size_t i = 0;

	json_each(var, tj_env(tj)) {
		if (str_in(podspec_element_name(var), reserved))
			field_error_add(errs, FIELD_FORBIDDEN,
					field_index(errs, "spec.trainer.env", i), NULL,
					"%s is set by the XGBoost policy",
					podspec_element_name(var));
		i++;
	}
}

static int enforce_ml_policy(const struct plugin_env *env, struct info *info,
			     const cJSON *tj, struct error *err)
{
	cJSON *node = info_trainer_container(info);
	int64_t gpus, workers;

	info_set_plain_nodes(info, tj);
	if (!tj_trainer(tj) || !node)
		return 0;
	gpus = info_gpus(info, NULL);
	if (__builtin_mul_overflow(info_nodes(info), gpus > 0 ? gpus : 1, &workers))
		return error_set(err, ERR_LIMIT,
				 "%" PRId64 " nodes of %" PRId64
				 " GPUs have too many workers to count",
				 info_nodes(info), gpus);
	container_set_env(node, "DMLC_TRACKER_URI", info_lead_host(info));
	container_set_env_int(node, "DMLC_TRACKER_PORT", TRAINER_PORT);
	container_set_env_field(node, "DMLC_TASK_ID", COMPLETION_INDEX_FIELD);
	container_set_env_int(node, "DMLC_NUM_WORKER", workers);
	container_add_port(node, TRAINER_PORT);
	return 0;
}

const struct plugin plugin_xgboost = {
	.name = "XGBoost",
	.policy = "xgboost",
	.validate = validate,
	.edit[ENFORCE_ML_POLICY] = enforce_ml_policy,
};
