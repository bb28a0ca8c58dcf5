/*
 * target.h - the directory that files are fetched into, and nothing outside it.
 *
 * The caller's path may be or contain a symbolic link; below it none is followed (openat2
 * with RESOLVE_BENEATH, or component by component on older kernels). Files in progress
 * are in .kftrainer: NAME.part, NAME.journal. A lock admits one process at a time; where the
 * volume has no locks, each process has files in progress of its own, and resumes none.
 */
#ifndef STORE_TARGET_H
#define STORE_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"

#define TARGET_STATE ".kftrainer"
enum { TARGET_NAME_SIZE = 40 };

struct target {
	const char *path; /* the caller's */
	int root, state, lock;
	char own[10]; /* of the names of files in progress; or "" */
};

/* Creates the directory if needed. ERR_BUSY: another process fetches into it. */
MUST_CHECK int target_open(struct target *t, const char *path, struct error *err);
void target_close(struct target *t);

/* Is it .kftrainer or below? No object may have such a name. */
bool target_reserved(const char *path);

/* "<32 hex>.part" for a file in progress; `ending` is "part" or "journal". */
void target_name(const struct target *t, char ret[TARGET_NAME_SIZE + 16],
		 const char *path, const char *ending);

/*
 * Is a file in progress this process's, or has it not been written to for a day? Others may
 * be those of a process that has no lock, or that is on another machine, which has one.
 */
bool target_is_free(const struct target *t, const char *name);

/* The file; ret_st->st_nlink is 0 if it is missing or not a regular file. */
MUST_CHECK int target_stat(const struct target *t, const char *path, struct stat *ret_st,
			   struct error *err);
MUST_CHECK int target_read(const struct target *t, const char *path, int *ret_fd,
			   struct error *err);

/* Rename .kftrainer/NAME to its path, creating directories above it. */
MUST_CHECK int target_put(const struct target *t, const char *name, const char *path,
			  struct error *err);
/* Remove the file, and directories above it that become empty. */
MUST_CHECK int target_remove(const struct target *t, const char *path, struct error *err);
/* fsync the path's directory. */
MUST_CHECK int target_sync_dir(const struct target *t, const char *path,
			       struct error *err);

/* Free space. */
int64_t target_free_bytes(const struct target *t);

#endif
