/* gpus.c - find the GPUs that a local job may use (cmd/gpus.h). */
#include "cmd/gpus.h"

#include <inttypes.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "gpu/discover.h"
#include "gpu/gpu.h"
#include "gpu/health.h"

/* Is there a member nvidia.com/gpu at any depth: requests, limits, any container? */
static bool requests_gpu(const cJSON *node)
{
	const cJSON *child;

	if (node && str_eq(node->string, "nvidia.com/gpu"))
		return true;
	json_each(child, node)
		if (requests_gpu(child))
			return true;
	return false;
}

static void complain_of_faults(const cJSON *found)
{
	const cJSON *device;

	json_each(device, json_get(found, "devices")) {
		const char *fault = gpu_fault(device), *uuid = json_str(device, "uuid");

		if (fault)
			cmd_complain("submit", "GPU %" PRId64 "%s%s is not used: %s",
				     json_int(device, 0, "index"), uuid ? " " : "",
				     uuid ? uuid : "", fault);
	}
}

int gpus_for(struct arena *arena, const char *const **ret, const cJSON *objects,
	     struct error *err)
{
	cleanup_json cJSON *found = NULL;

	*ret = gpu_visible(arena);
	if (!requests_gpu(objects) || !gpu_present(gpu_dev()))
		return 0;
	if (gpu_discover(&found, gpu_dev(), GPU_CALL_MS, err)) {
		cmd_complain("submit", "using the GPUs of %s/nvidia*: %s", gpu_dev(),
			     err->msg);
		return 0;
	}
	complain_of_faults(found);
	return gpu_ids(arena, ret, found, getenv("CUDA_VISIBLE_DEVICES"), err);
}
