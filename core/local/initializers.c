/*
 * initializers.c - recognize initializers and set their commands (local/initializers.h).
 */
#include "local/initializers.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"
#include "trainer/api.h"
#include "trainer/jobset.h"
#include "trainer/podspec.h"

/* "registry/path/NAME:tag@digest" */
static const char *image_name(struct arena *arena, const char *image)
{
	const char *base = path_base(image ? image : "");

	return str_slice(arena, base, strcspn(base, ":@"));
}

/* The container's command: by the image's name, or by its first argument. */
static const char *initializer_of(const char *image, const char *first)
{
	if (str_eq(image, DATASET_INITIALIZER) || str_eq(first, "initialize-dataset"))
		return "initialize-dataset";
	if (str_eq(image, MODEL_INITIALIZER) || str_eq(first, "initialize-model"))
		return "initialize-model";
	return NULL;
}

/*
 * Upstream's cache initializer creates a LeaderWorkerSet in the cluster of the user's
 * kubeconfig.
 */
static int refuse_cache(const cJSON *container, struct error *err)
{
	const char *uri = podspec_env_value(container_env(container), STORAGE_URI_ENV);

	if (!uri || !str_starts(uri, "cache://"))
		return 0;
	return error_set(err, ERR_UNSUPPORTED,
			 "%s needs LeaderWorkerSet, which only a cluster has; on this "
			 "machine use a runtime with the annotation " CACHE_ANNOTATION
			 ", such as torch-distributed-with-cache-jobs",
			 uri);
}

/* Runtimes start these by arguments alone, in this program's image. */
static const char *const others[] = { "cache-serve", "export-model", NULL };

static int use_this_program(cJSON *c, const char *self, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const cJSON *args = container_args(c);
	const char *first = args && args->child ? args->child->valuestring : NULL;
	const char *command =
		initializer_of(image_name(&arena, container_image(c)), first);
	const char *const argv[] = { self, command };
	cleanup_json cJSON *list = cJSON_CreateStringArray(argv, command ? 2 : 1);
	cleanup_json cJSON *none = cJSON_CreateArray();

	if (container_command(c) && container_command(c)->child)
		return 0;
	if (command) {
		container_set_args(c, none);
		container_set_command(c, list);
		return refuse_cache(c, err);
	}
	if (first && str_in(first, others))
		container_set_command(c, list);
	return 0;
}

static int use_in(cJSON *containers, const char *self, struct error *err)
{
	cJSON *c;

	json_each(c, containers)
		if (use_this_program(c, self, err))
			return -1;
	return 0;
}

int initializers_map(cJSON *objects, struct error *err)
{
	cleanup_free char *self = path_of_program(err);
	cJSON *object, *rjob;

	if (!self)
		return -1;
	json_each(object, objects) {
		if (!str_eq(json_str(object, "kind"), "JobSet"))
			continue;
		json_each(rjob, jobset_jobs(json_get(object, "spec"))) {
			if (use_in(pod_containers(rjob_pod_spec(rjob)), self, err) ||
			    use_in(pod_init_containers(rjob_pod_spec(rjob)), self, err))
				return -1;
		}
	}
	return 0;
}
