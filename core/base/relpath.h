/*
 * relpath.h - open and check paths that must stay below a directory, to which others may
 * write.
 */
#ifndef BASE_RELPATH_H
#define BASE_RELPATH_H

#include <stdbool.h>

#include "base/error.h"

/*
 * As openat(2), by openat2(2) with RESOLVE_BENEATH; -1 with errno. EXDEV: a link leaves
 * `root`. `links`: follow those that stay below it; else a link is an error (ELOOP,
 * ENOTDIR), as it is on a kernel without openat2.
 */
int relpath_open(int root, const char *path, int flags, bool links);

/*
 * ERR_INVALID, with the path, unless it is relative and UTF-8, without "..", ".", empty
 * parts and control characters, with at most 255 bytes a part and 4,096 in all.
 */
MUST_CHECK int relpath_check(const char *path, struct error *err);

#endif
