/* child.c - start a shell command with posix_spawn(3) (mpi/child.h). */
#include "mpi/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
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
