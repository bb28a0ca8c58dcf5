/*
 * account.h - where a job's time goes: starting, productive, stalled, repeated, restarting.
 *
 * A start lasts until its first progress report, without reports until its first output.
 * Then the time is productive, or repeated while progress is not higher than any before.
 *
 * No I/O and no clock: times are milliseconds of any monotonic clock.
 */
#ifndef SUPERVISE_ACCOUNT_H
#define SUPERVISE_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "trainer/supervision.h"

/* The commands run if `running`; what comes after `since` is in no slice yet. */
struct account {
	int64_t ms[SUPERVISION_SLICES];
	int64_t since, output, last; /* of this start: the first sign, the last; -1 */
	bool running, reported, higher;
	enum supervision_slice waiting; /* while they do not run */
};

void account_init(struct account *a, int64_t now);
void account_start(struct account *a, int64_t now);
/* A sign of life. `report`: of progress; `higher`: than any before. */
void account_sign(struct account *a, bool report, bool higher, int64_t now);
void account_stall(struct account *a, int64_t now); /* found now, since the last sign */
void account_stop(struct account *a, int64_t now);
/* In milliseconds until now. */
void account_read(const struct account *a, int64_t ret[SUPERVISION_SLICES], int64_t now);

#endif
