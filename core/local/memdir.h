/*
 * memdir.h - a folder of this process on a tmpfs, for secrets and Memory volumes.
 *
 * /dev/shm/kftrainer-UID-RANDOM, 0700, locked (flock) while the process lives.
 * What a killed process left is removed by the next one that comes by.
 */
#ifndef LOCAL_MEMDIR_H
#define LOCAL_MEMDIR_H

#include "base/arena.h"

/* NULL where /dev/shm is no tmpfs or not ours to write. */
const char *memdir_make(struct arena *arena, int *ret_lock);
void memdir_remove(const char *dir, int lock); /* NULL is fine */

#endif
