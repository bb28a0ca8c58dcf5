/*
 * linkcopy.h - copy a checkpoint as hard links while it is uploaded.
 *
 * The copy is in the same file system and takes no space. The command may rename a newer
 * checkpoint over the original, or remove it, as Hugging Face's save_total_limit and files
 * named last.pt do.
 */
#ifndef RUNS_LINKCOPY_H
#define RUNS_LINKCOPY_H

/*
 * Create the directory `copy` in `dir`, with `name` linked below it. Return its descriptor,
 * which the caller closes. -1: `copy` exists, or a link fails (no hard links in this file
 * system, a file of another user, a file that is removed meanwhile); then a part of the
 * copy may be left: linkcopy_remove().
 */
int linkcopy_create(int dir, const char *copy, const char *name);
void linkcopy_remove(const char *path, const char *copy);

#endif
