#include "store/starved.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"

enum { LOOK_MS = 200, SHARE = 2, NS_PER_MS = 1000000 };

/* "RAN WAITED SLICES", in nanoseconds. */
static void add_times(struct starved *sum, int tasks, const char *tid)
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

static void add_all(struct starved *sum)
{
	DIR *d = opendir("/proc/self/task");
	const struct dirent *e;

	while (d && (e = readdir(d)))
		if (*e->d_name != '.')
			add_times(sum, dirfd(d), e->d_name);
	if (d)
		closedir(d);
}

bool starved_look(struct starved *s, int64_t now_ms)
{
	struct starved now = { .ms = now_ms };
	int64_t ran, waited;

	if (s->ms && now_ms - s->ms < LOOK_MS)
		return s->is;
	add_all(&now);
	ran = now.ran_ns - s->ran_ns;
	waited = now.waited_ns - s->waited_ns;
	now.is = waited > ran && waited * SHARE >= (now_ms - s->ms) * NS_PER_MS;
	*s = now;
	return s->is;
}
