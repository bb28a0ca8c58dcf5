/*
 * supervision.h - what the supervisors of a TrainJob tell: restarts, stalls, and where its
 * time went. Not in upstream.
 *
 * Rank 0's supervisor sends it to the status server as {"supervision": {...}}, in a body
 * without trainerStatus, which upstream's server answers and ignores. Ours puts the sum of
 * all such pods into SUPERVISION_ANNOTATION of the TrainJob. supervision.c is the only
 * file with these keys.
 */
#ifndef TRAINER_SUPERVISION_H
#define TRAINER_SUPERVISION_H

#include "base/json.h"

#define SUPERVISION_ANNOTATION "kftrainer.io/supervision"

enum supervision_slice {
	SUPERVISION_STARTING,
	SUPERVISION_PRODUCTIVE,
	SUPERVISION_STALLED,
	SUPERVISION_REPEATED,   /* below the highest progress seen */
	SUPERVISION_RESTARTING, /* from a failure to the next start */
	SUPERVISION_SLICES,
};
extern const char *const supervision_slices[SUPERVISION_SLICES]; /* "starting" */

struct supervision {
	int64_t restarts, lost; /* after a failure; after the loss of a pod */
	int64_t stalls;
	bool failed; /* a rank has, the last time first `rank`, with `status` */
	int64_t rank, status;
	int64_t since, at; /* seconds since 1970: its begin; of these numbers */
	int64_t seconds[SUPERVISION_SLICES];
};

/* {"supervision": {...}}, one line. */
void supervision_body(struct buf *out, const struct supervision *s);
/*
 * *ret_any: the body of a request has one. ERR_INVALID: a number that is missing, of the
 * wrong type, negative, or above 10^12.
 */
MUST_CHECK int supervision_read(struct supervision *ret, bool *ret_any, const cJSON *body,
				struct error *err);
/*
 * The text of the annotation after that pod told `s`; free() it. `old`: the text before,
 * or NULL; one that is invalid is dropped. *ret_before: what it said.
 */
char *supervision_merge(const char *old, const char *pod, const struct supervision *s,
			struct supervision *ret_before);
/* False: the TrainJob has none. */
bool supervision_of(struct supervision *ret, const cJSON *tj);
/* The sum, for programs; the caller's. `queued`: seconds before it began. */
cJSON *supervision_summary(const struct supervision *s, int64_t queued);

#endif
