/* sdkcheck.c - find runtimes that the Python SDK cannot read (trainer/sdkcheck.h). */
#include "trainer/sdkcheck.h"

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "trainer/api.h"
#include "trainer/jobset.h"
#include "trainer/podspec.h"
#include "trainer/runtime.h"

#define MIG_PREFIX "nvidia.com/mig-"

/* Devices that the SDK can count; the first match counts. MIG: after the second. */
static const char *const devices[] = { "nvidia.com/gpu", "google.com/tpu", MIG_PREFIX,
				       "huawei.com/Ascend910", "cpu" };

/* The container that the SDK regards as the trainer. */
static const cJSON *trainer_container(const cJSON *runtime)
{
	const cJSON *rjob, *c;

	json_each(rjob, runtime_jobs(runtime)) {
		if (!rjob_ancestor(rjob))
			continue;
		c = json_find_const(pod_containers_const(rjob_pod_spec_const(rjob)),
				    "name", NODE);
		if (c)
			return c;
	}
	return NULL;
}

static size_t count_prefixed(const cJSON *map, const char *prefix)
{
	const cJSON *child;
	size_t n = 0;

	json_each(child, map)
		n += str_starts(child->string, prefix);
	return n;
}

static const cJSON *device_of(const cJSON *limits)
{
	const cJSON *child;

	for (size_t i = 0; i < N_ELEMENTS(devices); i++)
		json_each(child, limits)
			if (str_eq(devices[i], MIG_PREFIX)
				    ? str_starts(child->string, MIG_PREFIX)
				    : str_eq(child->string, devices[i]))
				return child;
	return NULL;
}

static const char *fault_of_limits(const cJSON *limits)
{
	const cJSON *device = device_of(limits);

	if (!limits)
		return NULL;
	if (!device)
		return "the limits of container \"node\" name none of nvidia.com/gpu, "
		       "google.com/tpu, nvidia.com/mig-*, huawei.com/Ascend910 and cpu";
	if (str_starts(device->string, MIG_PREFIX) &&
	    count_prefixed(limits, MIG_PREFIX) > 1)
		return "the limits of container \"node\" name several kinds of "
		       "nvidia.com/mig-*";
	return NULL;
}

static const char *fault_of(const cJSON *runtime, const cJSON *container)
{
	if (!runtime_ml_policy(runtime))
		return "spec.mlPolicy is missing";
	if (!container)
		return "no job labelled " LABEL_ANCESTOR " has a container \"node\"";
	if (!container_image(container))
		return "container \"node\" has no image";
	return fault_of_limits(container_limits(container));
}

static void add(cJSON *warnings, const char *text)
{
	cJSON_AddItemToArray(warnings, cJSON_CreateString(text));
}

void sdkcheck_runtime(const cJSON *runtime, cJSON *warnings)
{
	cleanup_arena struct arena arena = { 0 };
	const cJSON *container = trainer_container(runtime), *device;
	const char *fault;

	if (!meta_label(runtime, LABEL_FRAMEWORK))
		return;
	fault = fault_of(runtime, container);
	if (fault) {
		add(warnings,
		    arena_printf(&arena,
				 "list_runtimes() of the Python SDK will fail because "
				 "of this runtime: %s",
				 fault));
		return;
	}
	device = device_of(container_limits(container));
	if (cJSON_IsNumber(device))
		add(warnings,
		    arena_printf(&arena,
				 "write the limit %s of container \"node\" as a string: "
				 "the Python SDK reads a number as a fraction",
				 device->string));
}
