/*
 * tar.h - POSIX pax archives (IEEE 1003.1, ustar with "x" headers).
 *
 * Files (executable or not), directories and symbolic links, without owners and times, so
 * that the output is reproducible. Input is untrusted: sizes and lengths are limited;
 * paths are not checked here (unpack.c does).
 */
#ifndef PACK_TAR_H
#define PACK_TAR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"

enum tar_type { TAR_FILE, TAR_FOLDER, TAR_LINK };

enum {
	TAR_BLOCK = 512,
	TAR_MAX_PATH = 4096,
	TAR_END_SIZE = 2 * TAR_BLOCK, /* two empty blocks end an archive */
};

struct tar_entry {
	const char *path; /* '/' between parts, none at either end */
	enum tar_type type;
	bool executable;
	int64_t size;       /* bytes of a file; 0 for others */
	const char *target; /* of a link; else NULL */
};

/* Append the header of an entry; its bytes follow, and tar_padding() zero bytes. */
void tar_header(struct buf *out, const struct tar_entry *e);
int64_t tar_header_size(const struct tar_entry *e);
int64_t tar_padding(int64_t size);

/* Reads from any stream. Initialize it as { .read = ..., .ctx = ... }. */
struct tar_reader {
	/* Reads up to len bytes; *ret_len 0: the end. */
	int (*read)(void *ctx, void *data, size_t len, size_t *ret_len,
		    struct error *err);
	void *ctx;
	int64_t left;    /* bytes of the entry not read yet */
	int64_t padding; /* zero bytes after them */
};

/*
 * Read the next entry, skipping the rest of the current one. Strings are in the arena.
 * *ret_end: no more entries. ERR_FORMAT: not tar, or truncated; ERR_UNSUPPORTED: another
 * type of entry; ERR_LIMIT.
 */
MUST_CHECK int tar_next(struct tar_reader *r, struct arena *arena, struct tar_entry *ret,
			bool *ret_end, struct error *err);
/* Read bytes of the current entry; *ret_len 0: its end. */
MUST_CHECK int tar_read(struct tar_reader *r, void *data, size_t len, size_t *ret_len,
			struct error *err);

#endif
