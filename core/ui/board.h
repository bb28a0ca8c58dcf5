/*
 * board.h - the current jobs, for all viewers: one watch of the API server.
 *
 * Each row and point has the version at which it was added. A viewer sends the last version
 * that it has, and gets what is newer: nothing is queued per viewer. Versions begin at
 * board_epoch(), so those of an earlier process are older than all of this one's. The names
 * of a limited number of deleted jobs are kept; an older version gets all rows again.
 */
#ifndef UI_BOARD_H
#define UI_BOARD_H

#include "base/buf.h"
#include "kube/kube.h"

struct board;
struct series_set;
struct ui_conf;

/* Starts its thread. `conf` outlives it. */
MUST_CHECK int board_start(struct board **ret, const struct ui_conf *conf,
			   struct error *err);
/* Ends all waits. Call board_free() once no thread uses the board. NULL is fine. */
void board_stop(struct board *b);
void board_free(struct board *b);

/*
 * Wait, at most ms, for a change of the board, or for board_notify(), after *seen_changes,
 * which begins as 0 and is updated. False: the board is stopped. Thread-safe.
 */
bool board_wait(struct board *b, uint64_t *seen_changes, int64_t ms);
void board_notify(struct board *b);

uint64_t board_epoch(void);              /* milliseconds since 1970 */
uint64_t board_version(struct board *b); /* 0: before the API server's first list */
/*
 * Append what is newer than the version `seen` (0: all) of the jobs that the label
 * selector matches (NULL: all), as JSON:
 * {"now":SECONDS,"full":true,"rows":[["ns/name",CELL,...],...],"gone":["ns/name",...]}.
 * A cell is a text, or a number: seconds since 1970, of which the age is shown. Nothing
 * is appended if nothing changed, or before the first list.
 */
void board_rows(struct board *b, struct buf *out, uint64_t seen, const char *selector);
/*
 * Append the points of the i-th metric of a job which are newer than span[0] and not newer
 * than span[1] (series.h), if there are any. False: it has no i-th.
 */
bool board_points(struct board *b, struct buf *out, const char *key, size_t i,
		  const uint64_t span[2]);
/*
 * Request the reports of a job from before this process (backfill.h): at the first call, once
 * more after a while, and for viewers without a version (`seen` 0) again, after a failure at
 * once. True: appended why they could not be read, a JSON string, if that is newer than
 * `seen`.
 */
bool board_request_backfill(struct board *b, struct buf *out, const char *key,
			    uint64_t seen);
/* Take the next requested job; strings are in the arena. False: there is none. */
bool board_next_backfill(struct board *b, struct arena *a, const char **ret_key,
			 const char **ret_run_dir);
/* Store the points, as copies; why->kind 0: all of them, else why some are missing. */
void board_put_backfill(struct board *b, const char *key, const char *run_dir,
			const struct series_set *points, const struct error *why);
/*
 * Call visit() with the cells of each job, sorted by namespace and name, with the lock held.
 * False: the API server has not answered yet, or does not answer now.
 */
bool board_each(struct board *b,
		void (*visit)(void *ctx, const char *key, const cJSON *cells), void *ctx);
/* The version of the job's last change; 0: no such job. */
uint64_t board_changed(struct board *b, const char *key);
/* Append why the API server cannot be watched, a JSON string; false: it is watched. */
bool board_lost(struct board *b, struct buf *out);

#endif
