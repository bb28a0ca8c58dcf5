/*
 * ui.h - the page of `kftrainer ui`: TrainJobs as HTML, for the browser of this user.
 */
#ifndef UI_UI_H
#define UI_UI_H

#include "base/json.h"
#include "kube/kube.h"

struct ui_conf {
	struct kube *kube; /* outlives the page; used by several threads */
	const char *ns;    /* NULL: all namespaces */
	int port;          /* 0: any */
	int64_t idle_ms;   /* stop after this time without a request; 0: never */
	bool read_only;    /* jobs of the past, which cannot be changed */
	/* Called once, with the URL to open: it has the token. */
	void (*on_ready)(void *ctx, const char *url);
	/*
	 * Calls each() with the job's reports, lines of metrics.jsonl (docs/runs.md), after
	 * *at, which begins as { 0 }. NULL, or false: they are not stored; points are then made
	 * of the reports in the job's status.
	 */
	bool (*reports)(const char *ns, const char *name, int64_t at[2],
			void (*each)(void *arg, const cJSON *report), void *arg);
	/*
	 * Calls each() with all reports in a run directory, in the order of time, then
	 * fails if some could not be read. NULL: run directories are not read. Called by several threads.
	 */
	int (*history)(void *ctx, const char *run_dir,
		       void (*each)(void *arg, const cJSON *report), void *arg,
		       struct error *err);
	/* Fetches the logs of a job before they are read; NULL: not needed. Thread-safe. */
	int (*logs)(void *ctx, const char *name, struct error *err);
	void *ctx;
};

/* Serve until stop_requested() or idle. ERR_IO: the port is in use. */
MUST_CHECK int ui_serve(const struct ui_conf *conf, struct error *err);

#endif
