/*
 * gpu.h - which GPUs a process of this machine may use.
 */
#ifndef GPU_GPU_H
#define GPU_GPU_H

#include "base/arena.h"

/*
 * Ids to put into CUDA_VISIBLE_DEVICES, ends with NULL: those of the caller's own
 * CUDA_VISIBLE_DEVICES when it is set (also when empty: none), else 0..n-1 for
 * /dev/nvidia0..n-1.
 */
const char *const *gpu_visible(struct arena *arena);

#endif
