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
#define SPAWN_CRLF           "script with the line ends of Windows"
#define SPAWN_BOM            "script with a byte order mark before its #! line"
#define SPAWN_LINE           "script whose #! line is empty or too long"
#define SPAWN_NO_INTERPRETER "script whose interpreter (#! line) is not there"
#define SPAWN_BLANK          "script whose interpreter (#! line) has a space in its path"
#define SPAWN_DENIED         "script whose interpreter (#! line) is not executable"
#define SPAWN_FORMAT         "file that is neither a program nor a script with a #! line"
#define SPAWN_FOREIGN        "program for another kind of machine, or a damaged one"
#define SPAWN_NO_LOADER      "program whose dynamic loader is not there"
#define SPAWN_NOEXEC         "file of a file system that is mounted noexec"
#define SPAWN_FOLDER         "directory, not a program"
/*
 * Why execve() of that path failed with that number, one of these words; NULL: as the
 * number says. Allocates nothing: the kubelet calls it after vfork().
 */
const char *spawn_fault(const char *path, int number);
/*
 * The remedy for a message with one of those words, or of a command that does not exist, as
 * its name is several words, a variable or a command of a shell; else NULL.
 */
const char *spawn_remedy(const char *message);

#endif
