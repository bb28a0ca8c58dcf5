/*
 * plan.h - which rows a descriptor asks for.
 *
 * A path is upstream's: [rank, world], further elements ignored. A command is JSON:
 *
 *     {"rank": 3, "world": 8, "start": 1000, "equal": "drop", "columns": ["id"]}
 *
 * `start` rows of the shard were read before: the rest is wanted. `equal`: "drop" gives
 * every rank floor(rows / world) rows, "pad" ceil(rows / world), the last ones from the
 * beginning again. "snapshot": refused unless it is the one that is loaded. The rest are view.h's keys; ranks and rows are counted before a filter.
 */
#ifndef CACHE_PLAN_H
#define CACHE_PLAN_H

#include "cache/flight.h"
#include "cache/view.h"

enum { PLAN_PARTS = 2 };

struct plan {
	struct rows parts[PLAN_PARTS]; /* in order; one without rows if there are none */
	size_t n;
	struct view *view; /* NULL: rows as they are */
	char *view_text;   /* as JSON, for tickets */
};

/*
 * Of a table. ERR_INVALID: no such descriptor, with upstream's texts for a path;
 * ERR_LIMIT: a rank beyond the world.
 */
MUST_CHECK int plan_read(struct plan *ret, const struct descriptor *d,
			 const struct table *t, struct error *err);
void plan_release(struct plan *p);
int64_t plan_rows(const struct plan *p); /* -1: not known before they are read */

#endif
