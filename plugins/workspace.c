/*
 * workspace.c - unpack the submitted directory in training pods (trainer/plugin.h).
 *
 * Not in upstream. Each pod gets a copy of its own, so that ranks do not write into each
 * other's files. The copy is the working directory of the container "node", unless the
 * runtime sets another.
 */
#include "api/meta.h"
#include "base/str.h"
#include "plugins/common.h"
#include "plugins/plugins.h"
#include "trainer/api.h"
#include "trainer/carry.h"
#include "trainer/jobset.h"
#include "trainer/podspec.h"
#include "trainer/runtime.h"
#include "trainer/trainjob.h"
#include "trainer/workspace_spec.h"

static void validate(const struct plugin_env *env, struct info *info, const cJSON *old,
		     const cJSON *tj, struct field_errors *errs)
{
	struct workspace w;
	struct error err = { 0 };

	if (workspace_of(&w, tj, &err))
		field_error_add(errs, FIELD_INVALID, "metadata.annotations", NULL, "%s",
				err.msg);
}

/* Pods that run training code, including those in which an MPI launcher starts it. */
static bool trains(const struct info *info, const struct pod_set *ps)
{
	return str_eq(ps->ancestor, ANCESTOR_TRAINER) ||
	       (policy_mpi(info->ml_policy) && str_eq(ps->name, NODE));
}

/* The archive's volume: its ConfigMap, or an emptyDir for the download. */
static cJSON *archive_volume(struct info *info, const struct workspace *w)
{
	cJSON *volume = podspec_volume(WORKSPACE_ARCHIVE);

	if (w->uri)
		json_obj(volume, "emptyDir");
	else
		json_put_str(
			volume,
			workspace_configmap_name(&info->arena, info->name, w->digest),
			"configMap", "name");
	return volume;
}

static void add_unpacker(const struct plugin_env *env, struct info *info, cJSON *pod_spec,
			 const cJSON *node, const struct workspace *w)
{
	cJSON *c = container_new(WORKSPACE_CONTAINER, carry_image(env));
	cJSON *args = workspace_unpack_args(w);

	container_set_args(c, args);
	cJSON_Delete(args);
	container_harden(c);
	container_copy_user(c, node);
	container_log_on_error(c);
	container_copy_size(c, node);
	container_mount(c, WORKSPACE_VOLUME, WORKSPACE_PATH, false);
	container_mount(c, WORKSPACE_ARCHIVE, WORKSPACE_ARCHIVE_PATH, !w->uri);
	pod_set_volume(pod_spec, archive_volume(info, w));
	if (w->uri && w->secret)
		container_env_from_secret(c, w->secret);
	cJSON_AddItemToArray(pod_init_containers(pod_spec), c);
}

static int enforce_pod_spec(const struct plugin_env *env, struct info *info,
			    const cJSON *tj, struct error *err)
{
	struct workspace w;

	if (workspace_of(&w, tj, err))
		return -1;
	for (size_t i = 0; w.digest && i < info->n_pod_sets; i++) {
		struct pod_set *ps = &info->pod_sets[i];
		cJSON *node = pod_container(ps->pod_spec, NODE);
		cJSON *volume;

		if (!node || !trains(info, ps))
			continue;
		if (pod_any_container(ps->pod_spec, WORKSPACE_CONTAINER))
			return error_set(
				err, ERR_INVALID,
				"job %s of the runtime has a container \"" WORKSPACE_CONTAINER
				"\" of its own",
				ps->name);
		volume = podspec_volume(WORKSPACE_VOLUME);
		json_obj(volume, "emptyDir");
		pod_set_volume(ps->pod_spec, volume);
		add_unpacker(env, info, ps->pod_spec, node, &w);
		container_mount(node, WORKSPACE_VOLUME, WORKSPACE_PATH, false);
		container_default_workdir(node, WORKSPACE_PATH);
	}
	return 0;
}

/* Fail if the workspace's ConfigMap does not exist: pods would wait for it forever. */
static int build(const struct plugin_env *env, struct info *info, const cJSON *tj,
		 cJSON *objects, struct error *err)
{
	struct object_ref jobset = { JOBSET_API_VERSION, JOBSET_KIND, info->ns,
				     info->name };
	struct object_ref map = { "v1", "ConfigMap", info->ns, NULL };
	const cJSON *existing;
	struct workspace w;

	if (workspace_of(&w, tj, err))
		return -1;
	if (!w.digest || w.uri || !env->get || tj_suspend(tj))
		return 0;
	if (plugin_object_find(env, &jobset, &existing, err))
		return -1;
	if (existing && !jobset_suspended(existing))
		return 0; /* do not change a running job */
	map.name = workspace_configmap_name(&info->arena, info->name, w.digest);
	if (plugin_object_find(env, &map, &existing, err))
		return -1;
	if (existing)
		return 0;
	return error_set(err, ERR_NOT_FOUND,
			 "the TrainJob's workspace does not exist: ConfigMap %s; submit "
			 "the job again",
			 map.name);
}

const struct plugin plugin_workspace = {
	.name = "Workspace",
	.validate = validate,
	.edit[ENFORCE_POD_SPEC] = enforce_pod_spec,
	.build = build,
};
