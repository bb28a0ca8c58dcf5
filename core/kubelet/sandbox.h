/*
 * sandbox.h - run a container as a tree of processes that ends together.
 *
 * Two processes are at its root. The init process is a copy of this process that never
 * executes another program: it creates the namespaces, mounts, starts the main process,
 * forwards signals to it, reaps and reports. The main process is the container's command,
 * leader of its own session.
 *
 *     with SANDBOX_PID   the init process is process 1 of a PID namespace: its end kills
 *                        all processes of the container; the end of the thread that
 *                        spawned it kills it (PR_SET_PDEATHSIG, SIGKILL)
 *     without            the init process is a subreaper (PR_SET_CHILD_SUBREAPER): at the
 *                        end of that thread it gets SIGPWR, kills its children until none
 *                        is left (orphans become its children) and ends. Weaker: SIGKILL
 *                        to the init process leaves the children of the main process; and
 *                        containers see each other's processes
 *
 * As in a pod, all remaining processes are killed when the main process ends. Once
 * waitpid() has reported the end of the init process, no process of the container is left
 * and every write end of its output is closed.
 *
 * Nothing allocates memory after the clone, so the caller may have threads; but the
 * parent-death signal is bound to the thread that spawns, which must live as long.
 *
 * The user namespace maps the caller's own uid and gid to themselves, and is used only
 * if the caller may not mount without it: root has all its capabilities (locked
 * memory, other users' files) in its pods.
 *
 * Linux 5.3 or later (CLONE_PIDFD, pidfds that can be polled); commands in a
 * running container need 5.8 (setns by pidfd).
 */
#ifndef KUBELET_SANDBOX_H
#define KUBELET_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/error.h"

enum {
	SANDBOX_USER = 1,  /* a user namespace */
	SANDBOX_MOUNT = 2, /* mount, UTS and IPC namespaces */
	SANDBOX_PID = 4,   /* a PID namespace, and a /proc of its own */
};

enum { MOUNT_MAX = 1024 }; /* operations in a plan */

enum mount_op_type {
	MOUNT_VIEW, /* replace the directory `target` by a tmpfs with the same entries */
	MOUNT_DIR,  /* make a directory (in a view) */
	MOUNT_FILE, /* make an empty file (in a view) */
	MOUNT_BIND, /* bind `source` at `target`, recursively */
	MOUNT_OVERLAY, /* cover the directory `target`; its changes go into `source` */
};

struct mount_op {
	enum mount_op_type type;
	bool read_only;     /* MOUNT_BIND */
	const char *source; /* MOUNT_BIND, MOUNT_OVERLAY */
	const char *target; /* absolute, without symbolic links */
};

struct sandbox_plan {
	uint64_t id;   /* returned in reports */
	unsigned kind; /* SANDBOX_... */
	int join; /* pid of the init process whose namespaces to enter, 0: make new ones */
	const char *const *argv;
	const char *const *envp; /* its PATH is searched for argv[0] */
	const char *workdir;
	const char *hostname;
	const char *stage; /* an empty directory to build views in */
	const struct mount_op *mounts;
	size_t n_mounts;
	int output; /* becomes stdout and stderr */
	bool terminal; /* output is a terminal: it becomes stdin, too, and the controlling terminal */
	int report;    /* write end of the pipe for reports */
	int cgroup[2]; /* open cgroup.procs to enter, or -1 */
	struct rlimit nofile;
};

enum report_type {
	REPORT_FAILED = 1, /* could not start: err (errno), code (exit code), what */
	REPORT_STARTED,    /* the command runs */
	REPORT_EXITED,     /* the main process ended: code is its wait status */
};

/* Smaller than PIPE_BUF: written whole or not at all. */
struct sandbox_report {
	uint64_t id;
	int32_t type, code, err;
	char what[244]; /* "command not found: foo" */
};

/*
 * Start the container. *ret_pid is the init process; *ret_pidfd becomes readable when it has
 * ended. Failures after the clone are reported as REPORT_FAILED.
 */
MUST_CHECK int sandbox_spawn(const struct sandbox_plan *plan, pid_t *ret_pid,
			     int *ret_pidfd, struct error *err);

/* Send a signal to the main process. SIGKILL: kill all processes of the container. */
void sandbox_signal(const struct sandbox_plan *plan, pid_t init_pid, int sig);

/*
 * ERR_IO: the kernel is older than Linux 5.3. Calls that seccomp hides (ENOSYS from a newer
 * kernel) are no error: containers do without them.
 */
MUST_CHECK int sandbox_check_kernel(struct error *err);

/*
 * The strongest kind that this machine allows, found by trying; 0: none.
 * `stage` is an empty directory. *ret_trial: the process that succeeded, for
 * sandbox_wait(): the kernel takes milliseconds to remove its namespaces.
 */
unsigned sandbox_probe(const char *stage, pid_t *ret_trial);
void sandbox_wait(pid_t init_pid); /* 0: no process */

#endif
