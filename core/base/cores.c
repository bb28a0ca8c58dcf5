/* cores.c - affinity and quotas (base/cores.h). */
#include "base/cores.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/str.h"

enum { MAX_PATH = 4096 };

static const char *text_of(struct arena *arena, const char *group, const char *name)
{
	return file_text(arena, path_join(arena, group, name));
}

static int64_t cores_of(long long quota, long long period)
{
	return quota > 0 && period > 0 ? (quota + period - 1) / period : 0;
}

/* cpu.max of version 2: "QUOTA PERIOD", or "max PERIOD". */
static int64_t quota_2(struct arena *arena, const char *group)
{
	long long quota = 0, period = 0;

	return sscanf(text_of(arena, group, "cpu.max"), "%18lld %18lld", &quota,
		      &period) == 2
		       ? cores_of(quota, period)
		       : 0;
}

static int64_t quota_1(struct arena *arena, const char *group)
{
	long long quota = 0, period = 0;

	return sscanf(text_of(arena, group, "cpu.cfs_quota_us"), "%18lld", &quota) == 1 &&
			       sscanf(text_of(arena, group, "cpu.cfs_period_us"),
				      "%18lld", &period) == 1
		       ? cores_of(quota, period)
		       : 0;
}

/* The minimum over the group and its ancestors; a container sees only some of them. */
static int64_t least(struct arena *arena, const char *root, const char *group,
		     int64_t (*quota)(struct arena *arena, const char *group))
{
	int64_t ret = 0, one;
	char path[MAX_PATH];

	snprintf(path, sizeof(path), "%s%s", root, group);
	do {
		one = quota(arena, path);
		ret = one && (!ret || one < ret) ? one : ret;
	} while (path_up(path, root));
	return ret;
}

int64_t cores_quota(const char *groups, const char *root)
{
	cleanup_arena struct arena arena = { 0 };
	char **lines = str_split(&arena, groups, '\n', NULL);
	int64_t ret = 0;

	/* "0::/GROUP", or "4:cpu,cpuacct:/GROUP" of version 1 */
	for (; *lines; lines++) {
		const char *names = strchr(*lines, ':');
		const char *group = names ? strchr(names + 1, ':') : NULL;
		int64_t one = 0;

		if (!group)
			continue;
		if (str_starts(*lines, "0::"))
			one = least(&arena, root, group + 1, quota_2);
		else if (str_starts(names, ":cpu:") || str_starts(names, ":cpu,"))
			one = least(&arena, arena_printf(&arena, "%s/cpu", root),
				    group + 1, quota_1);
		ret = one && (!ret || one < ret) ? one : ret;
	}
	return ret;
}

int64_t cores_usable(void)
{
	cleanup_arena struct arena arena = { 0 };
	int64_t n = 1, quota = cores_quota(file_text(&arena, "/proc/self/cgroup"),
					   "/sys/fs/cgroup");
	cpu_set_t set;

	CPU_ZERO(&set);
	if (!sched_getaffinity(0, sizeof(set), &set) && CPU_COUNT(&set) > 0)
		n = CPU_COUNT(&set);
	return quota && quota < n ? quota : n;
}
