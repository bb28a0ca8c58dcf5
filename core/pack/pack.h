/*
 * pack.h - pack a directory into an archive (tar.h in zstd), and unpack it.
 *
 * Equal directories give equal bytes on every machine: names are sorted, owners and times
 * omitted, and modes only say whether a file is executable. exclude.h says what is left
 * out.
 */
#ifndef PACK_PACK_H
#define PACK_PACK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "pack/exclude.h"

#define PACK_IGNORE_FILE ".kftrainerignore"
/* Written when unpacking is complete: "unpacked DIGEST", then the paths, a line each. */
#define PACK_MARKER   ".kftrainer-workspace"
#define PACK_RECEIVED ".kftrainer-rerun" /* a directory: pack/receive.h */

enum { PACK_DIGEST_SIZE = 64 + 1, PACK_LARGEST = 3, PACK_LEFT = 20 };

/* For packing and unpacking; only tests change the defaults. */
struct pack_limits {
	int64_t entries, bytes; /* bytes: unpacked */
};
#define PACK_LIMITS ((struct pack_limits){ 200000, (int64_t)8 << 30 })

/* Paths excluded for one reason: the first by name; directories end with '/'. */
struct pack_left {
	const char *paths[PACK_LEFT];
	int64_t n; /* of all */
};

struct pack_summary {
	char digest[PACK_DIGEST_SIZE]; /* SHA-256 of the archive, hex */
	int64_t size;                  /* of the archive, bytes */
	int64_t entries, bytes;        /* in it, unpacked */
	struct {
		const char *path; /* NULL: no more */
		int64_t size;
	} largest[PACK_LARGEST]; /* files, the largest first */
	struct pack_left left[EXCLUDE_REASONS];
};

struct pack_opts {
	struct pack_limits limits;
	struct exclude_includes includes;
	const char *only; /* this file of the directory alone; NULL: all */
};

/*
 * Write the archive to `fd`. Strings are in the arena. Refused, with the name in the
 * error: sockets, devices, FIFOs; links whose target is absolute, leaves the directory,
 * or has ".." after a name; names that are not UTF-8 or have control characters; files
 * that change while they are read; includes that do not exist.
 */
MUST_CHECK int pack_folder(const char *dir, int fd, const struct pack_opts *opts,
			   struct arena *arena, struct pack_summary *ret,
			   struct error *err);

/* The entries that pack_folder() writes, in their order: a list in the arena. */
struct tar_entry;
MUST_CHECK int pack_list(const char *dir, const struct pack_opts *opts,
			 struct arena *arena, struct tar_entry **ret, size_t *ret_n,
			 struct error *err);

/*
 * Unpack the archive in `fd` into the directory `to`, which is created if needed, must be
 * empty otherwise, and must not be used by others meanwhile. `digest` is verified before
 * anything is written, and nothing outside `to` is written. An archive that is already
 * unpacked there is left unchanged; after a kill, unpacking starts over. `shared`:
 * everyone may write the unpacked files.
 */
struct unpack_opts {
	const char *to, *digest; /* hex */
	struct pack_limits limits;
	bool shared;
};
MUST_CHECK int unpack_folder(int fd, const struct unpack_opts *opts,
			     struct pack_summary *ret, bool *ret_done_before,
			     struct error *err);

/* Does a link in a directory `depth` levels below the root point inside the root? */
bool pack_link_stays(const char *target, int depth);

#endif
