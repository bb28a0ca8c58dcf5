/*
 * files.h - find and read files of -f, as kubectl does: a file, stdin, a directory, a
 * URL.
 *
 * Follows k8s.io/cli-runtime pkg/resource.
 */
#ifndef SPEC_FILES_H
#define SPEC_FILES_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"

enum { FILES_MAX = 10000 };

bool files_is_url(const char *path); /* http:// or https:// */

/*
 * The files *.json, *.yaml and *.yml of a directory, in the order of their names, with
 * those below it if `recursive`; symbolic links to directories are not followed. The list
 * ends with NULL. ERR_LIMIT: more than FILES_MAX.
 */
MUST_CHECK int files_in(struct arena *arena, const char *dir, bool recursive,
			const char ***ret, struct error *err);

/* The paths that match a pattern of glob(3), in the arena, ended by NULL; NULL: none. */
const char *const *files_matching(struct arena *arena, const char *pattern);

/*
 * GET, up to ret->max bytes; redirects are followed, no credentials are sent. Three
 * attempts, a second apart, while the server cannot be reached or answers 5xx. Any
 * other status than 200 is ERR_IO.
 */
MUST_CHECK int files_fetch(struct buf *ret, const char *url, struct error *err);

#endif
