/*
 * reports.h - take the progress reports of a supervised command (KEP-2779).
 *
 * A supervisor listens on 127.0.0.1, over TLS, and is the status server of its command:
 * the KUBEFLOW_TRAINER_SERVER_ variables of its environment name this listener, a CA and
 * a token of the supervisor's own. The paths of the two files are those of memory:
 * nothing is written to a disk, which may be read-only.
 *
 * A report is accepted if it has the token and passes the rules of trainer/progress.h.
 * Every sink gets it; then it goes to the job's status server, whose answer is the
 * command's, if that came soon. Without a server, or while it is away, the answer is the
 * one that the server gives to a valid report; the newest is sent later.
 *
 * A report has at most 64 KiB; more than 100 in a second get 429.
 */
#ifndef SUPERVISE_REPORTS_H
#define SUPERVISE_REPORTS_H

#include <stdint.h>

#include "base/error.h"

/*
 * Gets each accepted report: the object trainerStatus as one line of JSON
 * ({"progressPercentage": 4, "estimatedRemainingSeconds": 9, "metrics": [{"name": "loss",
 * "value": "0.1"}], "lastUpdatedTime": "..."}), its time as it was reported, of which every member but the last may be
 * absent. `json` ends with 0 and remains the caller's. In a thread of the listener, one
 * call at a time; must not block.
 */
struct report_sink {
	void (*take)(void *ctx, const char *json, size_t len, int64_t unix_ms);
	void *ctx;
};

struct reports;
/*
 * Changes the environment of this process, for the command, and no_proxy with it. After
 * the signals are blocked and before other threads use the environment. The sinks are
 * copied.
 */
MUST_CHECK int reports_start(struct reports **ret, const struct report_sink *sinks,
			     size_t n_sinks, struct error *err);
/* Tell the job's status server, if there is one, something about this supervisor. */
void reports_send(struct reports *r, const char *body, size_t len);
/* Sends what is kept, once more. NULL is fine. */
void reports_stop(struct reports *r);

#endif
