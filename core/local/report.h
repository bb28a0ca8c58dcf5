/*
 * report.h - find the rank that failed first, and report it at the end.
 *
 * Follows the output and the exit of containers. Reports the rank that failed first
 * (when one rank fails, launchers and peers end the others: their errors are noise),
 * its last lines, a hint if the cause is known, and the path of the logs.
 *
 * A rank whose output blames a lost peer is not the first if another rank failed within
 * REPORT_TOGETHER_MS for a reason of its own: launchers poll their processes every few
 * seconds, so the order of exits is random.
 *
 * A failure that its rank survived by REPORT_OVERCOME_MS after a restart did not end
 * the job.
 */
#ifndef LOCAL_REPORT_H
#define LOCAL_REPORT_H

#include "base/buf.h"
#include "base/json.h"

enum {
	REPORT_LINES = 20,     /* of a container, before it failed */
	REPORT_LINE_MAX = 512, /* bytes of each; the rest is in the log */
	REPORT_FAILURES = 256, /* stored; the oldest are dropped */
	REPORT_OVERCOME_MS = 60000,
	REPORT_TOGETHER_MS = 15000,
};

struct report;

/* The JobSet must outlive the report. Times are in ms, of any one clock. */
struct report *report_new(const cJSON *jobset, int64_t start_ms);
void report_free(struct report *r);

/* The hints about host names and ports in use say that `from` is mapped to `to`. */
void report_mapped_port(struct report *r, int from, int to);

/*
 * Record a line of a container; its colors are dropped. Returns the label to show with
 * it, such as "node-0", as report_prefix() does.
 */
const char *report_line(struct report *r, const char *pod, const char *container,
			const char *line, size_t len, int64_t now_ms);

const char *report_prefix(struct report *r, const char *pod, const char *container);

/* A pod's v1.PodStatus changed. Not to be called for pods that are being stopped. */
void report_status(struct report *r, const char *pod, const cJSON *status,
		   int64_t now_ms);

/* Drop a pod that will not be restarted, with its output. */
void report_forget(struct report *r, const char *pod);

/* All pods are recreated: drop earlier failures. */
void report_restart(struct report *r);

/* The exit code of the container that failed first, 128+N for a signal; 0: none did. */
int report_exit_code(const struct report *r);

/*
 * The report, lines with newlines; nothing when no container failed. `logs` is
 * the directory, `name` the job in a command.
 */
void report_print(struct buf *out, const struct report *r, const char *logs,
		  const char *name);

#endif
