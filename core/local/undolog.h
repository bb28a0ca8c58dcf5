/*
 * undolog.h - what a run makes outside its own folder.
 *
 * Links in place of mounts, the folders above them, control groups: noted in the run's
 * folder before they are made, so that the next command can take away what a run has
 * left that was killed.
 */
#ifndef LOCAL_UNDOLOG_H
#define LOCAL_UNDOLOG_H

#include <stdbool.h>

enum undo_kind { UNDO_LINK = 'l', UNDO_DIR = 'd', UNDO_CGROUP = 'c' };

/* In <dir>/leftovers; `source`: where a link leads, else "". What fails is not noted. */
void undolog_add(const char *dir, enum undo_kind kind, const char *path,
		 const char *source);

bool undolog_exists(const char *dir);

/*
 * Take away what is noted and still is as it was made (a link that leads there, an empty
 * folder), the last first; then the notes.
 */
void undolog_run(const char *dir);

#endif
