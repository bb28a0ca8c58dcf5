/*
 * board.h - the jobs as they are now, for all viewers: one watch of the API server.
 *
 * Each row and point has the version by which it came. A viewer that has seen a version
 * gets what is newer, however long it was away: nothing is queued for a viewer. Versions
 * begin at board_epoch(): one of an earlier process is older than all of this one's. Of what
 * was deleted only the last names are kept; a viewer that was away for longer gets all.
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
/* Ends all waits; board_free() comes once nobody uses it. Both: NULL is fine. */
void board_stop(struct board *b);
void board_free(struct board *b);

/*
 * Wait until board_ring() was called since *bell was set here, at most ms. False: the
 * board is stopped. Changes of the board ring, too.
 */
bool board_wait(struct board *b, uint64_t *bell, int64_t ms);
void board_ring(struct board *b);

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
 * Ask for what a job has reported before, and once more after a while; so does a viewer
 * that has seen nothing. True: appended why it could not be read, a text of JSON, if that
 * is newer than the version `seen`.
 */
bool board_past(struct board *b, struct buf *out, const char *key, uint64_t seen);
/* The next job whose past was asked for, in the arena. False: none. */
bool board_next_past(struct board *b, struct arena *a, const char **ret_key,
		     const char **ret_run_dir);
/* Its points, which remain the caller's, and why there are no more; kind 0: all. */
void board_put_past(struct board *b, const char *key, const char *run_dir,
		    const struct series_set *points, const struct error *why);
/*
 * Calls visit with the cells of each job, sorted by namespace and name, with the lock held.
 * False: the API server has not answered yet, or does not now.
 */
bool board_each(struct board *b,
		void (*visit)(void *ctx, const char *key, const cJSON *cells), void *ctx);
/* The version of the job's last change; 0: it is not there. */
uint64_t board_changed(struct board *b, const char *key);
/* Append why the API server cannot be watched, a text of JSON; false: it is. */
bool board_lost(struct board *b, struct buf *out);

#endif
