/* spawn.c - start a program (base/spawn.h). */
#include "base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"

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

const char *spawn_script_fault(const char *path)
{
	static const char marked[] = STR_BOM "#!";
	char line[256];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof(line));
	const char *end = n > 0 ? memchr(line, '\n', (size_t)n) : NULL;

	if (fd >= 0)
		close(fd);
	if (!end || end - line < (ptrdiff_t)strlen(marked))
		return NULL;
	if (!memcmp(line, marked, strlen(marked)))
		return SPAWN_BOM;
	return !memcmp(line, "#!", 2) && end[-1] == '\r' ? SPAWN_CRLF : NULL;
}

const char *spawn_script_remedy(const char *message)
{
	static const struct {
		const char *text, *remedy;
	} rows[] = {
		{ SPAWN_CRLF, "convert it, as with sed -i 's/\\r$//'" },
		{ SPAWN_BOM, "remove the mark, as with sed -i '1s/^\\xef\\xbb\\xbf//'" },
		{ SPAWN_FORMAT, "begin it with a line such as #!/usr/bin/env python3, or "
				"start it with its interpreter" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		if (strstr(message, rows[i].text))
			return rows[i].remedy;
	return NULL;
}

int spawn_failed(struct error *err, const char *path, int number)
{
	const char *fault = strchr(path, '/') ? spawn_script_fault(path) : NULL;

	if (fault && (number == ENOENT || number == ENOEXEC))
		error_set(err, ERR_NOT_FOUND, "%s: a %s: %s", path, fault,
			  spawn_script_remedy(fault));
	else if (number == ENOENT && strchr(path, '/') && !access(path, F_OK))
		error_set(err, ERR_NOT_FOUND,
			  "%s: its interpreter (#! line or dynamic loader) is not there",
			  path);
	else
		return error_errno(err, number, "%s", path);
	err->code = number;
	return -1;
}
