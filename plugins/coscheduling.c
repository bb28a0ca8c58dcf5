/*
 * coscheduling.c - add the PodGroup of scheduler-plugins (trainer/plugin.h).
 *
 * Follows upstream's plugins/coscheduling.
 */
#include "plugins/plugins.h"
#include "plugins/podgroup.h"
#include "trainer/podspec.h"
#include "trainer/runtime.h"

#define API_VERSION "scheduling.x-k8s.io/v1alpha1"
#define GROUP_LABEL "scheduling.x-k8s.io/pod-group"

static int enforce_pod_group_policy(const struct plugin_env *env, struct info *info,
				    const cJSON *tj, struct error *err)
{
	podgroup_mark(info, pod_template_label, GROUP_LABEL);
	return 0;
}

static int build(const struct plugin_env *env, struct info *info, const cJSON *tj,
		 cJSON *objects, struct error *err)
{
	const cJSON *policy = policy_coscheduling(info->pod_group_policy);
	struct podgroup group = { .api_version = API_VERSION, .objects = objects };

	if (podgroup_add(env, info, tj, &group, err))
		return -1;
	if (group.spec)
		json_put_int(group.spec, policy_coscheduling_timeout(policy),
			     "scheduleTimeoutSeconds");
	return 0;
}

const struct plugin plugin_coscheduling = {
	.name = "CoScheduling",
	.policy = "coscheduling",
	.edit[ENFORCE_POD_GROUP_POLICY] = enforce_pod_group_policy,
	.build = build,
};
