/*
 * stall.h - does a job stand still? A sign of life is output or progress of any rank.
 *
 * Without a time of the user's, a job stalls after five times the longest time without a
 * sign so far, at least a minute, from the third progress report of a start on. A stall
 * counts as such a time, too: a pause that only looked like one is not taken for a stall
 * again.
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
	STALL_LATE_MS = 2000, /* a sign may be on its way: a rank gives one in a second */
};

/* { .after }: no start yet. */
struct stall {
	/*
	 * The user's time, five times that until the third progress report of a start; 0:
	 * none; < 0: nothing is a stall.
	 */
	int64_t after;
	int64_t last, longest;
	uint32_t reports; /* of this start */
};

void stall_start(struct stall *s, int64_t now);
void stall_sign(struct stall *s, uint32_t reports, int64_t now);
int64_t stall_due(const struct stall *s); /* when it is one, without a sign; -1: never */
void stall_found(struct stall *s, int64_t now);

#endif
