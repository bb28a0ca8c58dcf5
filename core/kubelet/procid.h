/*
 * procid.h - identify a process by more than its number, which is reused.
 *
 * After a reboot, in another container, on another host that shares the home directory,
 * or after wraparound, the same number names another process. It is therefore stored
 * with the host's name and boot (/proc/sys/kernel/random/boot_id), the PID namespace
 * (/proc/self/ns/pid) and when the process started (/proc/PID/stat, field 22).
 */
#ifndef KUBELET_PROCID_H
#define KUBELET_PROCID_H

#include <stdbool.h>

enum { PROCID_SIZE = 256, PROCID_HOST_SIZE = 65 };

/* The id of this process, one line without a newline; returns `text`. */
const char *procid_self(char text[PROCID_SIZE]);
/* The same of another one in this PID namespace, such as a child. */
const char *procid_of(int pid, char text[PROCID_SIZE]);

enum procid_state {
	PROCID_UNREADABLE,      /* not an id */
	PROCID_RUNNING,         /* runs; *ret_pid is its number */
	PROCID_ENDED,           /* ran on this host and has ended */
	PROCID_OTHER_NAMESPACE, /* on this host, in another PID namespace */
	PROCID_OTHER_HOST       /* ret_host */
};

enum procid_state procid_find(const char *text, int *ret_pid,
			      char ret_host[PROCID_HOST_SIZE]);

int procid_parent(int pid);      /* 0: no such process */
bool procid_is_stopped(int pid); /* by SIGSTOP or its like */

/*
 * The process that holds a lock of the file (fcntl(2), F_OFD_SETLK), not a child that
 * inherited it; 0: none that this user can see. For files of kftrainer 0.1.0, without an
 * id: it reads the open files of all processes.
 */
int procid_holder(const char *path);

#endif
