/* carry.c - add our program to pods, by an init container (trainer/carry.h). */
#include "trainer/carry.h"

#include "base/cleanup.h"
#include "trainer/podspec.h"

const char *const carry_links[] = { "mpi-launch", "mpi-worker", NULL };

const char *carry_image(const struct plugin_env *env)
{
	return env->image ? env->image : "kftrainer:" VERSION;
}

static void add_init_container(const struct plugin_env *env, cJSON *pod_spec,
			       const cJSON *beside)
{
	static const char *const words[] = { "runtime", "carry", "--to", CARRY_PATH };
	cleanup_json cJSON *args = cJSON_CreateStringArray(words, 4);
	cJSON *c = container_new(CARRY_CONTAINER, carry_image(env));
	cJSON *volume = podspec_volume(CARRY_VOLUME);

	container_set_args(c, args);
	container_harden(c);
	container_copy_user(c, beside);
	container_log_on_error(c);
	container_copy_size(c, beside);
	container_mount(c, CARRY_VOLUME, CARRY_PATH, false);
	cJSON_AddItemToArray(pod_init_containers(pod_spec), c);
	json_obj(volume, "emptyDir");
	pod_set_volume(pod_spec, volume);
}

int carry_into(const struct plugin_env *env, const struct pod_set *ps, cJSON *c,
	       struct error *err)
{
	const cJSON *ours = pod_init_container(ps->pod_spec, CARRY_CONTAINER);
	bool carried = container_mounts(ours, CARRY_VOLUME);

	if (!carried && pod_any_container(ps->pod_spec, CARRY_CONTAINER))
		return error_set(
			err, ERR_INVALID,
			"job %s of the runtime has a container \"" CARRY_CONTAINER
			"\" of its own",
			ps->name);
	if (!carried && pod_has_volume(ps->pod_spec, CARRY_VOLUME))
		return error_set(err, ERR_INVALID,
				 "job %s of the runtime has a volume \"" CARRY_VOLUME
				 "\" of its own",
				 ps->name);
	if (!carried)
		add_init_container(env, ps->pod_spec, c);
	container_mount(c, CARRY_VOLUME, CARRY_PATH, true);
	return 0;
}
