/*
 * target.h - the folder that files are fetched into, and nothing outside of it.
 *
 * Every part of a path is opened without following links (openat2 with
 * RESOLVE_BENEATH, or part by part where the kernel has none). What is under way is
 * kept in the folder .kftrainer of the target: NAME.part, NAME.journal. One process
 * at a time has a target: a lock says so.
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
};

/* Makes the folder if need be. ERR_BUSY: another process fetches into it. */
MUST_CHECK int target_open(struct target *t, const char *path, struct error *err);
void target_close(struct target *t);

/* Is that one of our own files: .kftrainer or below? Nobody may fetch those. */
bool target_reserved(const char *path);

/* "<32 hex>.part" for a file that is under way; `ending` is "part" or "journal". */
void target_name(char ret[TARGET_NAME_SIZE + 16], const char *path, const char *ending);

/* The file there; ret_st->st_nlink is 0 when there is none (or it is no file). */
MUST_CHECK int target_stat(const struct target *t, const char *path, struct stat *ret_st,
			   struct error *err);
MUST_CHECK int target_read(const struct target *t, const char *path, int *ret_fd,
			   struct error *err);

/* From .kftrainer/NAME to its path, with the folders above it, in one step. */
MUST_CHECK int target_put(const struct target *t, const char *name, const char *path,
			  struct error *err);
/* The file there, and folders above it that are empty then. */
MUST_CHECK int target_remove(const struct target *t, const char *path, struct error *err);
/* fsync of the folder that the path is in. */
MUST_CHECK int target_sync_dir(const struct target *t, const char *path,
			       struct error *err);

/* Bytes that may still be written there. */
int64_t target_free_bytes(const struct target *t);

#endif
