/*
 * gpus.h - the GPUs that a local job may use.
 */
#ifndef CMD_GPUS_H
#define CMD_GPUS_H

#include "base/arena.h"
#include "base/json.h"

/*
 * *ret: ids for CUDA_VISIBLE_DEVICES, in the arena, ends with NULL. UUIDs
 * (gpu/discover.h) if an object requests GPUs and the driver answers, without broken
 * devices, which are reported on stderr; otherwise the ids of gpu_visible() (gpu/gpu.h).
 */
MUST_CHECK int gpus_for(struct arena *arena, const char *const **ret,
			const cJSON *objects, struct error *err);

#endif
