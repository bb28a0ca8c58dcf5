/*
 * cache.c - run the data cache in pods of the job (trainer/plugin.h).
 *
 * Not in upstream, whose initializer creates a LeaderWorkerSet, as ours does for a
 * runtime without CACHE_ANNOTATION (core/client/cache_start.c). Here the pods of the job
 * labelled dataset-initializer are the cache: index 0 is the head. They run while the
 * nodes read, so nodes wait until they are Ready, and the JobSet succeeds with its nodes.
 * Upstream's clients find the head by the same Service, "<TrainJob>-cache-service".
 *
 * The settings are the initializer's variables that the Python SDK sets.
 */
#include "api/meta.h"
#include "api/quantity.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "plugins/common.h"
#include "plugins/plugins.h"
#include "trainer/api.h"
#include "trainer/cache_names.h"
#include "trainer/carry.h"
#include "trainer/jobset.h"
#include "trainer/podspec.h"
#include "trainer/runtime.h"
#include "trainer/trainjob.h"

#define ENV_PATH "spec.initializer.dataset.env"

enum {
	DEFAULT_SIZE = 3, /* as in upstream */
	WORKERS_MAX = 256 * 1024,
};

/* The job's variable, else the runtime's; NULL: neither has a literal value. */
static const char *setting(const cJSON *tj, const cJSON *container, const char *name)
{
	const cJSON *env = initializer_env(tj_initializer(tj, INIT_DATASET));

	if (json_find_const(env, "name", name))
		return podspec_env_value(env, name);
	return podspec_env_value(container_env(container), name);
}

/* *ret: the cache's pods, or NULL if the runtime has no such cache. */
static int find(struct info *info, struct pod_set **ret, cJSON **ret_container,
		struct error *err)
{
	bool in_pods;

	*ret = NULL;
	*ret_container = NULL;
	if (cache_in_pods(&in_pods, info->annotations, err))
		return -1;
	if (!in_pods)
		return 0;
	*ret = info_by_ancestor(info, DATASET_INITIALIZER);
	*ret_container =
		*ret ? pod_container((*ret)->pod_spec, DATASET_INITIALIZER) : NULL;
	if (*ret_container)
		return 0;
	return error_set(err, ERR_INVALID,
			 CACHE_ANNOTATION
			 ": the runtime has no job labelled " DATASET_INITIALIZER
			 " with a container of that name");
}

static int read_size(int64_t *ret, const cJSON *tj, const cJSON *container,
		     struct error *err)
{
	const char *text = setting(tj, container, CACHE_SIZE_ENV);

	*ret = DEFAULT_SIZE;
	if (!text || !*text)
		return 0;
	if (str_int(ret, text, CACHE_MIN_SIZE, CACHE_MAX_SIZE, err))
		return error_wrap(err, CACHE_SIZE_ENV);
	return 0;
}

/* ---- admission ---- */

static bool knows_table(const cJSON *tj, const cJSON *container)
{
	const cJSON *dataset = tj_initializer(tj, INIT_DATASET);
	const cJSON *own =
		json_find_const(initializer_env(dataset), "name", CACHE_TABLE_ENV);

	return own || initializer_secret(dataset) || container_has_env_from(container) ||
	       json_find_const(container_env(container), "name", CACHE_TABLE_ENV);
}

static void check_size_of(const cJSON *tj, const char *name, struct field_errors *errs)
{
	const cJSON *env = initializer_env(tj_initializer(tj, INIT_DATASET));
	const char *text = podspec_env_value(env, name);
	struct error err = { 0 };
	struct quantity q;

	if (text && *text && quantity_parse(&q, text, &err))
		field_error_add(errs, FIELD_INVALID, ENV_PATH, NULL, "%s: %s", name,
				err.msg);
}

