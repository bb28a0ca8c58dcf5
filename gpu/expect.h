/*
 * expect.h - the minimum speeds of a device, by its name.
 *
 * A document {devices: {NAME: {hostToDevice, deviceToHost, deviceToDevice, peer,
 * allReduce, jobAllReduce}}} in GB/s (10^9 bytes). The longest NAME with which the
 * device's name begins counts; MIG instances and other devices have no expectation. The
 * built-in document, thresholds.json, has half of the data sheets' bus and memory speeds.
 */
#ifndef GPU_EXPECT_H
#define GPU_EXPECT_H

#include "base/json.h"

cJSON *gpu_expect_builtin(void); /* the caller's; NULL: the file is invalid */

/*
 * The caller owns *ret. ERR_FORMAT: not JSON; ERR_INVALID: the message has the field and
 * the expected value.
 */
MUST_CHECK int gpu_expect_parse(cJSON **ret, const void *data, size_t len,
				struct error *err);

/* The expectation in GB/s for the device of that name; 0: none. */
double gpu_expected(const cJSON *expect, const char *device, const char *key);

#endif
