/*
 * gpus.h - the GPUs that a local job may use.
 */
#ifndef CMD_GPUS_H
#define CMD_GPUS_H

#include "base/arena.h"
#include "base/json.h"

/*
 * Ids for CUDA_VISIBLE_DEVICES, ends with NULL: UUIDs (gpu/discover.h) if an object
 * requests GPUs and the driver answers, with broken devices excluded and reported on
 * stderr; otherwise the numbers of /dev/nvidia* (gpu/gpu.h).
 */
MUST_CHECK int gpus_for(struct arena *arena, const char *const **ret,
			const cJSON *objects, struct error *err);

#endif
