/*
 * progress.h - what training code reports about itself (KEP-2779): the request's body
 * {"trainerStatus": {...}} and TrainJob.status.trainerStatus. progress.c is the only
 * file with these keys. Follows upstream's UpdateTrainJobStatusRequest.
 */
#ifndef TRAINER_PROGRESS_H
#define TRAINER_PROGRESS_H

#include "base/arena.h"
#include "base/json.h"

/*
 * From the body to what is stored and echoed; the caller's; NULL: it reports nothing.
 * Unknown members are left out, empty lists too, lastUpdatedTime becomes whole seconds
 * in UTC. ERR_INVALID: a member of the wrong type, an integer beyond int32, no RFC 3339.
 * Ranges, lengths and what must be there are the schema's business.
 */
MUST_CHECK int progress_read(cJSON **ret, const cJSON *body, struct error *err);

/* Of our own: per cent, seconds to go (< 0: not known), when. The caller's. */
cJSON *progress_new(int percent, int64_t seconds_left, int64_t now);

/* {"trainerStatus": progress}, or {} without; the caller's. */
cJSON *progress_echo(const cJSON *progress);

void progress_put(cJSON *tj, const cJSON *progress); /* into its status */

/* What a TrainJob says of it: -1 where it says nothing. */
int64_t progress_percentage(const cJSON *tj);
int64_t progress_remaining(const cJSON *tj);   /* seconds */
const char *progress_updated(const cJSON *tj); /* RFC 3339, or NULL */

/* "running: 42 %, 3m10s left", of what has been reported; in the arena, or static. */
const char *progress_line(struct arena *arena, const cJSON *tj);

#endif
