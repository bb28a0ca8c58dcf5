/*
 * gpus.h - the GPUs that a local job may use.
 */
#ifndef CMD_GPUS_H
#define CMD_GPUS_H

#include "base/arena.h"
#include "base/json.h"

/*
 * Ids for CUDA_VISIBLE_DEVICES, ends with NULL. Where an object requests GPUs and the
 * driver answers, UUIDs (gpu/discover.h); stderr names the devices that are left out because
 * they are broken. Elsewhere the numbers of /dev/nvidia* (gpu/gpu.h).
 */
MUST_CHECK int gpus_for(struct arena *arena, const char *const **ret,
			const cJSON *objects, struct error *err);

#endif
