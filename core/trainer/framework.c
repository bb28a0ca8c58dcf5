/* framework.c - run the plugins (trainer/framework.h). */
#include "trainer/framework.h"

static const char *const phase_name[N_EDIT_PHASES] = {
	[ENFORCE_ML_POLICY] = "EnforceMLPolicy",
	[ENFORCE_POD_GROUP_POLICY] = "EnforcePodGroupPolicy",
	[ENFORCE_POD_SPEC] = "EnforcePodSpec",
	[PRE_BUILD_SYNC] = "PreBuildSync",
};

static bool takes_part(const struct plugin *p, const struct info *info)
{
	return !p->policy || json_get(info->ml_policy, p->policy) ||
	       json_get(info->pod_group_policy, p->policy);
}

int framework_edit(const struct plugin *const *list, const struct plugin_env *env,
		   enum edit_phase phase, struct info *info, const cJSON *tj,
		   struct error *err)
{
	for (; *list; list++) {
		edit_fn *edit = (*list)->edit[phase];

		if (edit && takes_part(*list, info) && edit(env, info, tj, err))
			return error_wrap(err, "%s %s", (*list)->name, phase_name[phase]);
	}
	return 0;
}

int framework_build(const struct plugin *const *list, const struct plugin_env *env,
		    struct info *info, const cJSON *tj, cJSON *objects, struct error *err)
{
	for (int phase = 0; phase < N_EDIT_PHASES; phase++)
		if (framework_edit(list, env, (enum edit_phase)phase, info, tj, err))
			return -1;

	for (; *list; list++) {
		const struct plugin *p = *list;

		if (p->build && takes_part(p, info) &&
		    p->build(env, info, tj, objects, err))
			return error_wrap(err, "%s Build", p->name);
	}
	return 0;
}

void framework_validate(const struct plugin *const *list, const struct plugin_env *env,
			struct info *info, const cJSON *old, const cJSON *now,
			struct field_errors *errs)
{
	for (; *list; list++)
		if ((*list)->validate && takes_part(*list, info))
			(*list)->validate(env, info, old, now, errs);
}

const char *framework_cluster_only(const struct plugin *const *list,
				   const cJSON *ml_policy)
{
	for (; *list; list++)
		if ((*list)->cluster_only && json_get(ml_policy, (*list)->policy))
			return (*list)->name;
	return NULL;
}

const struct plugin *framework_status_plugin(const struct plugin *const *list)
{
	for (; *list; list++)
		if ((*list)->status)
			return *list;
	return NULL;
}
