/*
 * report.h - what went wrong, said once and at the end.
 *
 * Listens to what containers write and how they end, and tells the rank that
 * failed first (when one rank fails, launchers and peers end the others: what
 * they say is noise), its last lines, a hint where the cause is known, and
 * where the logs are.
 *
 * A rank that ended for want of a peer, by what it wrote, is not the first where
 * another ended within REPORT_TOGETHER_MS for a reason of its own: launchers look
 * after their processes every few seconds only, so that the order in which they
 * end is a matter of chance.
 *
 * A failure that its rank left behind - it ran on for REPORT_OVERCOME_MS after
 * a restart - is not the one that ended the job.
 */
#ifndef LOCAL_REPORT_H
#define LOCAL_REPORT_H

#include "base/buf.h"
#include "base/json.h"

enum {
	REPORT_LINES = 20,     /* of a container, before it failed */
	REPORT_LINE_MAX = 512, /* bytes of each; the rest is in the log */
	REPORT_FAILURES = 256, /* remembered; beyond that the oldest are forgotten */
	REPORT_OVERCOME_MS = 60000,
	REPORT_TOGETHER_MS = 15000,
};

struct report;

/* The JobSet must live as long. Times are any clock's, in ms. */
struct report *report_new(const cJSON *jobset, int64_t start_ms);
void report_free(struct report *r);

/* A line of a container. Returns whose it is, for people: "node-0" (places.h). */
const char *report_line(struct report *r, const char *pod, const char *container,
			const char *line, size_t len, int64_t now_ms);

/* A pod's v1.PodStatus changed. Not to be called for pods that are being stopped. */
void report_status(struct report *r, const char *pod, const cJSON *status,
		   int64_t now_ms);

/* A pod is gone for good; what it wrote is needed no more. */
void report_forget(struct report *r, const char *pod);

/* Everything begins anew: what failed before does not count. */
void report_restart(struct report *r);

/* The exit code of the container that failed first, 128+N for a signal; 0: none did. */
int report_exit_code(const struct report *r);

/*
 * The report, lines with newlines; nothing when no container failed. `logs` is
 * the folder, `name` the job's.
 */
void report_print(struct buf *out, const struct report *r, const char *logs,
		  const char *name);

#endif
