/*
 * disk.h - a disk of a schedule: one directory, whose files outlive the processes.
 *
 * open(), openat(), read(), write(), lseek(), fstat(), ftruncate(), fdatasync(), fsync(),
 * renameat(), unlinkat(), flock() and close() of the program reach it, for DISK_DIR and
 * what is in it. A sync takes some time, in which other threads run (threads.h).
 */
#ifndef SIM_DISK_H
#define SIM_DISK_H

#include <sys/types.h>

#include "tests/sim/events.h"

#define DISK_DIR "/" /* exists everywhere; nothing of it is touched */

void disk_start(struct sim *s); /* it is empty */
void disk_fail(int n);          /* n in 1,000 writes and syncs, from now on */
bool disk_failed(void);         /* something has, since the last start of the process */
/*
 * All descriptors are closed. power: of what was written after the last sync, only a
 * part remains: from the beginning, and behind it there may be zeros or other bytes; or
 * all but a part in the middle.
 */
void disk_crash(bool power);
/* A bit of the log is another, not among the last 100 bytes. False: it is too short. */
bool disk_rot(void);

bool disk_has(int fd);
ssize_t disk_read(int fd, void *data, size_t len);
ssize_t disk_write(int fd, const void *data, size_t len);
int disk_close(int fd);

#endif
