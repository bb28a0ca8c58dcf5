/*
 * story.h - a run directory (docs/runs.md) as jobs of this machine: commands read a run
 * whose pods are gone as they read a local job.
 *
 * What a command needs is fetched into a private directory, in the layout of the state
 * directory (local/state.h), and XDG_STATE_HOME names it from then on. Everything in a run
 * directory is untrusted: names are checked, sizes and counts have limits.
 */
#ifndef STORY_STORY_H
#define STORY_STORY_H

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"

struct story_conf {
	const char *uri;
	const char *(*env)(void *ctx, const char *name); /* as store_conf's */
	void *ctx;
	/*
	 * Choose one of several runs, or all; neither: ERR_USAGE. A run that cannot be read is
	 * reported, by its URI, and left out, unless it is the only one.
	 */
	const char *name;
	bool all;
	void (*on_fault)(const char *uri, const char *why); /* or NULL */
};

struct story;

/*
 * The run at the URI, or the runs below it, each a job without its logs. Sets
 * XDG_STATE_HOME: once in a process, before its first thread. ERR_NOT_FOUND: no run is
 * there; ERR_FORMAT: report.json, job.yaml or lines are damaged, with the file's name;
 * ERR_LIMIT; those of the store.
 */
MUST_CHECK int story_open(struct story **ret, const struct story_conf *conf,
			  struct error *err);
/*
 * The names of the jobs; ends with NULL. A run has that of its TrainJob; of those that
 * have the same, each has its path added: "bert.2026-run-2".
 */
char **story_names(const struct story *s);
/* The job's; of another name, that of the first job. */
const char *story_namespace(const struct story *s, const char *name);
const char *story_option(const struct story *s); /* " --from URI", without secrets */
/*
 * Fetch the job's output, once. Safe to call from several threads. ERR_FORMAT: a log is
 * damaged, with its name; what comes before is there. A name of no job is fine.
 */
MUST_CHECK int story_logs(struct story *s, const char *name, struct error *err);
void story_close(struct story *s); /* removes the directory; NULL is fine */

/* The submission of a run, to submit it again. */
struct story_origin {
	cJSON *trainjob; /* as its user wrote it, or as it is stored */
	struct buf code; /* code.tar.zst; empty: it has none */
};
/*
 * Release in every case. ERR_BUSY: the run goes on; ERR_NOT_FOUND; ERR_FORMAT: report.json
 * or job.yaml is damaged; those of the store.
 */
MUST_CHECK int story_origin(struct story_origin *ret, const struct story_conf *conf,
			    struct error *err);
void story_origin_release(struct story_origin *o);
#define cleanup_story_origin __attribute__((cleanup(story_origin_release)))

enum { STORY_MAX_RUNS = 10000 };

/*
 * The runs below a URI, newest first: an array of the caller's; of conf, the URI and env.
 * Of each: its report.json with `uri`, `progress` (percent; absent: unknown) and `metrics` ([{name, value}]), as it
 * reported them last. One that cannot be read has `uri` and `fault`, the error's text.
 * ERR_LIMIT: more than STORY_MAX_RUNS.
 */
MUST_CHECK int story_list(cJSON **ret, const struct story_conf *conf, struct error *err);

/*
 * Calls each() with what the run at conf's URI has reported, lines of metrics.jsonl, in
 * their order; of conf, the URI and env. Nothing is written. ERR_UNSUPPORTED: it is on the
 * disk of another machine (file, pvc); ERR_LIMIT: there is more than is read; those of the
 * store. What came before an error counts.
 */
MUST_CHECK int story_reports(const struct story_conf *conf,
			     void (*each)(void *ctx, const cJSON *report), void *ctx,
			     struct error *err);

CLEANUP(story, struct story *, story_close);
#define cleanup_story __attribute__((cleanup(cleanup_storyp)))

#endif
