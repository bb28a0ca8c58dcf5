/*
 * reports.h - receive the progress reports of a supervised command (KEP-2779).
 *
 * A supervisor listens on 127.0.0.1, over TLS, as the status server of its command: the
 * variables KUBEFLOW_TRAINER_SERVER_* name this listener, and a CA and token that are made
 * for it, as files in memory (memfd): the disk may be read-only.
 *
 * A report is accepted if it has the token and follows the rules of trainer/progress.h. It is
 * passed to every sink, and forwarded to the job's status server, whose answer the command
 * gets if it arrives soon. Without a server, or while it cannot be reached, the command gets
 * the answer to a valid report, and the newest report is forwarded later.
 *
 * A report has at most 64 KiB; the 101st in a second, and further ones, get 429.
 */
#ifndef SUPERVISE_REPORTS_H
#define SUPERVISE_REPORTS_H

#include <stdint.h>

#include "base/error.h"

/*
 * Gets each accepted report: the object trainerStatus as one line of JSON,
 * {"progressPercentage": 4, "estimatedRemainingSeconds": 9, "metrics": [{"name": "loss",
 * "value": "0.1"}], "lastUpdatedTime": "..."}, of which only the last member is always
 * present; unix_ms: when it was received. `json` ends with 0 and is valid during the call.
 * Called in threads of the listener, one call at a time; must not block.
 */
struct report_sink {
	void (*take)(void *ctx, const char *json, size_t len, int64_t unix_ms);
	void *ctx;
};

struct reports;
/*
 * Start the listener, and set the variables and no_proxy in the environment of this process,
 * for the command. Call it after the signals are blocked and before other threads use the
 * environment. The sinks are copied.
 */
MUST_CHECK int reports_start(struct reports **ret, const struct report_sink *sinks,
			     size_t n_sinks, struct error *err);
/* Send a report about this supervisor to the job's status server, if there is one. */
void reports_send(struct reports *r, const char *body, size_t len);
/* Stop, after a last try to forward what is kept. NULL is fine. */
void reports_stop(struct reports *r);

#endif
