/*
 * manifest.h - the files of a directory with their digests, to send only what differs.
 *
 * A manifest is text, a line for each entry, directories before what they contain:
 *
 *     f SIZE SHA256 PATH     a file; x: an executable one
 *     d PATH                 a directory
 *     l PATH<tab>TARGET      a symbolic link
 */
#ifndef PACK_MANIFEST_H
#define PACK_MANIFEST_H

#include "base/arena.h"
#include "base/buf.h"
#include "crypto/digest.h"
#include "pack/exclude.h"
#include "pack/pack.h"
#include "pack/tar.h"

enum {
	MANIFEST_ENTRIES = 20000,
	MANIFEST_BYTES = 256 << 20, /* of all files */
	MANIFEST_TEXT = 8 << 20,
};
#define MANIFEST_LIMITS ((struct pack_limits){ MANIFEST_ENTRIES, MANIFEST_BYTES })

/* Directories of a workspace have files of ours with this prefix; a manifest has none. */
#define MANIFEST_OURS ".kftrainer-"

struct manifest_entry {
	const char *path;
	enum tar_type type;
	bool executable;
	int64_t size;       /* of a file; else 0 */
	const char *digest; /* of a file: SHA-256 in hex; else NULL */
	const char *target; /* of a link; else NULL */
};

struct manifest {
	struct manifest_entry *list; /* as the rest, in the arena */
	size_t n;
	struct arena arena;
};

/*
 * Append the manifest of a directory, less what is excluded, or of one file. Errors as of
 * pack_folder(). text->max: MANIFEST_TEXT.
 */
MUST_CHECK int manifest_make(struct buf *text, const char *path,
			     const struct exclude_includes *includes, struct error *err);

/*
 * From a stranger. ERR_FORMAT, ERR_INVALID: not a manifest; a path or link that leaves the
 * directory, or is one of ours. ERR_LIMIT. Release in every case.
 */
MUST_CHECK int manifest_parse(struct manifest *ret, const char *text, size_t len,
			      struct error *err);
void manifest_release(struct manifest *m);

/* SHA-256 in hex of what follows in a file, and how many bytes it was. */
MUST_CHECK int manifest_digest(int fd, const char *name, char ret[DIGEST_HEX_SIZE],
			       int64_t *ret_size, struct error *err);

#endif
