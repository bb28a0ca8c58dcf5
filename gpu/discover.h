/*
 * discover.h - the NVIDIA devices of this machine, as NVML knows them.
 *
 * The document: {driver, cuda, nvml, devices, links}. A device: {index, uuid, name,
 * memory {total, used, free}, minor (of /dev/nvidiaN), computeCapability, mig, pcie, ecc, remappedRows or
 * retiredPages, throttle, nvlinks {active, total}, numaNode, cpus, processes, usable,
 * notUsable}; what a device or a driver does not know is absent. One that does not answer
 * has its index and {error}. `links` has a row of text a device, as nvidia-smi's topology
 * does: "NV4", "PIX", "SYS", "X" for itself. Memory is in bytes.
 */
#ifndef GPU_DISCOVER_H
#define GPU_DISCOVER_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/json.h"

enum { GPU_CALL_MS = 10000 }; /* how long a call of a library may take by default */

/* Where device files are: /dev, or the environment's KFTRAINER_GPU_DEV, for tests. */
const char *gpu_dev(void);

/* Is there any file nvidia*? Without one no helper is started. */
bool gpu_present(const char *dev);

/* "no NVIDIA GPU: ..." and which other vendor's device was seen: one line. */
const char *gpu_absence(struct arena *arena, const char *dev);

/*
 * Ask the driver. `call_ms` is how long one call may take. Devices that fail are in the
 * document; an error is about all of them: no library, no driver.
 */
MUST_CHECK int gpu_discover(cJSON **ret, const char *dev, int64_t call_ms,
			    struct error *err);

/*
 * The ids that local jobs may use, for CUDA_VISIBLE_DEVICES: UUIDs of devices and of MIG
 * instances, without those that cannot be used (their `usable` is false) or are broken
 * (gpu_fault()). `cuda_visible_devices` (NULL: not set) picks among them, by UUID, the
 * beginning of one, or CUDA's number. -1 with ERR_INVALID for a UUID that is none's.
 */
MUST_CHECK int gpu_ids(struct arena *arena, const char *const **ret, const cJSON *found,
		       const char *cuda_visible_devices, struct error *err);

/* CUDA_VISIBLE_DEVICES of the environment takes devices away: their `usable` is false. */
MUST_CHECK int gpu_mark_visible(cJSON *found, struct error *err);

#endif
