/* spawn.c - start a program (base/spawn.h). */
#include "base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <unistd.h>

/* flags: further ones of posix_spawnattr_setflags(3). */
static void set_attr(posix_spawnattr_t *attr, enum spawn_signals signals, short flags)
{
	sigset_t normal, none;

	sigemptyset(&none);
	if (signals == SPAWN_RESET) {
		sigfillset(&normal);
	} else {
		sigemptyset(&normal);
		sigaddset(&normal, SIGPIPE);
		sigaddset(&normal, SIGXFSZ);
	}
	posix_spawnattr_init(attr);
	posix_spawnattr_setflags(
		attr, (short)(flags | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK));
	posix_spawnattr_setsigdefault(attr, &normal);
	posix_spawnattr_setsigmask(attr, &none);
}

int spawn_program(pid_t *ret, const struct spawn *s)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int rc;

	set_attr(&attr, s->signals, s->group ? POSIX_SPAWN_SETPGROUP : 0);
	posix_spawn_file_actions_init(&actions);
	for (int i = 0; i < 3; i++)
		if (s->fds[i] < 0)
			posix_spawn_file_actions_addopen(&actions, i, "/dev/null",
							 i ? O_WRONLY : O_RDONLY, 0);
		else if (s->fds[i] != i)
			posix_spawn_file_actions_adddup2(&actions, s->fds[i], i);
	rc = posix_spawnp(ret, s->path, &actions, &attr, s->argv, s->envp);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	return rc;
}

bool spawn_has_crlf(const char *path)
{
	char line[256];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof(line));
	const char *end = n > 0 ? memchr(line, '\n', (size_t)n) : NULL;

	if (fd >= 0)
		close(fd);
	return end && end - line > 2 && !memcmp(line, "#!", 2) && end[-1] == '\r';
}

int spawn_failed(struct error *err, const char *path, int number)
{
	if (number != ENOENT || !strchr(path, '/') || access(path, F_OK))
		return error_errno(err, number, "%s", path);
	error_set(err, ERR_NOT_FOUND, "%s: %s", path,
		  spawn_has_crlf(path)
			  ? "a " SPAWN_CRLF ": convert it, as with sed -i 's/\\r$//'"
			  : "its interpreter (#! line or dynamic loader) is not there");
	err->code = number;
	return -1;
}
