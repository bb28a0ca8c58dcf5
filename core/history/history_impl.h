/* history_impl.h - shared by the files of core/history. */
#ifndef HISTORY_HISTORY_IMPL_H
#define HISTORY_HISTORY_IMPL_H

#include "history/history.h"
#include "local/state.h"
#include "runs/checkpoint.h"
#include "runs/rundir.h"

#define HISTORY_STEP      "node" /* the name of the replicatedJob of all nodes */
#define HISTORY_CONTAINER "node"

enum {
	HISTORY_MAX_NODES = 10000,
	HISTORY_MAX_PODS = 50000,             /* nodes of all runs; each has a file */
	HISTORY_MAX_DOC = 4 * 1024 * 1024,    /* report.json, job.yaml */
	HISTORY_MAX_CODE = 64 * 1024 * 1024,  /* code.tar.zst */
	HISTORY_MAX_LINES = 64 * 1024 * 1024, /* bytes of one part of events or metrics */
};
#define HISTORY_MAX_LOGS (INT64_C(16) << 30) /* bytes of a run's output, also as stored */
#define HISTORY_MAX_READ (INT64_C(16) << 30) /* bytes of the lines of all runs */

/* Read report.json. `status`, `name` and `nodes` are valid. The caller owns *ret. */
MUST_CHECK int history_report(cJSON **ret, struct rundir *p, struct error *err);
/*
 * Read a document of job.yaml at `name`: the first one, the TrainJob as submitted, or the
 * last one, as stored. The caller owns *ret. ERR_NOT_FOUND.
 */
MUST_CHECK int history_job(cJSON **ret, struct rundir *p, const char *name, bool first,
			   struct error *err);
/* Has the supervisor of a running job updated the report lately? */
bool history_is_alive(const cJSON *report);

/* A file below attempts/: "3/logs/0.1.log.zst", "3/events.1.jsonl". */
struct history_part {
	const char *path;
	int64_t attempt, rank, number; /* rank -1: not a node's */
};
/*
 * The parts in the directory `dir`, named KIND.jsonl, KIND.1.jsonl, ..., or, if `kind` is
 * "log", those of the nodes; by rank, then by number.
 */
struct history_part *history_parts(struct arena *arena, const char *dir, const char *kind,
				   size_t *ret_n);
/* The same for a listing of attempts/; none if `kind` is "log". */
struct history_part *history_listed(struct arena *arena, const struct store_listing *list,
				    const char *kind, size_t *ret_n);

/* "events.2.jsonl" is number 2 of "events", "events.jsonl" 0. False: not such a name. */
bool history_number(const char *file, const char *kind, const char *ending, int64_t *ret);

/* The last report with metrics in the lines of `text`, which the caller owns; or NULL. */
cJSON *history_last_report(const char *text, size_t len);

/* Write the objects of the run to `run`. `dir` has the downloaded files of attempts/. */
MUST_CHECK int history_write(const struct state_run *run, const cJSON *tj,
			     const cJSON *report, const char *dir, struct error *err);
/* The JobSet that readers of local jobs expect; the caller owns it. */
cJSON *history_jobset(const cJSON *tj, const cJSON *report);
/* The TrainJob with the status of report.json; the caller owns it. */
cJSON *history_trainjob(const cJSON *submitted, const cJSON *report,
			const cJSON *progress);
/* Decompress the nodes' logs of `dir` to LOGS/POD/node.log. LOGS/POD exists for all nodes. */
MUST_CHECK int history_decode(const char *logs, const char *name, int64_t nodes,
			      const char *dir, struct error *err);
/* The name of a node's pod, in the arena. */
const char *history_pod(struct arena *arena, const char *name, int64_t rank);

#endif
