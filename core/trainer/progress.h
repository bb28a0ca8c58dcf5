/*
 * progress.h - progress reported by training code (KEP-2779): the request's body
 * {"trainerStatus": {...}} and TrainJob.status.trainerStatus. progress.c is the only file
 * with these keys. Follows upstream's UpdateTrainJobStatusRequest.
 */
#ifndef TRAINER_PROGRESS_H
#define TRAINER_PROGRESS_H

#include "base/arena.h"
#include "base/json.h"

/*
 * Convert a body to the status to store and echo, owned by the caller; NULL: it reports
 * nothing. Unknown members and empty lists are dropped, lastUpdatedTime becomes whole
 * seconds in UTC. ERR_INVALID: a member of the wrong type, an integer beyond int32, a
 * time not in RFC 3339. The schema checks ranges, lengths and required members.
 */
MUST_CHECK int progress_read(cJSON **ret, const cJSON *body, struct error *err);
/* The body in the text of a request: what follows its first value is ignored. */
MUST_CHECK int progress_body(cJSON **ret, const char *text, size_t len,
			     struct error *err);
/* Both. */
MUST_CHECK int progress_parse(cJSON **ret, const char *text, size_t len,
			      struct error *err);
/* Put the time as that text has it, with its fraction, in place of whole seconds. */
void progress_keep_time(cJSON *progress, const char *text, size_t len);
/* The schema's rules for such a status, where no API server checks them. ERR_INVALID. */
MUST_CHECK int progress_check(const cJSON *progress, struct error *err);

/*
 * A status of our own: percent, seconds left (< 0: unknown), time. Owned by the caller.
 */
cJSON *progress_new(int percent, int64_t seconds_left, int64_t now);

/* {"trainerStatus": progress}, or {} without; the caller's. */
cJSON *progress_echo(const cJSON *progress);
/* A metav1.Status of the failure; the caller's. */
cJSON *progress_refusal(int code, const char *reason, const char *message);

void progress_put(cJSON *tj, const cJSON *progress); /* into its status */
/* The same of a line of metrics.jsonl (docs/runs.md), which has `time`. */
void progress_put_line(cJSON *tj, const cJSON *line);
const cJSON *progress_of(const cJSON *status); /* NULL: it has none */

/* Members of a TrainJob's status; -1: absent. */
int64_t progress_percentage(const cJSON *tj);
int64_t progress_remaining(const cJSON *tj);   /* seconds */
const char *progress_updated(const cJSON *tj); /* RFC 3339, or NULL */
int64_t progress_updated_ms(const cJSON *tj);  /* since 1970, with its fraction */
/* Names of metrics that count steps; ends with NULL. */
extern const char *const progress_step_names[];
/* The highest of these in the metrics of a status, at most 2^32 - 1; 0: none. */
int64_t progress_step(const cJSON *progress);
/* An array of objects with `name` and `value`, both strings, unchecked; NULL: none. */
const cJSON *progress_metric_list(const cJSON *tj);

#endif
