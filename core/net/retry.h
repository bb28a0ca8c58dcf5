/*
 * retry.h - failures of HTTP calls that are retried, and the pauses between tries.
 */
#ifndef NET_RETRY_H
#define NET_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* RETRY_TRIES retries: pauses of 0.5, 1, 2, 4, 8 and 16 s. */
enum {
	RETRY_TRIES = 6,
	RETRY_LONGEST_MS = 10 * 60 * 1000,
	REPORT_FROM_MS = 1500, /* shorter pauses are not reported */
	REPORT_EVERY_MS = 5000,
};

bool retry_status(int status);             /* 408, 425, 429, 5xx except 501, 505 */
bool retry_error(const struct error *err); /* of http_do() */

/*
 * Milliseconds to wait after the given try (0: the first), with 25 % jitter; at least
 * retry_after_ms, the server's Retry-After (< 0: none), at most ten minutes.
 */
int64_t retry_pause(int tried, int64_t retry_after_ms);

/* Fill err for an HTTP status. Returns -1. */
int retry_fail(struct error *err, int status);

#endif
