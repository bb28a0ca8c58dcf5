/*
 * checkpoint.h - the manifest of a complete checkpoint, checkpoints/NAME.complete in a run
 * directory, and the order of checkpoints (docs/runs.md).
 *
 * Lines of JSON: the checkpoint, then each of its files, by rank and path. A manifest is
 * untrusted: a name or path that leaves the directory, a missing or additional line, or
 * totals that differ from the first line are ERR_FORMAT.
 *
 * No I/O.
 */
#ifndef RUNS_CHECKPOINT_H
#define RUNS_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"

#define CHECKPOINT_COMPLETE ".complete"
#define CHECKPOINT_FILES    ".files" /* the manifest of one rank: NAME.rank-1.files */
#define CHECKPOINT_RANK     ".rank-" /* the directory of a rank but 0: NAME.rank-1 */

enum { RUNS_LAYOUT = 1, CHECKPOINT_FILES_MAX = 1000 * 1000 };
#define CHECKPOINT_MANIFEST_MAX ((size_t)256 * 1024 * 1024) /* bytes */

struct checkpoint {
	const char *name;
	int64_t attempt, nodes, files, bytes;
	int64_t step; /* -1: none */
	int64_t time; /* seconds since 1970 */
	int us;       /* and microseconds */
	bool single;  /* a file, not a directory: its only path is `name` */
};
struct checkpoint_file {
	uint32_t rank;
	const char *path;
	int64_t size;
	const char *sha256; /* hex */
};
struct checkpoint_manifest {
	struct checkpoint head;
	struct checkpoint_file *files; /* head.files of them, in the arena */
};

/* Is it a file name that no manifest and no directory of a rank can have? */
bool checkpoint_name_valid(const char *name);
/*
 * The training step in a name, for display: the number after "step" or "iter", else the
 * last one before the extension and Lightning's "-v1", unless it is a metric's value.
 * -1: none.
 */
int64_t checkpoint_step(const char *name);

void checkpoint_print(struct buf *out, const struct checkpoint *head);
void checkpoint_print_file(struct buf *out, const struct checkpoint_file *file);

/* Read the first line only. Strings are in the arena. ERR_FORMAT. */
MUST_CHECK int checkpoint_read(struct checkpoint *ret, struct arena *arena,
			       const char *text, size_t len, struct error *err);
/* Read all lines. Strings are in the arena. ERR_FORMAT. */
MUST_CHECK int checkpoint_read_manifest(struct checkpoint_manifest *ret,
					struct arena *arena, const char *text, size_t len,
					struct error *err);

/*
 * The .metadata of torch.distributed.checkpoint at `path` names files of its directory, such
 * as __0_1.distcp. Return the first one that the manifest does not have, in the arena;
 * NULL: none.
 */
const char *checkpoint_missing(const struct checkpoint_manifest *c, struct arena *arena,
			       const char *path, const void *metadata, size_t len);

/*
 * For qsort(3) of struct checkpoint: the newest first, by attempt, then by time, which only
 * grows within an attempt. Names do not tell the order: "loss=0.31.ckpt",
 * "iter-40-ckpt.pth", "last.ckpt" (pytorch-lightning#9944, litgpt#661).
 */
int checkpoint_compare(const void *a, const void *b);

#endif
