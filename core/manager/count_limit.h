/*
 * count_limit.h - how often a TrainJob's status is written when only its numbers of pods
 * change.
 *
 * While no other TrainJob's status is written, each change is written at once, up to
 * COUNT_BURST of them and then one each COUNT_MS (a token bucket, as client-go's
 * flowcontrol). Otherwise a change is written COUNT_MS after the TrainJob's last write,
 * so that with many active TrainJobs one write covers several changes.
 */
#ifndef MANAGER_COUNT_LIMIT_H
#define MANAGER_COUNT_LIMIT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { COUNT_MS = 250, COUNT_BURST = 4 };

/* The writes of one TrainJob's status; { 0 }: none yet. */
struct count_bucket {
	int64_t written_ms; /* of the last write; 0: none */
	int64_t full_ms;    /* when the bucket is full again */
};

/* Shared by all TrainJobs and threads; { .lock = PTHREAD_MUTEX_INITIALIZER }. */
struct count_limit {
	pthread_mutex_t lock;
	const struct count_bucket *last; /* whose status was written last */
	int64_t last_ms, other_ms;       /* when; and the last write of any other's */
};

/* The ms that a change of pod counts alone must wait; 0: none. now: clock_ms(). */
int64_t count_limit_delay(struct count_limit *l, const struct count_bucket *b,
			  int64_t now);
/* Call after each write of a status; count_only: only numbers of pods changed. */
void count_limit_wrote(struct count_limit *l, struct count_bucket *b, bool count_only,
		       int64_t now);

#endif
