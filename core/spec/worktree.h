/*
 * worktree.h - the version of the code that is submitted.
 */
#ifndef SPEC_WORKTREE_H
#define SPEC_WORKTREE_H

#include "base/arena.h"

/*
 * The commit of the Git work tree that contains the directory, with "-dirty" if tracked
 * files differ from it, as git(1) says; NULL: there is none, or no git. The tree may be a
 * stranger's: no program that its configuration names is run.
 */
const char *worktree_commit(struct arena *arena, const char *dir);

#endif
