/*
 * health.h - grade a device by NVML's counters.
 */
#ifndef GPU_HEALTH_H
#define GPU_HEALTH_H

#include <stddef.h>

#include "base/json.h"

/* Grades of findings; also the exit codes of `kftrainer preflight`. */
enum gpu_grade {
	GPU_PASS = 0,
	GPU_WARNING = 10,
	GPU_RETRY = 20, /* may pass on a retry, or after a reset */
	GPU_FATAL = 30,
};

struct gpu_finding {
	enum gpu_grade grade;
	const char *check;   /* "ecc", "remapped-rows", ... of preflight */
	const char *message; /* the problem and what to do */
	int64_t value, expected;
};

enum { GPU_FINDINGS_MAX = 16 };

/* Fills in the findings about an element of "devices" (discover.h); returns how many. */
size_t gpu_findings(const cJSON *device, struct gpu_finding findings[GPU_FINDINGS_MAX]);

/* Why no job may use the device: it does not answer, or has a fatal finding; or NULL. */
const char *gpu_fault(const cJSON *device);

#endif
