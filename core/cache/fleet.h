/*
 * fleet.h - the head's workers and the rows that each has.
 *
 * Each worker has rows of its own, assigned when it appears and again when it restarts.
 * Until all have had theirs once, all are needed; a head that finds rows which it has not
 * assigned has restarted, and knows that they had.
 * If a worker does not answer for conf->takeover_ms, its rows are lent to the others, a
 * part to each; a part that does not fit in one is lent to the next. Once the worker has
 * its rows again, the loans remain for takeover_ms, at least 10 s, unless their memory is
 * needed: readers may still have their tickets.
 */
#ifndef CACHE_FLEET_H
#define CACHE_FLEET_H

#include "base/json.h"
#include "cache/serve.h"
#include "cache/table.h"

struct fleet;

/* conf and the table must outlive it. One thread polls each worker. */
MUST_CHECK int fleet_start(struct fleet **ret, const struct cache_conf *conf,
			   const struct table *table, struct error *err);
void fleet_stop(struct fleet *f); /* after stop_request(); frees */

bool fleet_ready(struct fleet *f);              /* fleet_find() finds all rows */
const char *fleet_table(const struct fleet *f); /* table_name() */

/* The worker from which a client reads `rows`, all of which it has: an endpoint. */
struct holder {
	const struct cache_address *address;
	struct rows rows;
};
struct holders {
	struct holder *at;
	size_t n, cap;
};
void holders_release(struct holders *h);

/*
 * Append the holders of these rows, in the order of the rows; for no rows, a holder of
 * the schema. ERR_BUSY, with the cause: some rows cannot be read now.
 */
MUST_CHECK int fleet_find(struct fleet *f, struct rows rows, struct holders *ret,
			  struct error *err);

cJSON *fleet_describe(struct fleet *f); /* the result of the head's action "stats" */

#endif
