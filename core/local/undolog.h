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

enum leftover { LEFT_LINK = 'l', LEFT_DIR = 'd', LEFT_CGROUP = 'c' };

/* In <dir>/leftovers; `source`: where a link leads, else "". What fails is not noted. */
void leftovers_note(const char *dir, enum leftover kind, const char *path,
		    const char *source);

bool leftovers_noted(const char *dir);

/*
 * Take away what is noted and still is as it was made (a link that leads there, an empty
 * folder), the last first; then the notes.
 */
void leftovers_sweep(const char *dir);

#endif
