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

enum { MARK_SIZE = 256, MARK_HOST_SIZE = 65 };

/* Of this process, one line without a newline; returns `text`. */
const char *mark_self(char text[MARK_SIZE]);

enum mark_place {
	MARK_UNREADABLE,   /* no mark at all */
	MARK_HERE,         /* it runs, and *ret_pid is its number here */
	MARK_GONE,         /* of this machine, and it does not run any more */
	MARK_CONTAINER,    /* of this machine, with numbers that are not ours */
	MARK_OTHER_MACHINE /* ret_host */
};

enum mark_place mark_find(const char *text, int *ret_pid, char ret_host[MARK_HOST_SIZE]);

#endif
