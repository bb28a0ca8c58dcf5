/*
 * account.h - account the time of a job: starting, productive, stalled, repeated, restarting.
 *
 * A start lasts until its first progress report, or, without reports, its first output. From
 * then on the time is productive, or repeated while progress is below its maximum.
 *
 * No I/O and no clock: times are milliseconds of any monotonic clock.
 */
#ifndef SUPERVISE_ACCOUNT_H
#define SUPERVISE_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "trainer/supervision.h"

struct account {
	int64_t ms[SUPERVISION_SLICES];
	int64_t since;  /* the time until then is in `ms` */
	int64_t output; /* the first activity of this start before its reports; -1: none */
	int64_t last;   /* the last activity */
	bool running;   /* the commands run */
	bool reported;  /* progress, in this start */
	bool higher;    /* the last report was above the maximum before it */
	enum supervision_slice waiting; /* the slice of the time while they do not run */
};

void account_init(struct account *a, int64_t now);
void account_start(struct account *a, int64_t now);
/* Output or a progress report (`report`); `higher`: it is above the maximum so far. */
void account_activity(struct account *a, bool report, bool higher, int64_t now);
void account_stall(struct account *a,
		   int64_t now); /* found now, since the last activity */
void account_stop(struct account *a, int64_t now);
/* The slices until `now`, in milliseconds. */
void account_read(const struct account *a, int64_t ret[SUPERVISION_SLICES], int64_t now);

#endif
