/*
 * discover.h - describe the NVIDIA devices of this machine, by NVML.
 *
 * The document: {driver, cuda, nvml, devices, links}. A device: {index, uuid, name,
 * memory {total, used, free}, minor (of /dev/nvidiaN), computeCapability, mig, pcie, ecc,
 * remappedRows or retiredPages, throttle, nvlinks {active, total}, numaNode, cpus,
 * processes, usable, notUsable}; fields that a device or driver does not support are
 * absent. A device that does not answer has {index, error, usable: false}. `links` has a
 * row of texts for each
 * device, as nvidia-smi's topology: "NV4", "PIX", "SYS", "X" for itself. Memory is in
 * bytes.
 */
#ifndef GPU_DISCOVER_H
#define GPU_DISCOVER_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/json.h"

enum { GPU_CALL_MS = 10000 }; /* default time limit of a call of a library */

/* The directory of device files: /dev, or for tests $KFTRAINER_GPU_DEV. */
const char *gpu_dev(void);

/* Does `dev` have a file nvidia*? Otherwise no helper is started. */
bool gpu_present(const char *dev);

/* One line: "no NVIDIA GPU: ...", and the device of another vendor, if any. */
const char *gpu_absence(struct arena *arena, const char *dev);

/*
 * Reads the document from the driver; the caller owns *ret. `call_ms` limits each call of
 * a library. Devices that fail are in the document; -1 only if there is no library or
 * driver at all.
 */
MUST_CHECK int gpu_discover(cJSON **ret, const char *dev, int64_t call_ms,
			    struct error *err);

/*
 * *ret: the ids that local jobs may use, for CUDA_VISIBLE_DEVICES, in the arena: UUIDs of
 * devices and MIG instances, without unusable (`usable` is false) and broken ones
 * (gpu_fault()).
 * `cuda_visible_devices` (NULL: not set) selects among them by UUID, a prefix of one, or
 * CUDA's number. ERR_INVALID: an unknown UUID.
 */
MUST_CHECK int gpu_ids(struct arena *arena, const char *const **ret, const cJSON *found,
		       const char *cuda_visible_devices, struct error *err);

/* Sets `usable` to false for devices that $CUDA_VISIBLE_DEVICES excludes. */
MUST_CHECK int gpu_mark_visible(cJSON *found, struct error *err);

#endif
