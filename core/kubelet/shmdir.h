/*
 * shmdir.h - temporary directories of this process, on a tmpfs (for secrets and Memory
 * volumes) or elsewhere.
 *
 * /dev/shm/kftrainer-UID-RANDOM, 0700, locked (flock) while the process lives.
 * Directories of killed processes are removed by later ones (tempdir_sweep()).
 */
#ifndef KUBELET_SHMDIR_H
#define KUBELET_SHMDIR_H

#include "base/arena.h"

/* NULL: /dev/shm is not a writable tmpfs. */
const char *shmdir_make(struct arena *arena, int *ret_lock);

/* The same below another directory, such as /tmp. NULL with errno. */
const char *tempdir_make(struct arena *arena, const char *below, int *ret_lock);
/* Remove the directories below it whose process has ended. */
void tempdir_sweep(const char *below);

void tempdir_remove(const char *dir, int lock); /* NULL is fine */

#endif
