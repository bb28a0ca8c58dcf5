/*
 * cpu_wait.h - detect that this process's threads wait for CPUs.
 *
 * From /proc/self/task/TID/schedstat (Documentation/scheduler/sched-stats in Linux): how
 * long each thread was runnable but not running. Without that file the answer is no.
 */
#ifndef STORE_CPU_WAIT_H
#define STORE_CPU_WAIT_H

#include <stdbool.h>
#include <stdint.h>

/* { 0 } to begin. */
struct cpu_wait {
	int64_t ms, ran_ns, waited_ns;
	bool high;
};

/*
 * Since the last measurement, have the threads together waited longer than they ran, and
 * for at least half of the elapsed time? Measures every 200 ms; in between the last
 * answer is returned.
 */
bool cpu_wait_high(struct cpu_wait *s, int64_t now_ms);

#endif
