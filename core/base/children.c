/* children.c - find child processes in /proc (base/children.h). */
#include "base/children.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/cleanup.h"

/* The parent of a process, from /proc/PID/stat; -1: it no longer exists. */
static pid_t parent_of(const char *pid)
{
	char path[64], text[512], *after;
	cleanup_fd int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%.16s/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	after = strrchr(text, ')'); /* a name may contain any character, even ')' */
	return after && strlen(after) > 4 ? (pid_t)strtol(after + 4, NULL, 10) : -1;
}

int children_signal(int signum, bool (*skip)(void *ctx, pid_t pid), void *ctx)
{
	DIR *dir = opendir("/proc");
	int n = 0;

	if (!dir)
		return 0;
	for (const struct dirent *e; (e = readdir(dir));) {
		pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);

		if (e->d_name[0] < '1' || e->d_name[0] > '9' ||
		    parent_of(e->d_name) != getpid())
			continue;
		if (!skip || !skip(ctx, pid))
			kill(pid, signum);
		n++;
	}
	closedir(dir);
	return n;
}
