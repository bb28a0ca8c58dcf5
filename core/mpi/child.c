/* child.c - start a shell command with posix_spawn(3) (mpi/child.h). */
#include "mpi/child.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/spawn.h"

extern char **environ;

struct pipes {
	int fds[3][2]; /* of stdin, stdout and stderr: read end, write end */
};

static void close_pipes(struct pipes *p)
{
	for (int i = 0; i < 3; i++)
		for (int end = 0; end < 2; end++)
			if (p->fds[i][end] >= 0)
				close(p->fds[i][end]);
}

static int open_pipes(struct pipes *p, struct error *err)
{
	memset(p, -1, sizeof(*p));
	for (int i = 0; i < 3; i++)
		if (pipe2(p->fds[i], O_CLOEXEC)) {
			int errnum = errno;

			close_pipes(p);
			return error_errno(err, errnum, "pipe");
		}
	return 0;
}

static int spawn(pid_t *ret, const struct pipes *p, const char *command)
{
	const char *const words[] = { "sh", "-c", command, NULL };
	const struct spawn sh = {
		"/bin/sh",   (char *const *)words,
		environ,     { p->fds[0][0], p->fds[1][1], p->fds[2][1] },
		SPAWN_RESET, true
	};

	return spawn_program(ret, &sh);
}

static int take_end(int *end)
{
	int fd = *end;

	*end = -1;
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	return fd;
}

int child_start(struct child *ret, const char *command, struct error *err)
{
	struct pipes p;
	pid_t pid;
	int rc;

	if (open_pipes(&p, err))
		return -1;
	rc = spawn(&pid, &p, command);
	if (!rc)
		*ret = (struct child){ pid, take_end(&p.fds[0][1]),
				       take_end(&p.fds[1][0]), take_end(&p.fds[2][0]) };
	close_pipes(&p);
	return rc ? error_errno(err, rc, "/bin/sh") : 0;
}

bool child_group_exists(pid_t group)
{
	return !kill(-group, 0) || errno != ESRCH;
}

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

int child_signal_all(int signum)
{
	DIR *dir = opendir("/proc");
	int n = 0;

	if (!dir)
		return 0;
	for (const struct dirent *e; (e = readdir(dir));) {
		if (e->d_name[0] < '1' || e->d_name[0] > '9' ||
		    parent_of(e->d_name) != getpid())
			continue;
		kill((pid_t)strtol(e->d_name, NULL, 10), signum);
		n++;
	}
	closedir(dir);
	return n;
}
