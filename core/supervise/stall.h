/*
 * stall.h - detect that a job stalls: no activity, which is output or progress of any rank.
 *
 * If the user sets no limit, it is five times the longest pause between activities so far,
 * at least a minute, and applies after the third progress report of a start. A detected
 * stall counts as a pause, so that a long pause is not taken for a stall twice.
 *
 * No I/O and no clock: times are milliseconds of any monotonic clock.
 */
#ifndef SUPERVISE_STALL_H
#define SUPERVISE_STALL_H

#include <stdint.h>

enum {
	STALL_LEAST_MS = 60 * 1000,
	STALL_TIMES = 5,
	STALL_REPORTS = 3,
	STALL_LATE_MS =
		2000, /* for activity in transit: each rank sends it once a second */
};

/* { .after = ... } to begin. */
struct stall {
	/*
	 * The user's limit, multiplied by five until the third progress report of a start; 0:
	 * none; < 0: never a stall.
	 */
	int64_t after;
	int64_t last;     /* the last activity */
	int64_t longest;  /* the longest pause */
	uint32_t reports; /* of this start */
};

void stall_start(struct stall *s, int64_t now);
void stall_activity(struct stall *s, uint32_t reports, int64_t now);
int64_t stall_due(
	const struct stall *s); /* when it is one, without a activity; -1: never */
void stall_found(struct stall *s, int64_t now);

#endif
