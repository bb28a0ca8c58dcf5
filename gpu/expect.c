/* expect.c - read the thresholds of preflight (gpu/expect.h). */
#include "gpu/expect.h"

#include <string.h>

#include "base/str.h"

extern const char gpu_thresholds[], gpu_thresholds_end[]; /* in expect.S */

static const char *const keys[] = { "hostToDevice",
				    "deviceToHost",
				    "deviceToDevice",
				    "peer",
				    "allReduce",
				    "jobAllReduce",
				    NULL };

static int check_device(const cJSON *device, struct error *err)
{
	const cJSON *value;

	if (!cJSON_IsObject(device))
		return error_set(err, ERR_INVALID, "devices.%.80s: expected an object",
				 device->string);
	json_each(value, device) {
		if (!str_in(value->string, keys))
			return error_set(err, ERR_INVALID,
					 "devices.%.80s.%.40s: unknown; expected one of "
					 "hostToDevice, deviceToHost, deviceToDevice, "
					 "peer, allReduce, jobAllReduce",
					 device->string, value->string);
		if (!cJSON_IsNumber(value) || !(value->valuedouble > 0))
			return error_set(
				err, ERR_INVALID,
				"devices.%.80s.%.40s: expected a number of GB/s above 0",
				device->string, value->string);
	}
	return 0;
}

static int check(const cJSON *doc, struct error *err)
{
	const cJSON *devices = json_get(doc, "devices"), *item;

	json_each(item, doc)
		if (!str_eq(item->string, "devices"))
			return error_set(err, ERR_INVALID,
					 "%.40s: unknown; expected devices",
					 item->string ? item->string : "a list");
	if (!cJSON_IsObject(devices))
		return error_set(err, ERR_INVALID,
				 "devices: expected an object of device names");
	json_each(item, devices)
		if (check_device(item, err))
			return -1;
	return 0;
}

int gpu_expect_parse(cJSON **ret, const void *data, size_t len, struct error *err)
{
	cJSON *doc = NULL;

	if (json_parse(&doc, data, len, err))
		return -1;
	if (check(doc, err)) {
		cJSON_Delete(doc);
		return -1;
	}
	*ret = doc;
	return 0;
}

cJSON *gpu_expect_builtin(void)
{
	cJSON *doc = NULL;
	struct error err;

	if (gpu_expect_parse(&doc, gpu_thresholds,
			     (size_t)(gpu_thresholds_end - gpu_thresholds), &err))
		return NULL;
	return doc;
}

double gpu_expected(const cJSON *expect, const char *device, const char *key)
{
	const cJSON *row, *best = NULL, *value;

	json_each(row, json_get(expect, "devices"))
		if (device && str_starts(device, row->string) &&
		    (!best || strlen(row->string) > strlen(best->string)))
			best = row;
	value = best && !strstr(device, " MIG ") ? json_member(best, key) : NULL;
	return cJSON_IsNumber(value) ? value->valuedouble : 0;
}
