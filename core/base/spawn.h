/*
 * spawn.h - start a program by posix_spawn(3), with signals as it expects them.
 */
#ifndef BASE_SPAWN_H
#define BASE_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

enum spawn_signals {
	/*
	 * Signals that our caller ignores (nohup(1)) stay ignored; SIGPIPE, which
	 * stop_setup() ignores, is reset.
	 */
	SPAWN_INHERIT,
	/* No signal is ignored, as for a container's first process. */
	SPAWN_RESET,
};

/* No signal is blocked. */
struct spawn {
	const char *path; /* without a '/': searched in PATH */
	char *const *argv, *const *envp;
	int fds[3]; /* its standard input, output and error; -1: /dev/null */
	enum spawn_signals signals;
	bool group; /* the child leads a process group of its own */
};
/* 0, or the number of the error. */
int spawn_program(pid_t *ret, const struct spawn *s);

/* The error of that number, in words: of a script, the kernel says that it is not there. */
int spawn_failed(struct error *err, const char *path, int number);
/* The words for such a script, with which local/report.c recognizes the kubelet's message. */
#define SPAWN_CRLF "script with the line ends of Windows"
/* Does a script's first line end as a line of Windows? The kernel takes that for a name. */
bool spawn_has_crlf(const char *path);

#endif
