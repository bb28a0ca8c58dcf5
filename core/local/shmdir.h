/*
 * shmdir.h - a folder of this process: on a tmpfs, for secrets and Memory volumes, or
 * where temporary files are.
 *
 * /dev/shm/kftrainer-UID-RANDOM, 0700, locked (flock) while the process lives.
 * What a killed process left is removed by the next one that comes by.
 */
#ifndef LOCAL_SHMDIR_H
#define LOCAL_SHMDIR_H

#include "base/arena.h"

/* NULL where /dev/shm is no tmpfs or not ours to write. */
const char *shmdir_make(struct arena *arena, int *ret_lock);

/* The same below another folder, such as /tmp: NULL with errno. */
const char *tempdir_make(struct arena *arena, const char *below, int *ret_lock);
/* Take away those below it whose process is gone. */
void tempdir_sweep(const char *below);

void tempdir_remove(const char *dir, int lock); /* NULL is fine */

#endif
