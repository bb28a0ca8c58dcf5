/*
 * health.h - what is wrong with a device, by what NVML counts of it.
 */
#ifndef GPU_HEALTH_H
#define GPU_HEALTH_H

#include <stddef.h>

#include "base/json.h"

/* How bad: also the exit codes of `kftrainer preflight`. */
enum gpu_grade {
	GPU_PASS = 0,
	GPU_WARNING = 10,
	GPU_RETRY = 20, /* may pass when it is tried again, or after a reset */
	GPU_FATAL = 30,
};

struct gpu_finding {
	enum gpu_grade grade;
	const char *check;   /* "ecc", "remapped-rows", ... of preflight */
	const char *message; /* and what to do */
	int64_t value, expected;
};

enum { GPU_FINDINGS_MAX = 16 };

/* Of one element of "devices" in discover.h's document. Returns how many. */
size_t gpu_findings(const cJSON *device, struct gpu_finding findings[GPU_FINDINGS_MAX]);

/* Why no job should get it, or NULL: it does not answer, or has a fatal finding. */
const char *gpu_fault(const cJSON *device);

#endif
