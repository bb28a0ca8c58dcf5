/*
 * fetch_pace.h - how many connections to use: the number doubles while that increases the
 * throughput. If the machine or its link is the bottleneck it stays low: files then
 * arrive in order, each on one connection, and are hashed as they arrive. It also stays
 * low while this process waits for CPUs. Private to the engine.
 */
#ifndef STORE_FETCH_PACE_H
#define STORE_FETCH_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* To begin: .begin_ms alone. */
struct pace {
	bool cpu_bound; /* set by the caller: waiting for CPUs, add no connections */
	int64_t begin_ms;
	int64_t ms, bytes; /* start of the measurement */
	int64_t due_ms;    /* and its end */
	int64_t next_ms;   /* try no more before */
	int64_t pause_ms;  /* after the last unsuccessful try */
	int64_t before;    /* bytes per second before the last doubling */
	unsigned from;     /* and the number then; 0: evaluated */
	bool warming_up;
};

/*
 * The number to use from now on, at most `max`. `bytes` have arrived in total, at `ms`.
 */
unsigned pace_adjust(struct pace *p, unsigned now, unsigned max, int64_t bytes,
		     int64_t ms);

#endif
