/*
 * plan.h - which rows a descriptor asks for.
 *
 * A path is upstream's: [rank, world], further elements ignored. A command is JSON:
 *
 *     {"rank": 3, "world": 8, "start": 1000, "equal": "drop"}
 *
 * `start` rows of the shard were read before: the rest is wanted. `equal`: "drop" gives
 * every rank floor(rows / world) rows, "pad" ceil(rows / world), the last ones from the
 * beginning again.
 */
#ifndef CACHE_PLAN_H
#define CACHE_PLAN_H

#include "cache/flight.h"

enum { PLAN_PARTS = 2 };

struct plan {
	struct rows parts[PLAN_PARTS]; /* in order; one without rows if there are none */
	size_t n;
};

/*
 * Of a table with n rows. ERR_INVALID: no such descriptor, with upstream's texts for a
 * path; ERR_LIMIT: a rank beyond the world.
 */
MUST_CHECK int plan_read(struct plan *ret, const struct descriptor *d, int64_t n,
			 struct error *err);
int64_t plan_rows(const struct plan *p);

#endif
