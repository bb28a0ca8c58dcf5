/*
 * preflight.c - check the nodes of a job before it starts (trainer/plugin.h).
 *
 * Not in upstream. With PREFLIGHT_ANNOTATION, the trainer's pods have an init container
 * that runs `kftrainer preflight` with the image, variables, volumes and resources of the
 * container "node". "warn": whatever it finds, the job starts.
 */
#include <inttypes.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "plugins/common.h"
#include "plugins/plugins.h"
#include "plugins/supervise.h"
#include "trainer/api.h"
#include "trainer/carry.h"
#include "trainer/podspec.h"
#include "trainer/preflight_spec.h"
#include "trainer/runtime.h"
#include "trainer/supervise_spec.h"
#include "trainer/trainjob.h"

#define RENDEZVOUS_PORT "29400"
/* Not those that need NVIDIA's libraries of the image: they may be of Python packages. */
#define GPU_CHECKS ",devices,health,memory,bandwidth,peers"
#define WAIT       "10m" /* for the other nodes, whose images may be pulled first */

static void validate(const struct plugin_env *env, struct info *info, const cJSON *old,
		     const cJSON *tj, struct field_errors *errs)
{
	enum preflight_mode mode;
	struct error err = { 0 };

	if (preflight_mode_of(&mode, tj, info->annotations, &err))
		field_error_add(errs, FIELD_INVALID, "metadata.annotations", NULL, "%s",
				err.msg);
}

static void add(cJSON *words, const char *word)
{
	cJSON_AddItemToArray(words, cJSON_CreateString(word));
}

static void add_option(cJSON *words, const char *name, const char *value)
{
	add(words, name);
	add(words, value);
}

static void add_number(struct info *info, cJSON *words, const char *name, int64_t n)
{
	add_option(words, name, arena_printf(&info->arena, "%" PRId64, n));
}

/* Links are measured when all pods of the job start together, and know each other. */
static bool has_links(struct info *info, const cJSON *tj, const struct pod_set *ps)
{
	struct supervise_spec spec;

	return str_eq(ps->ancestor, ANCESTOR_TRAINER) && pod_set_count(ps) > 1 &&
	       !policy_mpi(info->ml_policy) && !policy_flux(info->ml_policy) &&
	       !supervise_spec_of(&spec, tj, info->annotations, IGNORED) && !spec.on;
}

static void add_volumes(cJSON *words, const cJSON *pod_spec, const cJSON *node)
{
	cleanup_json cJSON *paths = container_writable_paths(pod_spec, node);
	const char *shm = container_shm_size(pod_spec, node);
	const cJSON *path;

	json_each(path, paths)
		add_option(words, "--mount", path->valuestring);
	if (shm)
		add_option(words, "--shm", shm);
}

/* The caller's. */
static cJSON *command_of(struct info *info, const cJSON *tj, const struct pod_set *ps,
			 const cJSON *node, enum preflight_mode mode)
{
	cJSON *words = cJSON_CreateArray();
	int64_t gpus = info_gpus(info, NULL);

	add(words, CARRY_PATH "/" CARRY_PROGRAM);
	add(words, "preflight");
	add(words, "--check");
	add(words, gpus > 0 ? "mounts,shm,names,ports,links,clocks" GPU_CHECKS
			    : "mounts,shm,names,ports,links,clocks");
	if (mode == PREFLIGHT_WARN)
		add(words, "--warn");
	add_volumes(words, ps->pod_spec, node);
	if (gpus > 0) {
		add(words, "--quick");
		add_number(info, words, "--gpus", gpus);
	}
	if (has_links(info, tj, ps)) {
		add_number(info, words, "--nodes", pod_set_count(ps));
		add_option(words, "--leader",
			   arena_printf(&info->arena, "%s:" RENDEZVOUS_PORT,
					info_lead_host(info)));
		add_option(words, "--job-key", SUPERVISE_KEY_PATH);
		add_option(words, "--deadline", WAIT);
	}
	return words;
}

static int add_check(const struct plugin_env *env, struct info *info, const cJSON *tj,
		     struct pod_set *ps, enum preflight_mode mode, struct error *err)
{
	cJSON *node = pod_container(ps->pod_spec, NODE), *c;
	cleanup_json cJSON *command = NULL;

	if (!node)
		return 0;
	if (pod_any_container(ps->pod_spec, PREFLIGHT_CONTAINER))
		return error_set(err, ERR_INVALID,
				 "job %s of the runtime has a container "
				 "\"" PREFLIGHT_CONTAINER "\" of its own",
				 ps->name);
	command = command_of(info, tj, ps, node, mode);
	c = container_beside(node, PREFLIGHT_CONTAINER);
	if (tj_image(tj))
		container_set_image(c, tj_image(tj));
	container_merge_env(c, tj_env(tj));
	container_set_command(c, command);
	if (carry_into(env, ps, c, err) ||
	    (has_links(info, tj, ps) && supervise_mount_key(info, ps, c, err))) {
		cJSON_Delete(c);
		return -1;
	}
	cJSON_AddItemToArray(pod_init_containers(ps->pod_spec), c);
	return 0;
}

static int enforce_pod_spec(const struct plugin_env *env, struct info *info,
			    const cJSON *tj, struct error *err)
{
	enum preflight_mode mode;

	if (preflight_mode_of(&mode, tj, info->annotations, err))
		return -1;
	for (size_t i = 0; mode && i < info->n_pod_sets; i++)
		if (pod_set_trains(info, &info->pod_sets[i]) &&
		    add_check(env, info, tj, &info->pod_sets[i], mode, err))
			return -1;
	return 0;
}

const struct plugin plugin_preflight = {
	.name = "Preflight",
	.validate = validate,
	.edit[ENFORCE_POD_SPEC] = enforce_pod_spec,
};
