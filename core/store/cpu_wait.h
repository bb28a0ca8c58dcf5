/*
 * cpu_wait.h - do this process's threads wait for a CPU?
 *
 * From /proc/self/task/TID/schedstat (Documentation/scheduler/sched-stats in Linux): how
 * long each thread was runnable and did not run. Without that file the answer is no.
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
 * Since the last measurement, have the threads waited longer than they ran, and for half
 * of that time together? Measures every 200 ms; in between the answer stays.
 */
bool cpu_wait_high(struct cpu_wait *s, int64_t now_ms);

#endif
