/*
 * threads.h - the program's threads as coroutines of a schedule, one of which runs at a
 * time.
 *
 * thread_start(), cond_wait_until(), pthread_cond_signal(), pthread_join(), poll(),
 * eventfd(), timerfd_create(), stop.h, clocks and pauses of the program are those here: a thread
 * that waits gives way to the next event of the schedule. A thread that was woken runs
 * some time later, which the seed decides. Mutexes are the real ones: no thread waits
 * with one locked but the one that it waits with.
 */
#ifndef SIM_THREADS_H
#define SIM_THREADS_H

#include "tests/sim/events.h"

/* A process: its threads run until it is killed. Freed at the end of the schedule. */
struct process;
struct process *process_start(struct sim *s, void (*main)(void *ctx), void *ctx);
void process_stop(struct process *p); /* its stop_requested() is true from now on */
void process_freeze(struct process *p, int64_t ms); /* no step of it runs meanwhile */
/* No step of it runs any more; when a thread of it calls this, it does not return. */
void process_kill(struct process *p);

void thread_pause(int64_t ms); /* of the thread that calls it */
/*
 * From now on, what this thread waits for ends late by up to `ms`, as if the network were
 * slow; and no wait ends for its time alone before least_ms, if others do not end it.
 */
void thread_slow(int64_t ms, int64_t least_ms);
bool thread_runs(void); /* does a thread call this, or an event? */
/* Where pthread_mutex_lock() is the one here: others run before that share of its calls. */
void thread_preempt(int percent);

#endif
