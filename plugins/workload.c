/*
 * workload.c - the gang of Kubernetes' own scheduler: a Workload and its PodGroups
 * (trainer/plugin.h).
 *
 * Follows upstream's KEP-3015 (trainer/scheduling.h). Names depend on the TrainJob's
 * alone, so that they are the same after a suspension and in a dry run.
 */
#include <inttypes.h>

#include "api/meta.h"
#include "base/hash.h"
#include "base/str.h"
#include "plugins/plugins.h"
#include "trainer/api.h"
#include "trainer/podspec.h"
#include "trainer/scheduling.h"

enum { NAME_PART = 26 }; /* two of them and two hashes are a DNS label */

static const char *with_hash(struct info *info, const char *name, const char *part)
{
	uint64_t hash = hash_text(hash_text(0, info->name), part);

	return arena_printf(&info->arena, "%s-%08" PRIx32, name,
			    (uint32_t)(hash ^ hash >> 32));
}

static const char *workload_name(struct info *info)
{
	return with_hash(info, arena_printf(&info->arena, "%.*s", NAME_PART, info->name),
			 "");
}

static const char *podgroup_name(struct info *info, const struct scheduling_group *g)
{
	const char *workload = workload_name(info);

	if (!g->name)
		return with_hash(info, workload, "/");
	return with_hash(
		info,
		arena_printf(&info->arena, "%s-%.*s", workload, NAME_PART - 8, g->name),
		g->name);
}

/* Does the plugin take part? */
static bool is_on(const struct plugin_env *env, const struct info *info)
{
	return info->scheduling && !env->scheduling_off;
}

static int groups_of(struct info *info, struct scheduling_groups *ret, struct error *err)
{
	return scheduling_groups(ret, &info->arena, info->scheduling, info->jobset_spec,
				 err);
}

static int enforce_pod_spec(const struct plugin_env *env, struct info *info,
			    const cJSON *tj, struct error *err)
{
	struct scheduling_groups groups;

	if (!is_on(env, info))
		return 0;
	if (groups_of(info, &groups, err))
		return -1;
	for (size_t i = 0; i < info->n_pod_sets; i++)
		if (groups.of_job[i] < groups.n)
			pod_set_group(
				info->pod_sets[i].pod_spec,
				podgroup_name(info, &groups.list[groups.of_job[i]]));
	return 0;
}

/* The group's PodGroupTemplate but for its name, or NULL. */
static cJSON *template_of(struct info *info, const struct scheduling_groups *groups,
			  size_t which, struct error *err)
{
	const char *class = NULL;
	int64_t pods = 0;

	for (size_t i = 0; i < info->n_pod_sets; i++) {
		const struct pod_set *ps = &info->pod_sets[i];
		int64_t replicas = groups->list[which].per_job ? 1 : pod_set_replicas(ps);

		if (groups->of_job[i] != which)
			continue;
		if (!class)
			class = pod_priority_class(ps->pod_spec);
		pods += pod_set_count(ps) * replicas;
		if (pods > INT32_MAX) {
			error_set(err, ERR_LIMIT, "more than %d pods", INT32_MAX);
			return NULL;
		}
	}
	return scheduling_template(&groups->list[which], pods > 0 ? pods : 1, class);
}

static cJSON *add_object(struct info *info, const cJSON *tj, cJSON *objects,
			 const char *kind, const char *name)
{
	cJSON *obj = meta_new(SCHEDULING_API_VERSION, kind, info->ns, name);

	meta_set_owner(obj, tj);
	cJSON_AddItemToArray(objects, obj);
	return obj;
}

static void add_podgroup(struct info *info, const cJSON *tj, cJSON *objects,
			 const struct scheduling_group *g, const cJSON *template)
{
	cJSON *obj = add_object(info, tj, objects, "PodGroup", podgroup_name(info, g));
	cJSON *spec = json_dup(template);

	json_put(obj, spec, "spec");
	json_put_str(spec, workload_name(info), "workloadRef", "workloadName");
	json_put_str(spec, g->name ? g->name : info->name, "workloadRef", "templateName");
}

static int build(const struct plugin_env *env, struct info *info, const cJSON *tj,
		 cJSON *objects, struct error *err)
{
	struct scheduling_groups groups;
	cJSON *workload, *templates;

	if (!is_on(env, info))
		return 0;
	if (groups_of(info, &groups, err))
		return -1;
	workload = add_object(info, tj, objects, "Workload", workload_name(info));
	json_put_str(workload, TRAINER_GROUP, "spec", "controllerRef", "apiGroup");
	json_put_str(workload, TRAINJOB_KIND, "spec", "controllerRef", "kind");
	json_put_str(workload, info->name, "spec", "controllerRef", "name");
	templates = json_list(workload, "spec", "podGroupTemplates");
	for (size_t i = 0; i < groups.n; i++) {
		const struct scheduling_group *g = &groups.list[i];
		cJSON *template = template_of(info, &groups, i, err);

		if (!template)
			return -1;
		add_podgroup(info, tj, objects, g, template);
		json_put_str(template, g->name ? g->name : info->name, "name");
		cJSON_AddItemToArray(templates, template);
	}
	return 0;
}

const struct plugin plugin_workload = {
	.name = "Workload",
	.edit[ENFORCE_POD_SPEC] = enforce_pod_spec,
	.build = build,
};
