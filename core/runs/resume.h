/*
 * resume.h - download the newest complete checkpoint before the command starts.
 */
#ifndef RUNS_RESUME_H
#define RUNS_RESUME_H

#include "base/json.h"
#include "runs/checkpoint.h"
#include "runs/rundir.h"

struct resume_conf {
	const char *dir; /* KFTRAINER_CHECKPOINT_DIR */
	const cJSON *job;
	uint32_t rank, ranks, attempt;
	int64_t restart;
	void (*say)(void *ctx, const char *text);
	void *ctx;
};

/*
 * Rank 0 chooses the newest checkpoint whose files match their digests, and writes
 * attempt.json; the other ranks wait for that. Downloads the files that differ from those
 * in the directory. *ret_name: the checkpoint, in the arena; NULL: none.
 */
MUST_CHECK int resume_prepare(const struct resume_conf *conf, struct rundir *rundir,
			      struct arena *arena, const char **ret_name,
			      struct error *err);

/* All complete checkpoints, the newest first, in the arena. *ret is never NULL. */
MUST_CHECK int resume_list(struct rundir *rundir, struct arena *arena,
			   struct checkpoint **ret, size_t *ret_n, struct error *err);

/*
 * Check a manifest before it is written. ERR_CONFLICT: a .metadata of rank 0 names a file
 * that no rank has uploaded (checkpoint_missing()).
 */
MUST_CHECK int resume_check_named(struct rundir *rundir, const struct buf *text,
				  struct error *err);

/* The checkpoint that resume_prepare() has downloaded into a directory. */
struct resumed {
	char name[256];       /* "": none */
	uint64_t fingerprint; /* detect_fingerprint(); 0: the download has not ended */
};
void resumed_read(struct resumed *ret, const char *dir);

#endif
