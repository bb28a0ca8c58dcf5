/*
 * cores.h - how many processors this process may use.
 */
#ifndef BASE_CORES_H
#define BASE_CORES_H

#include <stdint.h>

/*
 * The cores on which this process may run (sched_setaffinity(2)), or fewer by the CPU quota of
 * its control groups (docker run --cpus, a pod's limits.cpu), rounded up. At least 1.
 */
int64_t cores_usable(void);

/*
 * The smallest quota of a process whose /proc/self/cgroup is `groups`, below `root`, where
 * control groups are mounted (/sys/fs/cgroup); 0: none.
 */
int64_t cores_quota(const char *groups, const char *root);

#endif
