/*
 * child.h - a shell command as a process group, with pipes (private to core/mpi).
 */
#ifndef MPI_CHILD_H
#define MPI_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct child {
	pid_t pid;        /* also the process group */
	int in, out, err; /* our ends: non-blocking, the caller's */
};

/*
 * `/bin/sh -c command` in a group of its own, with this process's environment and
 * working directory and no signal blocked or ignored. err->code is the errno of what
 * failed (ENOENT: no /bin/sh; E2BIG).
 */
MUST_CHECK int child_start(struct child *ret, const char *command, struct error *err);

/* Does the group still have a process? Its leader counts until it is reaped. */
bool child_group_exists(pid_t group);

#endif
