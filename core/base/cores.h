/*
 * cores.h - how many processors this process may use.
 */
#ifndef BASE_CORES_H
#define BASE_CORES_H

#include <stdint.h>

/*
 * Those that it may run on (sched_setaffinity(2)), or fewer if a quota of its control
 * groups gives no more time, as docker run --cpus and limits.cpu of a pod set it: a part
 * of one counts as one. At least 1.
 */
int64_t cores_usable(void);

/*
 * The smallest quota of a process whose /proc/self/cgroup is `groups`, below `root`, where
 * control groups are mounted (/sys/fs/cgroup); 0: none.
 */
int64_t cores_quota(const char *groups, const char *root);

#endif
