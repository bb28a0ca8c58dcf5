/*
 * pack.h - a folder as one archive (tar.h in zstd), and back.
 *
 * Equal folders give equal bytes on every machine: names in order, no owners, no times,
 * of modes only whether a file may be executed. What is left out: exclude.h.
 */
#ifndef PACK_PACK_H
#define PACK_PACK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "pack/exclude.h"

#define PACK_IGNORE_FILE ".kftrainerignore"
#define PACK_MARKER      ".kftrainer-workspace" /* what unpacking leaves behind */

enum { PACK_DIGEST_SIZE = 64 + 1, PACK_LARGEST = 3, PACK_LEFT = 20 };

/* Both ways; the defaults are for anything but tests. */
struct pack_limits {
	int64_t entries, bytes; /* bytes: unpacked */
};
#define PACK_LIMITS ((struct pack_limits){ 200000, (int64_t)8 << 30 })

/* What was left out for one reason: the first of them by name; a folder ends with '/'. */
struct pack_left {
	const char *paths[PACK_LEFT];
	int64_t n; /* of all */
};

struct pack_summary {
	char digest[PACK_DIGEST_SIZE]; /* SHA-256 of the archive, hex */
	int64_t size;                  /* of the archive, bytes */
	int64_t entries, bytes;        /* in it, unpacked */
	struct {
		const char *path; /* NULL: there are no more */
		int64_t size;
	} largest[PACK_LARGEST]; /* files, the largest first */
	struct pack_left left[EXCLUDE_REASONS];
};

struct pack_opts {
	struct pack_limits limits;
	struct exclude_includes includes;
};

/*
 * Write the archive to `fd`. Strings in the arena. Refused, by name: sockets, devices,
 * FIFOs; links that lead outside, or whose target is absolute or goes up (..) behind a
 * name; names that are no UTF-8 or have control characters; a file that changes
 * meanwhile; an include that is not there.
 */
MUST_CHECK int pack_folder(const char *dir, int fd, const struct pack_opts *opts,
			   struct arena *arena, struct pack_summary *ret,
			   struct error *err);

/*
 * Unpack the archive in `fd` into the folder `to`, which is made when it is not there,
 * must be empty otherwise, and is the caller's alone meanwhile. Everybody may write what
 * was unpacked where `shared`. Done already, of this digest: nothing is touched. Begun by
 * a process that was killed: done anew. `digest` is compared before anything is written.
 * Nothing outside `to` is, whatever the archive says.
 */
struct unpack_opts {
	const char *to, *digest; /* hex */
	struct pack_limits limits;
	bool shared;
};
MUST_CHECK int unpack_folder(int fd, const struct unpack_opts *opts,
			     struct pack_summary *ret, bool *ret_done_before,
			     struct error *err);

/* Does that link, lying in a folder `depth` levels below the root, stay inside? */
bool pack_link_stays(const char *target, int depth);

#endif
