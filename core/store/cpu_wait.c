/* Measures how long threads wait for CPUs; see cpu_wait.h. */
#include "store/cpu_wait.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"

enum { LOOK_MS = 200, SHARE = 2, NS_PER_MS = 1000000 };

/* "RAN WAITED SLICES", in nanoseconds. */
static void add_times(struct cpu_wait *sum, int tasks, const char *tid)
{
	char path[64], text[128];
	cleanup_fd int fd = -1;
	long long ran, waited;
	ssize_t n;

	snprintf(path, sizeof(path), "%.40s/schedstat", tid);
	fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = 0;
	if (sscanf(text, "%lld %lld", &ran, &waited) != 2)
		return;
	sum->ran_ns += ran;
	sum->waited_ns += waited;
}

static void add_all(struct cpu_wait *sum)
{
	DIR *d = opendir("/proc/self/task");
	const struct dirent *e;

	while (d && (e = readdir(d)))
		if (*e->d_name != '.')
			add_times(sum, dirfd(d), e->d_name);
	if (d)
		closedir(d);
}

bool cpu_wait_high(struct cpu_wait *s, int64_t now_ms)
{
	struct cpu_wait now = { .ms = now_ms };
	int64_t ran, waited;

	if (s->ms && now_ms - s->ms < LOOK_MS)
		return s->high;
	add_all(&now);
	ran = now.ran_ns - s->ran_ns;
	waited = now.waited_ns - s->waited_ns;
	now.high = waited > ran && waited * SHARE >= (now_ms - s->ms) * NS_PER_MS;
	*s = now;
	return s->high;
}
