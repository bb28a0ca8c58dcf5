/* podgroup.c - build the PodGroup of a gang (plugins/podgroup.h). */
#include "plugins/podgroup.h"

#include "plugins/common.h"
#include "trainer/gang.h"
#include "trainer/trainjob.h"

int podgroup_add(const struct plugin_env *env, struct info *info, const cJSON *tj,
		 struct podgroup *group, struct error *err)
{
	struct object_ref ref = { group->api_version, "PodGroup", info->ns, info->name };
	cleanup_resource_list struct resource_list total = { 0 };
	const cJSON *old;
	int64_t pods;
	cJSON *obj;

	if (plugin_object_find(env, &ref, &old, err))
		return -1;
	if (old && !tj_suspend(tj))
		return 0;
	if (gang_total(info, &total, &pods, err))
		return -1;
	obj = plugin_add_object(group->objects, tj, ref.api_version, ref.kind, "");
	json_put_int(obj, pods > 0 ? pods : 1, "spec", "minMember");
	json_put(obj, resource_list_json(&total), "spec", "minResources");
	group->spec = json_obj(obj, "spec");
	return 0;
}

void podgroup_mark(struct info *info,
		   void (*put)(cJSON *pod_template, const char *key, const char *value),
		   const char *key)
{
	for (size_t i = 0; i < info->n_pod_sets; i++)
		if (info->pod_sets[i].in_gang)
			put(info->pod_sets[i].pod_template, key, info->name);
}
