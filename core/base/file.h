/*
 * file.h - whole files and directories.
 *
 * Messages begin with the path: "job.yaml: No such file or directory".
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"

/*
 * Append all of the file to `out`. ERR_LIMIT when it has more than out->max
 * allows: reading stops there, however large the file is.
 */
MUST_CHECK int file_read(struct buf *out, const char *path, struct error *err);

/* The same from an open descriptor, until its end; `name` is for messages. */
MUST_CHECK int file_read_fd(struct buf *out, int fd, const char *name, struct error *err);

/* As file_read(), but only of regular files: a FIFO would block the reader. */
MUST_CHECK int file_read_regular(struct buf *out, const char *path, struct error *err);

/* The first line of a short regular file, without its newline, in the arena; "": none. */
const char *file_first_line(struct arena *arena, const char *path);

/* The text of a file of at most 64 KiB, such as one of /proc, in the arena; "": none. */
const char *file_text(struct arena *arena, const char *path);

/* Write all bytes to a descriptor. */
MUST_CHECK int file_write_fd(int fd, const void *data, size_t len, const char *name,
			     struct error *err);

/*
 * Close what was written, and set *fd to -1: NFS and other network file systems say only
 * here that there was no room for it.
 */
MUST_CHECK int file_close_written(int *fd, const char *name, struct error *err);

/*
 * Write a file that is useless after a crash: neither atomic nor on disk before it
 * returns. On failure no file remains.
 */
MUST_CHECK int file_write_scratch(const char *path, const void *data, size_t len,
				  mode_t mode, struct error *err);

/*
 * Replaces a file atomically: readers see the old or the new content, also after a
 * crash. On failure the old file is unchanged and no temporary file remains.
 */
MUST_CHECK int file_write(const char *path, const void *data, size_t len, mode_t mode,
			  struct error *err);

/*
 * *ret: the file of `fd`, which this user has created at `path`, open for reading.
 * ERR_DENIED: another file (device, inode) is there now, or another user owns it.
 */
MUST_CHECK int file_reopen(int *ret, int fd, const char *path, struct error *err);

bool file_exists(const char *path);

/* Do two stat(2) results show the same file, unchanged? */
struct stat;
bool file_is_same(const struct stat *a, const struct stat *b);

/* Make a directory and its parents; an existing one is fine. */
MUST_CHECK int dir_make(const char *path, mode_t mode, struct error *err);

/*
 * As readdir(3), with errno 0 at the end: otherwise it could not be read on, as where a
 * server of NFS is away.
 */
struct dirent *dir_next(DIR *d);

/*
 * Remove a directory and all below it, without following links; an absent one is fine. Where
 * NFS or FUSE keeps a file for a reader, its directory stays.
 */
MUST_CHECK int dir_remove(const char *path, struct error *err);

/* "a" + "b" = "a/b"; an absolute `name` is itself; one '/' between. */
char *path_join(struct arena *arena, const char *dir, const char *name);
const char *path_base(const char *path);               /* after the last '/' */
char *path_dir(struct arena *arena, const char *path); /* before it; "." for none */

/*
 * Where the running program is, malloc'ed: a file that exists. If its file was replaced since,
 * as by an upgrade, that is the new one. NULL: err is filled.
 */
char *path_of_program(struct error *err);

/*
 * This user's directory for what programs keep, in the arena: $XDG_STATE_HOME/kftrainer or
 * ~/.local/state/kftrainer. It may not exist. ERR_INVALID: no home.
 */
MUST_CHECK int path_of_state(struct arena *arena, const char **ret, struct error *err);

/* Cuts the last name off a path below `root`; false: it is not below. */
bool path_up(char *path, const char *root);

/* "/b" where path is "/a/b" and dir "/a"; NULL when it is not below dir. */
const char *path_below(const char *path, const char *dir);

#endif
