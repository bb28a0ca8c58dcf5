/*
 * supervision.h - the reports of a TrainJob's supervisors: restarts, stalls, and where its
 * time went. Not in upstream.
 *
 * Rank 0's supervisor sends it to the status server as {"supervision": {...}}, in a body
 * without trainerStatus, which upstream's server answers and ignores. Ours puts the sum of
 * all such pods into status.supervision of the TrainJob, which upstream's CRD prunes.
 * supervision.c is the only file with these keys.
 */
#ifndef TRAINER_SUPERVISION_H
#define TRAINER_SUPERVISION_H

#include "base/json.h"

/* The reasons of events. */
#define SUPERVISED_RESTARTED "Restarted"
#define SUPERVISED_REJOINED  "Rejoined" /* after the loss of a pod */
#define SUPERVISED_STALLED   "Stalled"

enum supervision_slice {
	SUPERVISION_QUEUED, /* no supervisor yet, or suspended; known to the server */
	SUPERVISION_STARTING,
	SUPERVISION_PRODUCTIVE,
	SUPERVISION_STALLED,
	SUPERVISION_REPEATED,   /* below the highest progress seen */
	SUPERVISION_RESTARTING, /* from a failure to the next start */
	SUPERVISION_SLICES,
};
extern const char *const supervision_slices[SUPERVISION_SLICES]; /* "queued" */

struct supervision {
	int64_t restarts, lost; /* after a failure; after the loss of a pod */
	int64_t stalls;
	bool failed; /* the last time a rank did, first `rank` with `status`; not a stall */
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
 * Put into the status of `to` what the TrainJob `tj` says after that pod told `s`. A value
 * before that is invalid is dropped. *ret_before, *ret_all: the sums before and now.
 */
void supervision_merge(cJSON *to, const cJSON *tj, const char *pod,
		       const struct supervision *s, struct supervision *ret_before,
		       struct supervision *ret_all);
/* Percent of its time that was productive; -1: it has none yet. */
int supervision_goodput(const struct supervision *s);
/* False: the TrainJob has none. */
bool supervision_of(struct supervision *ret, const cJSON *tj);

#endif
