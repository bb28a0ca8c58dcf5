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
/* Words of the kubelet, too, by which local/report.c recognizes its message. */
#define SPAWN_CRLF   "script with the line ends of Windows"
#define SPAWN_BOM    "script with a byte order mark before its #! line"
#define SPAWN_FORMAT "neither a program nor a script with a #! line"
/*
 * Of a script that does not start: SPAWN_CRLF (the kernel takes the carriage return for a
 * part of the interpreter's name) or SPAWN_BOM, by its first line; else NULL.
 */
const char *spawn_script_fault(const char *path);
/* What to do about a message with one of those words; else NULL. */
const char *spawn_script_remedy(const char *message);

#endif
