/*
 * undolog.h - undo what a run creates outside its directory.
 *
 * Symbolic links, their parent directories and control groups are recorded in the run's
 * directory before they are created, so that a later command can clean up after a
 * killed run.
 */
#ifndef KUBELET_UNDOLOG_H
#define KUBELET_UNDOLOG_H

#include <stdbool.h>

enum undo_kind { UNDO_LINK = 'l', UNDO_DIR = 'd', UNDO_CGROUP = 'c' };

/*
 * Append to <dir>/leftovers. `source`: the target of a link, else "". Errors are
 * ignored.
 */
void undolog_add(const char *dir, enum undo_kind kind, const char *path,
		 const char *source);

bool undolog_exists(const char *dir);

/*
 * Remove recorded objects that are unchanged (a link with the same target, an empty
 * directory), the last first; then the record.
 */
void undolog_run(const char *dir);

#endif
