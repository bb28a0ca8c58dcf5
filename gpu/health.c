/* health.c - grade a device's counters (gpu/health.h). */
#include "gpu/health.h"

#include "base/str.h"

static const struct counter {
	const char *check, *group, *key;
	enum gpu_grade grade;
	const char *message;
} counters[] = {
	{ "ecc", "ecc", "uncorrected", GPU_FATAL,
	  "uncorrectable ECC errors: drain the node and reset the device" },
	{ "remapped-rows", "remappedRows", "failed", GPU_FATAL,
	  "a memory row could not be remapped: replace the device" },
	{ "remapped-rows", "remappedRows", "pending", GPU_RETRY,
	  "row remapping is pending: reset the device" },
	{ "retired-pages", "retiredPages", "uncorrected", GPU_WARNING,
	  "memory pages are retired after uncorrectable errors: watch the device" },
};

static const struct limit {
	const char *check, *group, *now, *max, *message;
} limits[] = {
	{ "pcie", "pcie", "width", "maxWidth",
	  "the PCIe link has fewer lanes than the device: reseat it" },
	{ "nvlink", "nvlinks", "active", "total",
	  "NVLinks are down: check the fabric manager and reset the device" },
};

static const struct {
	const char *reason, *message;
} throttles[] = {
	{ "hw-slowdown", "clocks are halved (heat or power): check cooling and supply" },
	{ "hw-thermal", "clocks are reduced by heat: check cooling" },
	{ "hw-power-brake", "clocks are reduced by the power supply: check it" },
	{ "sw-thermal", "clocks are reduced by heat: check cooling" },
};

static void add(struct gpu_finding *list, size_t *n, struct gpu_finding finding)
{
	if (*n < GPU_FINDINGS_MAX)
		list[(*n)++] = finding;
}

static bool has(const cJSON *list, const char *word)
{
	const cJSON *item;

	json_each(item, list)
		if (cJSON_IsString(item) && str_eq(item->valuestring, word))
			return true;
	return false;
}

static void find_counters(const cJSON *device, struct gpu_finding *list, size_t *n)
{
	for (size_t i = 0; i < N_ELEMENTS(counters); i++) {
		const struct counter *c = &counters[i];
		int64_t value = json_int(device, 0, c->group, c->key);

		if (value > 0)
			add(list, n,
			    (struct gpu_finding){ c->grade, c->check, c->message, value,
						  0 });
	}
}

/* If all NVLinks are down, the machine does not use them, which is no problem. */
static void find_limits(const cJSON *device, struct gpu_finding *list, size_t *n)
{
	for (size_t i = 0; i < N_ELEMENTS(limits); i++) {
		const struct limit *l = &limits[i];
		int64_t now = json_int(device, 0, l->group, l->now);
		int64_t max = json_int(device, 0, l->group, l->max);

		if (now > 0 && now < max)
			add(list, n,
			    (struct gpu_finding){ GPU_WARNING, l->check, l->message, now,
						  max });
	}
}

size_t gpu_findings(const cJSON *device, struct gpu_finding findings[GPU_FINDINGS_MAX])
{
	const cJSON *reasons = json_get(device, "throttle");
	size_t n = 0;

	find_counters(device, findings, &n);
	find_limits(device, findings, &n);
	for (size_t i = 0; i < N_ELEMENTS(throttles); i++)
		if (has(reasons, throttles[i].reason))
			add(findings, &n,
			    (struct gpu_finding){ GPU_WARNING, "throttle",
						  throttles[i].message, 1, 0 });
	return n;
}

const char *gpu_fault(const cJSON *device)
{
	const char *error = json_str(device, "error");
	struct gpu_finding findings[GPU_FINDINGS_MAX];
	size_t n = gpu_findings(device, findings);

	for (size_t i = 0; i < n && !error; i++)
		if (findings[i].grade == GPU_FATAL)
			error = findings[i].message;
	return error;
}
