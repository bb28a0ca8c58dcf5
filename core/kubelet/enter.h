/*
 * enter.h - run a command in a running container of this machine: with its namespaces,
 * environment, working directory and control group, as pods/exec does in a cluster.
 *
 * The process that runs a container records its init process and working directory in a file
 * beside its log; any process of the same user can enter it.
 */
#ifndef KUBELET_ENTER_H
#define KUBELET_ENTER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

#define ENTER_SUFFIX ".entry" /* CONTAINER.entry, in the pod's directory of logs */

/* Write the file; a failure is ignored: the container cannot be entered then. */
void enter_record(const char *path, pid_t init_pid, const char *workdir);

struct enter_opts {
	const char *file;        /* written by enter_record() */
	const char *const *argv; /* PATH of the container is searched */
	bool input;              /* standard input is `in`, else /dev/null */
	int in;                  /* the caller's: STDIN_FILENO */
	bool terminal;           /* a terminal of its own, on that of standard input */
	int output; /* becomes standard output; the caller's: STDOUT_FILENO */
	bool quiet; /* another thread gets the signals (base/thread.h) */
};

/*
 * Run the command and wait for it. *ret_code: its exit code, or 128 + signal; with
 * err->code 126 or 127 it could not be run. Without `terminal` it is in the caller's
 * process group: Ctrl-C reaches it. Signals to this process go to the command; if `quiet`,
 * a stop (base/stop.h) ends it. It dies with this process, and with the container. Only
 * with `quiet` may other threads get signals. ERR_CONFLICT: the container does not run.
 * ERR_UNSUPPORTED: on another host; ERR_DENIED: another user's.
 */
MUST_CHECK int enter_run(const struct enter_opts *opts, int *ret_code, struct error *err);

#endif
