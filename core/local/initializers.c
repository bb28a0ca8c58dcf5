/* initializers.c - which images are initializers, and their commands (initializers.h). */
#include "local/initializers.h"

#include <errno.h>
#include <stdlib.h>
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

static const char *initializer_of(struct arena *arena, const cJSON *container)
{
	const char *name = image_name(arena, container_image(container));
	const cJSON *args = container_args(container);
	const char *first = args && args->child ? args->child->valuestring : NULL;

	if (container_command(container) && container_command(container)->child)
		return NULL;
	if (str_eq(name, DATASET_INITIALIZER) || str_eq(first, "initialize-dataset"))
		return "initialize-dataset";
	if (str_eq(name, MODEL_INITIALIZER) || str_eq(first, "initialize-model"))
		return "initialize-model";
	return NULL;
}

static void use_this_program(cJSON *containers, const char *self)
{
	cJSON *c;

	json_each(c, containers) {
		cleanup_arena struct arena arena = { 0 };
		const char *command = initializer_of(&arena, c);
		const char *const argv[] = { self, command };
		cleanup_json cJSON *list =
			command ? cJSON_CreateStringArray(argv, 2) : NULL;
		cleanup_json cJSON *none = cJSON_CreateArray();

		if (!list)
			continue;
		container_set_command(c, list);
		container_set_args(c, none);
	}
}

int initializers_map(cJSON *objects, struct error *err)
{
	cleanup_free char *self = realpath("/proc/self/exe", NULL);
	cJSON *object, *rjob;

	if (!self)
		return error_errno(err, errno, "/proc/self/exe");
	json_each(object, objects) {
		if (!str_eq(json_str(object, "kind"), "JobSet"))
			continue;
		json_each(rjob, jobset_jobs(json_get(object, "spec"))) {
			use_this_program(pod_containers(rjob_pod_spec(rjob)), self);
			use_this_program(pod_init_containers(rjob_pod_spec(rjob)), self);
		}
	}
	return 0;
}
