/*
 * gpu.h - which GPUs a process of this machine may use.
 */
#ifndef GPU_GPU_H
#define GPU_GPU_H

#include "base/arena.h"

/*
 * Ids to put into CUDA_VISIBLE_DEVICES, ends with NULL: those of the caller's own
 * CUDA_VISIBLE_DEVICES when it is set (also when empty: none), else 0..n-1 for
 * the n files /dev/nvidia0, ... that may be opened: CUDA numbers the devices it
 * can open. Ids may be UUIDs ("GPU-...", "MIG-..."), as the caller wrote them.
 */
const char *const *gpu_visible(struct arena *arena);

/* The same for a given value of the variable (NULL: not set) and directory of devices. */
const char *const *gpu_visible_from(struct arena *arena, const char *cuda_visible_devices,
				    const char *dev);

#endif
