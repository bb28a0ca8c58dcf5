/*
 * thread.h - threads with a small stack, and waiting by the monotonic clock.
 */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* 1 MiB of stack, of which only what is used is memory; the caller joins it. */
MUST_CHECK int thread_start(pthread_t *ret, void *(*run)(void *ctx), void *ctx,
			    struct error *err);
/* The same; it gets no signals, which another thread waits for. */
MUST_CHECK int thread_start_quiet(pthread_t *ret, void *(*run)(void *ctx), void *ctx,
				  struct error *err);

void cond_init(pthread_cond_t *cond);
/* Wait until signalled, or until clock_ms() is `until`: then false. < 0: forever. */
bool cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t until);

#endif
