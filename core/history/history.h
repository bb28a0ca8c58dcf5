/*
 * history.h - read run directories (docs/runs.md) as local jobs, such as runs whose pods are
 * gone.
 *
 * Downloads what a command needs into a private directory with the layout of the state
 * directory (local/state.h), and sets XDG_STATE_HOME to it. Run directories are untrusted:
 * names are checked, sizes and counts have limits.
 */
#ifndef HISTORY_HISTORY_H
#define HISTORY_HISTORY_H

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"

struct history_conf {
	const char *uri;
	const char *(*env)(void *ctx, const char *name); /* as in store_conf */
	void *ctx;
	const char *name; /* of several runs, choose this one; or NULL */
	bool all;         /* choose all */
	/* Reports a run that cannot be read and is skipped, unless it is the only one. */
	void (*on_fault)(const char *uri, const char *why); /* or NULL */
};

struct history;

/*
 * Read the run at the URI, or the runs below it, without logs. Sets XDG_STATE_HOME: call it
 * once in a process, before its first thread. ERR_NOT_FOUND: no run; ERR_USAGE: several, and
 * none is chosen; ERR_FORMAT: report.json, job.yaml or lines are damaged, with the file's
 * name; ERR_LIMIT; errors of core/store.
 */
MUST_CHECK int history_open(struct history **ret, const struct history_conf *conf,
			    struct error *err);
/*
 * The names of the jobs, which end with NULL: those of the TrainJobs, with the path added if
 * several runs have the same name: "bert.2026-run-2".
 */
char **history_names(const struct history *s);
/* The namespace of the job; if there is no such job, that of the first one. */
const char *history_namespace(const struct history *s, const char *name);
const char *history_option(const struct history *s); /* " --from URI", without secrets */
/*
 * Download the job's logs, once; no error if there is no such job. From any thread.
 * ERR_FORMAT: a log is damaged, with its name; the part before the damage is kept, a line
 * that says so follows it, and the other logs are whole.
 */
MUST_CHECK int history_logs(struct history *s, const char *name, struct error *err);
void history_close(struct history *s); /* removes the directory; NULL is fine */

/* The submission of a run, to submit it again. */
struct history_origin {
	cJSON *trainjob; /* as its user wrote it, or as it is stored */
	struct buf code; /* code.tar.zst; empty: the run has none */
};
/*
 * Release *ret also after an error. ERR_BUSY: the run goes on; ERR_NOT_FOUND; ERR_FORMAT:
 * report.json or job.yaml is damaged; errors of core/store.
 */
MUST_CHECK int history_origin(struct history_origin *ret, const struct history_conf *conf,
			      struct error *err);
void history_origin_release(struct history_origin *o);
#define cleanup_history_origin __attribute__((cleanup(history_origin_release)))

enum { HISTORY_MAX_RUNS = 10000 };

/*
 * List the runs below conf->uri, the newest first, as an array that the caller owns. An
 * element is report.json with the members `uri`, `progress` (percent; absent: unknown) and
 * `metrics` ([{name, value}]) of the last report; of a run that cannot be read, {uri, fault},
 * with the error's text. Only conf's uri and env are used. ERR_LIMIT: more than
 * HISTORY_MAX_RUNS.
 */
MUST_CHECK int history_list(cJSON **ret, const struct history_conf *conf,
			    struct error *err);

/*
 * Call each() with the lines of metrics.jsonl of the run at conf->uri, in order; the calls
 * before an error are valid. Only conf's uri and env are used; nothing is written.
 * ERR_UNSUPPORTED: the run is on the disk of another machine (file, pvc); ERR_LIMIT; errors
 * of core/store.
 */
MUST_CHECK int history_reports(const struct history_conf *conf,
			       void (*each)(void *ctx, const cJSON *report), void *ctx,
			       struct error *err);

CLEANUP(history, struct history *, history_close);
#define cleanup_history __attribute__((cleanup(cleanup_historyp)))

#endif