static void validate(const struct plugin_env *env, struct info *info, const cJSON *old,
		     const cJSON *tj, struct field_errors *errs)
{
	struct error err = { 0 };
	struct pod_set *ps;
	cJSON *container;
	int64_t size;

	if (find(info, &ps, &container, &err))
		field_error_add(errs, FIELD_INVALID, "spec.runtimeRef", NULL, "%s",
				err.msg);
	if (!container)
		return;
	if (read_size(&size, tj, container, &err))
		field_error_add(errs, FIELD_INVALID, ENV_PATH, NULL, "%s", err.msg);
	check_size_of(tj, CACHE_WORKER_CPU_ENV, errs);
	check_size_of(tj, CACHE_WORKER_MEM_ENV, errs);
	if (tj_initializer(tj, INIT_DATASET) && !knows_table(tj, container))
		field_error_add(errs, FIELD_REQUIRED, ENV_PATH, NULL,
				CACHE_TABLE_ENV
				" says which table the data cache serves");
}

/* ---- editing the template ---- */

/* "tj-dataset-initializer-0-1.tj:50051,...": all pods but the first. */
static int add_workers(struct info *info, const struct pod_set *ps, cJSON *container,
		       int64_t size, struct error *err)
{
	cleanup_buf struct buf list = { .max = WORKERS_MAX };

	for (int64_t i = 1; i < size; i++)
		buf_printf(&list, "%s%s-%s-0-%lld.%s:%d", i > 1 ? "," : "", info->name,
			   ps->name, (long long)i, info->subdomain, CACHE_PORT);
	if (buf_check(&list, "the list of workers of the data cache", err))
		return -1;
	container_set_env(container, CACHE_WORKERS_ENV, (const char *)list.data);
	return 0;
}

/* Head and workers share a pod template; it gets the resources of a worker. */
static void set_resources(const cJSON *tj, cJSON *container)
{
	const struct {
		const char *env, *resource;
	} rows[] = {
		{ CACHE_WORKER_CPU_ENV, "cpu" },
		{ CACHE_WORKER_MEM_ENV, "memory" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const char *value = setting(tj, container, rows[i].env);

		if (value && *value)
			container_set_resource(container, rows[i].resource, value);
	}
}

static void wait_for_cache(struct info *info, const struct pod_set *cache)
{
	cJSON *nodes = cJSON_CreateArray();

	for (size_t i = 0; i < info->n_pod_sets; i++) {
		const struct pod_set *ps = &info->pod_sets[i];

		if (!str_eq(ps->ancestor, ANCESTOR_TRAINER))
			continue;
		rjob_set_depends_ready(ps->rjob, cache->name);
		cJSON_AddItemToArray(nodes, cJSON_CreateString(ps->name));
	}
	jobset_default_success(info->jobset_spec, nodes);
}

static int enforce_ml_policy(const struct plugin_env *env, struct info *info,
			     const cJSON *tj, struct error *err)
{
	struct pod_set *ps;
	cJSON *container;
	int64_t size;

	if (find(info, &ps, &container, err))
		return -1;
	if (!ps)
		return 0;
	if (read_size(&size, tj, container, err) ||
	    add_workers(info, ps, container, size, err))
		return -1;
	pod_set_set_count(ps, size);
	set_resources(tj, container);
	if (!container_image(container))
		container_set_image(container, carry_image(env));
	ps->in_gang =
		false; /* in one gang, nodes would wait for these pods and block them */
	wait_for_cache(info, ps);
	return 0;
}

/* ---- objects ---- */

static int build(const struct plugin_env *env, struct info *info, const cJSON *tj,
		 cJSON *objects, struct error *err)
{
	struct pod_set *ps;
	cJSON *container, *service;

	if (find(info, &ps, &container, err))
		return -1;
	if (!ps)
		return 0;
	service = plugin_add_object(objects, tj, "v1", "Service", CACHE_SERVICE_SUFFIX);
	cache_service_spec(service);
	json_put_str(service, info->name, "spec", "selector",
		     "jobset.sigs.k8s.io/jobset-name");
	json_put_str(service, ps->name, "spec", "selector",
		     "jobset.sigs.k8s.io/replicatedjob-name");
	json_put_str(service, "0", "spec", "selector",
		     "batch.kubernetes.io/job-completion-index");
	return 0;
}

const struct plugin plugin_cache = {
	.name = "Cache",
	.validate = validate,
	.edit[ENFORCE_ML_POLICY] = enforce_ml_policy,
	.build = build,
};
