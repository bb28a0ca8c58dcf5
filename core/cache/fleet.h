/*
 * fleet.h - the workers, as the head sees them: who has which rows.
 *
 * Each worker has rows of its own. The head gives them to it when it appears, and again
 * when it restarts. The rows of one that is away for longer than conf->takeover_ms are
 * lent to the others, a part to each; what does not fit in one is offered to the next.
 * They are given back when it has its rows again.
 */
#ifndef CACHE_FLEET_H
#define CACHE_FLEET_H

#include "base/json.h"
#include "cache/dataset.h"
#include "cache/serve.h"

struct fleet;

/* conf and the data set outlive it. One thread asks each worker how it is. */
MUST_CHECK int fleet_start(struct fleet **ret, const struct cache_conf *conf,
			   const struct dataset *dataset, struct error *err);
void fleet_stop(struct fleet *f); /* after stop_request(); frees */

bool fleet_ready(struct fleet *f); /* all workers had their rows, once */

/* Where a client reads `rows`: their ticket. */
struct holder {
	const struct cache_worker_place *place;
	struct rows rows;
};
struct holders {
	struct holder *at;
	size_t n, cap;
};
void holders_release(struct holders *h);

/*
 * Appends who has these rows, in the order of the rows; for no rows, who has the schema.
 * All get the same ticket, but where rows are lent each its own. ERR_BUSY: some cannot be
 * read now; the message says why.
 */
MUST_CHECK int fleet_find(struct fleet *f, struct rows rows, struct holders *ret,
			  struct error *err);

cJSON *fleet_describe(struct fleet *f); /* of the head's action "stats" */

#endif
