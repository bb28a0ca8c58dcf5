/*
 * retry.h - which failures are worth asking again, and when.
 */
#ifndef NET_RETRY_H
#define NET_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Without progress between them: pauses of 0.5, 1, 2, 4, 8 and 16 s. */
enum {
	RETRY_TRIES = 6,
	RETRY_LONGEST_MS = 10 * 60 * 1000,
	TELL_FROM_MS = 1500, /* pauses that people are told of */
	TELL_EVERY_MS = 5000,
};

bool retry_status(int status);             /* 408, 425, 429, 5xx but 501, 505 */
bool retry_error(const struct error *err); /* of http_do() */

/*
 * Milliseconds to wait after the try of that number (0: the first), with a quarter
 * of chance; at least what the server asked for (< 0: nothing), at most ten minutes.
 */
int64_t retry_pause(int tried, int64_t retry_after_ms);

/* "answers 503: the server has trouble", for people. Returns -1. */
int retry_fail(struct error *err, int status);

#endif
