/*
 * volcano.c - add Volcano's PodGroup (trainer/plugin.h).
 *
 * Follows upstream's plugins/volcano. The queue comes from an annotation of the
 * runtime's template (a runtimePatch may set it), the priority class from the
 * pod templates.
 */
#include "base/str.h"
#include "plugins/common.h"
#include "plugins/plugins.h"
#include "plugins/podgroup.h"
#include "trainer/podspec.h"
#include "trainer/runtime.h"

#define API_VERSION      "scheduling.volcano.sh/v1beta1"
#define GROUP_ANNOTATION "scheduling.k8s.io/group-name"
#define QUEUE_ANNOTATION "scheduling.volcano.sh/queue-name"

/* Priority classes that always exist. */
static const char *const built_in_classes[] = { "system-cluster-critical",
						"system-node-critical", NULL };

static void check_class(const struct plugin_env *env, const char *name,
			struct field_errors *errs)
{
	struct object_ref ref = { "scheduling.k8s.io/v1", "PriorityClass", NULL, name };
	cleanup_json cJSON *value = cJSON_CreateString(name);
	struct error err = { 0 };
	const cJSON *found;
	bool failed = plugin_object_find(env, &ref, &found, &err);

	if (failed || !found)
		field_error_add(
			errs, FIELD_INVALID, "spec.templateSpec.priorityClassName", value,
			"%s", failed ? err.msg : "no PriorityClass of this name exists");
}

static void validate(const struct plugin_env *env, struct info *info, const cJSON *old,
		     const cJSON *tj, struct field_errors *errs)
{
	const cJSON *queue = json_get(info->annotations, QUEUE_ANNOTATION);

	if (queue && str_eq(cJSON_GetStringValue(queue), ""))
		field_error_add(errs, FIELD_INVALID,
				field_key(errs, "spec.annotations", QUEUE_ANNOTATION),
				queue, "the queue must have a name");
	for (size_t i = 0; env->get && i < info->n_pod_sets; i++) {
		const char *name = pod_priority_class(info->pod_sets[i].pod_spec);

		if (name && str_in(name, built_in_classes))
			return;
		if (name)
			check_class(env, name, errs);
	}
}

static int enforce_pod_group_policy(const struct plugin_env *env, struct info *info,
				    const cJSON *tj, struct error *err)
{
	podgroup_mark(info, pod_template_annotate, GROUP_ANNOTATION);
	return 0;
}

static void fill(struct info *info, cJSON *spec)
{
	const char *queue = json_str(info->annotations, QUEUE_ANNOTATION);
	cJSON *topology = policy_volcano_topology(policy_volcano(info->pod_group_policy));

	if (queue)
		json_put_str(spec, queue, "queue");
	for (size_t i = 0; i < info->n_pod_sets; i++) {
		const char *name = pod_priority_class(info->pod_sets[i].pod_spec);

		if (name)
			json_put_str(spec, name, "priorityClassName");
	}
	if (topology)
		json_put(spec, topology, "networkTopology");
}

static int build(const struct plugin_env *env, struct info *info, const cJSON *tj,
		 cJSON *objects, struct error *err)
{
	struct podgroup group = { .api_version = API_VERSION, .objects = objects };

	if (podgroup_add(env, info, tj, &group, err))
		return -1;
	if (group.spec)
		fill(info, group.spec);
	return 0;
}

const struct plugin plugin_volcano = {
	.name = "Volcano",
	.policy = "volcano",
	.validate = validate,
	.edit[ENFORCE_POD_GROUP_POLICY] = enforce_pod_group_policy,
	.build = build,
};
