/*
 * gpu.h - the GPUs that this process may use.
 */
#ifndef GPU_GPU_H
#define GPU_GPU_H

#include "base/arena.h"

/*
 * Ids for CUDA_VISIBLE_DEVICES, in the arena, ends with NULL: the ids of this process's
 * own CUDA_VISIBLE_DEVICES if it is set (empty: none), else 0..n-1 for the n files
 * /dev/nvidia0, ... that may be opened: CUDA numbers the devices that it can open. Ids
 * may be UUIDs ("GPU-...", "MIG-..."), as in the variable.
 */
const char *const *gpu_visible(struct arena *arena);

/* The same for a given value of the variable (NULL: not set) and directory of devices. */
const char *const *gpu_visible_from(struct arena *arena, const char *cuda_visible_devices,
				    const char *dev);

#endif
