/*
 * resume.h - before the command starts: the newest complete checkpoint, on this node.
 */
#ifndef RUNS_RESUME_H
#define RUNS_RESUME_H

#include "base/json.h"
#include "runs/complete.h"
#include "runs/place.h"

struct resume_conf {
	const char *dir; /* of the checkpoints */
	const cJSON *job;
	uint32_t rank, ranks, attempt;
	int64_t restart;
	void (*say)(void *ctx, const char *text);
	void *ctx;
};

/*
 * Rank 0 chooses the newest checkpoint whose files are whole, and writes attempt.json;
 * the others wait for it. Then its files are in the directory: what differed has been
 * fetched. *ret_name: in the arena, NULL: none.
 */
MUST_CHECK int resume_prepare(const struct resume_conf *conf, struct run_place *place,
			      struct arena *arena, const char **ret_name,
			      struct error *err);

/* All complete checkpoints, in the arena, the newest first. Never NULL. */
MUST_CHECK int resume_list(struct run_place *place, struct arena *arena,
			   struct complete_head **ret, size_t *ret_n, struct error *err);

/*
 * `text`: what its .complete is to be. ERR_CONFLICT: a .metadata that rank 0 has sent names
 * a file that no rank has (complete_lacks()).
 */
MUST_CHECK int resume_check_named(struct run_place *place, const struct buf *text,
				  struct error *err);

/* The files that were fetched into a directory, not written by the command. */
struct resumed {
	char name[256];
	uint64_t stamp; /* 0: they are being fetched */
};
void resumed_read(struct resumed *ret, const char *dir); /* "": nothing */

#endif
