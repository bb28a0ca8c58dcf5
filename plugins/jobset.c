/*
 * jobset.c - build the JobSet, and the TrainJob's status from it (trainer/plugin.h).
 *
 * Follows upstream's plugins/jobset. Applies spec.initializer and spec.trainer to the
 * template that the other plugins have edited.
 */
#include "trainer/jobset.h"
#include "api/meta.h"
#include "base/str.h"
#include "plugins/common.h"
#include "plugins/plugins.h"
#include "trainer/api.h"
#include "trainer/podspec.h"
#include "trainer/runtime.h"
#include "trainer/trainjob.h"
#include "trainer/trainjob_status.h"

static void apply_initializer(const struct pod_set *ps, const char *name,
			      const cJSON *initializer)
{
	const char *uri = initializer_storage_uri(initializer);
	const char *secret = initializer_secret(initializer);
	cJSON *c = pod_container(ps->pod_spec, name);

	rjob_set_replicas(ps->rjob, 1);
	if (!initializer || !c)
		return;
	if (uri)
		container_set_env(c, STORAGE_URI_ENV, uri);
	container_merge_env(c, initializer_env(initializer));
	if (secret)
		container_env_from_secret(c, secret);
}

/* The job that serves a launcher which gets the command; it is labeled for the image. */
static bool is_mpi_node(struct info *info, const struct pod_set *ps)
{
	const struct pod_set *launcher = info_by_name(info, LAUNCHER);

	return policy_mpi(info->ml_policy) && str_eq(ps->name, NODE) && launcher &&
	       str_eq(launcher->ancestor, ANCESTOR_TRAINER);
}

static void apply_trainer(struct info *info, const struct pod_set *ps, const cJSON *tj)
{
	const cJSON *command = info->command ? info->command : tj_command(tj);
	const cJSON *args = info->args_used ? NULL : tj_args(tj);
	cJSON *node = pod_container(ps->pod_spec, NODE);

	rjob_set_replicas(ps->rjob, 1);
	if (!node)
		return;
	if (tj_image(tj))
		container_set_image(node, tj_image(tj));
	if (is_mpi_node(info, ps))
		return;
	if (command)
		container_set_command(node, command);
	if (args || info->args_used)
		container_set_args(node, args);
}

/* The job's variables come last and override those of JAX and MPI. */
static void apply_trainer_env(const struct info *info, const struct pod_set *ps,
			      const cJSON *tj)
{
	cJSON *node = pod_container(ps->pod_spec, NODE);

	if (node && pod_set_trains(info, ps))
		container_merge_env(node, tj_env(tj));
}

/* Prepend ps->runner to the command. An image's own command is unknown: left as it is. */
static void apply_runner(const struct pod_set *ps)
{
	cJSON *node = pod_container(ps->pod_spec, NODE);
	cleanup_json cJSON *words = cJSON_CreateArray();
	const cJSON *word;

	if (!ps->runner || !node || !cJSON_GetArraySize(container_command(node)))
		return;
	for (const char *const *first = ps->runner; *first; first++)
		cJSON_AddItemToArray(words, cJSON_CreateString(*first));
	json_each(word, container_command(node))
		cJSON_AddItemToArray(words, json_dup(word));
	container_set_command(node, words);
}

static void apply_trainjob(struct info *info, const cJSON *tj)
{
	for (size_t i = 0; i < info->n_pod_sets; i++) {
		const struct pod_set *ps = &info->pod_sets[i];

		for (int k = 0; k < N_INITIALIZERS; k++)
			if (str_eq(ps->ancestor, initializer_name[k]))
				apply_initializer(
					ps, initializer_name[k],
					tj_initializer(tj, (enum initializer)k));
		if (str_eq(ps->ancestor, ANCESTOR_TRAINER))
			apply_trainer(info, ps, tj);
		apply_trainer_env(info, ps, tj);
		apply_runner(ps);
	}
}

static void put_map(cJSON *jobset, const char *key, const cJSON *map)
{
	if (map->child)
		json_put(jobset, json_dup(map), "metadata", key);
}

static int build(const struct plugin_env *env, struct info *info, const cJSON *tj,
		 cJSON *objects, struct error *err)
{
	struct object_ref ref = { JOBSET_API_VERSION, JOBSET_KIND, info->ns, info->name };
	const cJSON *old;
	cJSON *jobset;

	if (plugin_object_find(env, &ref, &old, err))
		return -1;
	if (old && !tj_suspend(tj) && !jobset_suspended(old))
		return 0; /* do not change a running job */
	apply_trainjob(info, tj);
	jobset_set_suspend(info->jobset_spec, tj_suspend_node(tj));
	jobset = plugin_add_object(objects, tj, JOBSET_API_VERSION, JOBSET_KIND, "");
	put_map(jobset, "labels", info->labels);
	put_map(jobset, "annotations", info->annotations);
	json_put(jobset, json_dup(info->jobset_spec), "spec");
	return 0;
}

static int status(const struct plugin_env *env, const cJSON *tj, const cJSON *jobset,
		  cJSON *ret_status, struct error *err)
{
	status_of_jobset(ret_status, jobset);
	return 0;
}

const struct plugin plugin_jobset = {
	.name = "JobSet",
	.build = build,
	.status = status,
};
