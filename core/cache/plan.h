/*
 * plan.h - compute the rows that a FlightDescriptor requests.
 *
 * A path is upstream's: [rank, world], further elements ignored. A command is JSON:
 *
 *     {"rank": 3, "world": 8, "start": 1000, "equal": "drop", "columns": ["id"]}
 *
 * `start`: rows of the shard to skip (they were read before). `equal`: "drop" gives
 * every rank floor(rows / world) rows, "pad" ceil(rows / world), padded from the
 * beginning. `snapshot`: refused unless it is the loaded one. The other keys are
 * view.h's; ranks and rows are counted before the filter.
 */
#ifndef CACHE_PLAN_H
#define CACHE_PLAN_H

#include "cache/flight.h"
#include "cache/view.h"

enum { PLAN_PARTS = 2 };

struct plan {
	struct rows parts[PLAN_PARTS]; /* in order; a single empty one if no rows */
	size_t n;
	struct view *view; /* NULL: rows as stored */
	char *view_text;   /* as JSON, for tickets */
};

/*
 * Plan a read of the table. ERR_INVALID: a bad descriptor, with upstream's messages for a
 * path; ERR_LIMIT: rank >= world.
 */
MUST_CHECK int plan_read(struct plan *ret, const struct descriptor *d,
			 const struct table *t, struct error *err);
void plan_release(struct plan *p);
int64_t plan_rows(const struct plan *p); /* -1: unknown until read, because of a filter */

#endif
