/*
 * torch.c - set PET_* variables for torchrun (trainer/plugin.h, plugins/torch.h).
 *
 * Follows upstream's plugins/torch. Without spec.trainer the main container gets no
 * variables; the containers of envInjection always get theirs.
 */
#include "plugins/torch.h"

#include "base/str.h"
#include "plugins/common.h"
#include "plugins/plugins.h"
#include "trainer/api.h"
#include "trainer/podspec.h"
#include "trainer/runtime.h"
#include "trainer/trainjob.h"

static const char *const reserved[] = {
	"PET_MASTER_ADDR", "PET_MASTER_PORT",    "PET_NNODES",
	"PET_NODE_RANK",   "PET_NPROC_PER_NODE", NULL,
};

struct torch_plan torch_plan(struct info *info, const cJSON *tj)
{
	const cJSON *resources = info_resources(info, NULL);
	int64_t procs = tj_num_proc_per_node(tj), cpus = resources_cpus(resources);
	struct torch_plan plan = {
		.nodes = info_nodes(info),
		.gpus = info_gpus(info, NULL),
	};

	if (procs != ABSENT)
		plan.procs = procs;
	else if (plan.gpus == 0)
		plan.procs = cpus > 1 ? cpus : 1;
	else if (resources_gpus(resources) == 0)
		plan.procs = plan.gpus; /* GPUs of resource claims */
	return plan;
}

bool torch_is_torchtune(const cJSON *tj)
{
	const cJSON *first = tj_command(tj) ? tj_command(tj)->child : NULL;
	const cJSON *second = first ? first->next : NULL;

	return second && !second->next && str_eq(cJSON_GetStringValue(first), "tune") &&
	       str_eq(cJSON_GetStringValue(second), "run");
}

/* Why an envInjection target does not exist, or NULL. In the arena. */
static const char *missing(struct info *info, struct arena *arena, const cJSON *target,
			   const char *container)
{
	const char *job = policy_env_target_job(target);
	struct pod_set *ps = info_by_name(info, job);

	if (!ps)
		return arena_printf(arena, "envInjection: the runtime has no job \"%s\"",
				    job);
	if (!pod_any_container(ps->pod_spec, container))
		return arena_printf(arena,
				    "envInjection: job \"%s\" of the runtime has no "
				    "container \"%s\"",
				    job, container);
	return NULL;
}

static void validate(const struct plugin_env *env, struct info *info, const cJSON *old,
		     const cJSON *tj, struct field_errors *errs)
{
	const cJSON *torch = policy_torch(info->ml_policy), *target, *name;

	json_each(target, policy_torch_env_targets(torch)) {
		json_each(name, policy_env_target_containers(target)) {
			const char *lack =
				missing(info, &errs->arena, target, name->valuestring);

			if (lack)
				field_error_add(errs, FIELD_INVALID, "spec.runtimeRef",
						target, "%s", lack);
		}
	}
	plugin_refuse_reserved_env(tj, reserved, "Torch", errs);
}

static void set_nodes_env(cJSON *container, const struct torch_plan *plan)
{
	container_set_env_int(container, "PET_NNODES", plan->nodes);
	if (plan->procs)
		container_set_env_int(container, "PET_NPROC_PER_NODE", plan->procs);
	else
		container_set_env(container, "PET_NPROC_PER_NODE", "auto");
	container_set_env_field(container, "PET_NODE_RANK", COMPLETION_INDEX_FIELD);
}

static void set_master_env(struct info *info, cJSON *container)
{
	container_set_env(container, "PET_MASTER_ADDR", info_lead_host(info));
	container_set_env_int(container, "PET_MASTER_PORT", TRAINER_PORT);
}

static int inject_env(struct info *info, const struct torch_plan *plan, struct error *err)
{
	const cJSON *target, *name;

	json_each(target, policy_torch_env_targets(policy_torch(info->ml_policy))) {
		struct pod_set *ps = info_by_name(info, policy_env_target_job(target));

		json_each(name, policy_env_target_containers(target)) {
			const char *lack =
				missing(info, &info->arena, target, name->valuestring);
			cJSON *c;

			if (lack)
				return error_set(err, ERR_INVALID, "%s", lack);
			c = pod_any_container(ps->pod_spec, name->valuestring);
			set_nodes_env(c, plan);
			set_master_env(info, c);
		}
	}
	return 0;
}

static int enforce_ml_policy(const struct plugin_env *env, struct info *info,
			     const cJSON *tj, struct error *err)
{
	cJSON *node = info_trainer_container(info);
	struct torch_plan plan;

	info_set_nodes(info, tj);
	plan = torch_plan(info, tj);
	if (tj_trainer(tj) && node) {
		container_merge_env(node, tj_env(tj));
		set_nodes_env(node, &plan);
		if (!torch_is_torchtune(tj)) /* torchtune has --rdzv_endpoint */
			set_master_env(info, node);
		container_add_port(node, TRAINER_PORT);
	}
	return inject_env(info, &plan, err);
}

const struct plugin plugin_torch = {
	.name = "Torch",
	.policy = "torch",
	.validate = validate,
	.edit[ENFORCE_ML_POLICY] = enforce_ml_policy,
};
