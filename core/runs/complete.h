/*
 * complete.h - the mark of a complete checkpoint in a run directory, and which one
 * is the newest (docs/runs.md).
 *
 * Lines of JSON: the checkpoint, then each of its files, by rank and path. They are read
 * from where others may write: a name or path that leaves the directory, a line too few
 * or too many, sums that differ from the first line are ERR_FORMAT.
 *
 * No I/O.
 */
#ifndef RUNS_COMPLETE_H
#define RUNS_COMPLETE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"

#define COMPLETE_ENDING ".complete"
#define COMPLETE_FILES  ".files" /* of one rank's files, before that */
#define COMPLETE_RANK   ".rank-"

enum { RUNS_LAYOUT = 1, COMPLETE_FILES_MAX = 1000 * 1000 };
#define COMPLETE_MAX ((size_t)256 * 1024 * 1024) /* bytes of it */

struct complete_head {
	const char *name;
	int64_t attempt, nodes, files, bytes;
	int64_t step; /* -1: none */
	int64_t time; /* seconds since 1970 */
	int us;       /* and microseconds */
	bool single;  /* a file: its one path is `name` */
};
struct complete_file {
	uint32_t rank;
	const char *path;
	int64_t size;
	const char *sha256; /* hex */
};
struct complete {
	struct complete_head head;
	struct complete_file *files; /* head.files, in the arena */
};

/* May a checkpoint be called so? */
bool complete_name_ok(const char *name);
/*
 * The step in a name, to show it: after "step" or "iter", else at the end, before a "." and
 * Lightning's "-v1", if it is not that of a metric; -1: there is none.
 */
int64_t complete_step(const char *name);

void complete_print_head(struct buf *out, const struct complete_head *head);
void complete_print_file(struct buf *out, const struct complete_file *file);

/* Strings are in the arena. Only the first line. */
MUST_CHECK int complete_read_head(struct complete_head *ret, struct arena *arena,
				  const char *text, size_t len, struct error *err);
MUST_CHECK int complete_read(struct complete *ret, struct arena *arena, const char *text,
			     size_t len, struct error *err);

/*
 * A .metadata of torch.distributed.checkpoint at `path` of it names files of its directory,
 * as __0_1.distcp: the first that no rank has; NULL: none. In the arena.
 */
const char *complete_lacks(const struct complete *c, struct arena *arena,
			   const char *path, const void *metadata, size_t len);

/*
 * As qsort(3) compares; the newest first: by attempt, then by the time of its head,
 * which only grows within an attempt. Names do not say which is newer: "loss=0.31.ckpt",
 * "iter-40-ckpt.pth", "last.ckpt" (pytorch-lightning#9944, litgpt#661).
 */
int complete_compare(const void *a, const void *b);

#endif
