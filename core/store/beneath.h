/*
 * beneath.h - files below a folder that somebody else may write to, and nothing outside.
 *
 * openat2(2) with RESOLVE_BENEATH; part by part where the kernel has none.
 */
#ifndef STORE_BENEATH_H
#define STORE_BENEATH_H

#include <stdbool.h>

/*
 * As openat(2), -1 with errno: EXDEV where a link leads out of `root`. `links`: those that
 * stay below it are followed; else none is (ELOOP, ENOTDIR), nor where there is no openat2.
 */
int beneath_open(int root, const char *path, int flags, bool links);

#endif
