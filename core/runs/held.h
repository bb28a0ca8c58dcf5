/*
 * held.h - hold the files of a checkpoint while they are sent.
 *
 * By hard links in the same file system, which take no space: the command may rename a
 * newer checkpoint over it, or remove it, as Hugging Face's save_total_limit and files
 * named last.pt do.
 */
#ifndef RUNS_HELD_H
#define RUNS_HELD_H

/*
 * A directory `held` below `dir` with a copy of `name`, of links; the caller closes it.
 * -1: there cannot be one (a file system without hard links, files of another user, a
 * file that is removed meanwhile), or one is left: see held_remove().
 */
int held_make(int dir, const char *held, const char *name);
void held_remove(const char *path, const char *held);

#endif
