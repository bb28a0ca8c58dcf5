/*
 * cpu_wait.h - do this process's threads wait for a processor?
 *
 * From /proc/self/task/TID/schedstat (Documentation/scheduler/sched-stats in Linux):
 * how long each thread was ready to run and did not. Where there is none, nobody waits.
 */
#ifndef STORE_CPU_WAIT_H
#define STORE_CPU_WAIT_H

#include <stdbool.h>
#include <stdint.h>

/* { 0 } to begin; the last look, and what it saw. */
struct cpu_wait {
	int64_t ms, ran_ns, waited_ns;
	bool high;
};

/*
 * Have the threads waited longer than they ran since the last look that counted, and for
 * half of that time together? Looks every 200 ms; in between the answer is the last.
 */
bool cpu_wait_high(struct cpu_wait *s, int64_t now_ms);

#endif
