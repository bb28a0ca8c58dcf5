/*
 * procid.h - which process it was, for whoever reads its number later or elsewhere.
 *
 * A number alone is that of another process after a reboot, in another container, on
 * another machine that shares the home directory, or when it has come round. With it
 * stand the machine's name and boot (/proc/sys/kernel/random/boot_id), the PID namespace
 * (/proc/self/ns/pid) and when the process started (/proc/PID/stat, field 22).
 */
#ifndef LOCAL_PROCID_H
#define LOCAL_PROCID_H

#include <stdbool.h>

enum { PROCID_SIZE = 256, PROCID_HOST_SIZE = 65 };

/* Of this process, one line without a newline; returns `text`. */
const char *procid_self(char text[PROCID_SIZE]);

enum procid_place {
	PROCID_UNREADABLE,      /* no mark at all */
	PROCID_RUNNING,         /* it runs, and *ret_pid is its number here */
	PROCID_ENDED,           /* of this machine, and it does not run any more */
	PROCID_OTHER_NAMESPACE, /* of this machine, with numbers that are not ours */
	PROCID_OTHER_HOST       /* ret_host */
};

enum procid_place procid_find(const char *text, int *ret_pid,
			      char ret_host[PROCID_HOST_SIZE]);

#endif
