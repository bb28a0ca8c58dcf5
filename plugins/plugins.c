#include "plugins/plugins.h"

/*
 * The order within every phase. What it decides:
 *
 * - PlainML before XGBoost: where both act, the job's own variables stand before
 *   the policy's, as with Torch. (Upstream draws this by lot at every start; a
 *   JobSet built by one draw cannot be resumed by the other.)
 * - TorchTune after Torch, which counts the processes.
 * - Objects come in this order too: ConfigMaps and Secrets, which pods refer
 *   to, then the PodGroup, and the JobSet last.
 */
const struct plugin *const plugins[] = {
	&plugin_plainml,
	&plugin_torch,
	&plugin_torchtune,
	&plugin_jax,
	&plugin_xgboost,
	&plugin_trainjobstatus,
	&plugin_mpi,
	&plugin_flux,
	&plugin_volcano,
	&plugin_coscheduling,
	&plugin_workspace,
	&plugin_jobset,
	NULL,
};
