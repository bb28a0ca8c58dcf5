/*
 * expect.h - the minimum speeds of a device, by its name.
 *
 * A document {devices: {NAME: {hostToDevice, deviceToHost, deviceToDevice, peer,
 * allReduce, jobAllReduce}}} in GB/s (10^9 bytes); the longest NAME that the device's name begins with
 * counts, and MIG instances and devices without one have no expectation. The built-in one,
 * thresholds.json, is half of what the device's data sheet gives for its bus and memory.
 */
#ifndef GPU_EXPECT_H
#define GPU_EXPECT_H

#include "base/json.h"

cJSON *gpu_expect_builtin(void);

/* ERR_FORMAT, ERR_INVALID: the message has the place and what is expected there. */
MUST_CHECK int gpu_expect_parse(cJSON **ret, const void *data, size_t len,
				struct error *err);

/* The expectation for the device of that name; 0: none. */
double gpu_expected(const cJSON *expect, const char *device, const char *key);

#endif
