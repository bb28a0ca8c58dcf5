/* story_impl.h - shared by the files of core/story. */
#ifndef STORY_STORY_IMPL_H
#define STORY_STORY_IMPL_H

#include "local/state.h"
#include "runs/checkpoint.h"
#include "runs/rundir.h"
#include "story/story.h"

#define STORY_STEP      "node" /* the replicatedJob of all nodes, and their container */
#define STORY_CONTAINER "node"

enum {
	STORY_MAX_NODES = 10000,
	STORY_MAX_PODS = 50000,             /* nodes of all runs: each is a file */
	STORY_MAX_DOC = 4 * 1024 * 1024,    /* report.json, job.yaml */
	STORY_MAX_CODE = 64 * 1024 * 1024,  /* code.tar.zst */
	STORY_MAX_LINES = 64 * 1024 * 1024, /* bytes of one part of events or metrics */
};
#define STORY_MAX_LOGS (INT64_C(16) << 30) /* bytes of a run's output, also as stored */
#define STORY_MAX_READ (INT64_C(16) << 30) /* bytes of the lines of all runs */

/* report.json, checked: `status`, `name` and `nodes` are usable. */
MUST_CHECK int story_report(cJSON **ret, struct rundir *p, struct error *err);
/*
 * Read one document of job.yaml at `name`: the first is as submitted, the last as stored.
 * The caller frees it. ERR_NOT_FOUND.
 */
MUST_CHECK int story_job(cJSON **ret, struct rundir *p, const char *name, bool first,
			 struct error *err);
/* Has the supervisor of a run that is said to go on been heard of lately? */
bool story_is_alive(const cJSON *report);

/* A file below attempts/: "3/logs/0.1.log.zst", "3/events.1.jsonl". */
struct story_part {
	const char *path;
	int64_t attempt, rank, number; /* rank -1: not a node's */
};
/*
 * The parts in the directory `dir` whose names are KIND.jsonl, KIND.1.jsonl, ..., or, KIND
 * "log", of nodes; by rank, then in the order in which they were written.
 */
struct story_part *story_parts(struct arena *arena, const char *dir, const char *kind,
			       size_t *ret_n);
/* The same of a listing of attempts/; of KIND "log" none. */
struct story_part *story_listed(struct arena *arena, const struct store_listing *list,
				const char *kind, size_t *ret_n);

/* "events.2.jsonl" is number 2 of "events", "events.jsonl" 0. False: not such a name. */
bool story_number(const char *file, const char *kind, const char *ending, int64_t *ret);

/* The last report of {"metrics": [...]} in `text`; NULL: none. The caller's. */
cJSON *story_last_report(const char *text, size_t len);

/* Make the objects of the run in `run`. `dir` has what was fetched of attempts/. */
MUST_CHECK int story_write(const struct state_run *run, const cJSON *tj,
			   const cJSON *report, const char *dir, struct error *err);
/* The JobSet that readers of jobs look for; the caller's. */
cJSON *story_jobset(const cJSON *tj, const cJSON *report);
/* The TrainJob with the status that report.json tells; the caller's. */
cJSON *story_trainjob(const cJSON *submitted, const cJSON *report, const cJSON *progress);
/* Decode the logs of a job's nodes in `dir`: LOGS/POD/node.log; LOGS/POD is there for all. */
MUST_CHECK int story_decode(const char *logs, const char *name, int64_t nodes,
			    const char *dir, struct error *err);
/* The name of a node's pod, in the arena. */
const char *story_pod(struct arena *arena, const char *name, int64_t rank);

#endif
