/*
 * runs.h - keep the run directory of a job, next to the command of one rank.
 *
 * Two threads: one sends logs, events, metrics and the report every RUNS_TEXT_MS; one
 * looks for checkpoints that are finished, and sends them. A place that refuses, is slow
 * or gone never stops the command: all is sent later, and the log has one line a minute.
 *
 * A checkpoint is complete when all ranks have sent their files. Rank 0 finds that one is
 * finished, and makes a mark that names it. The others, when they hear the mark, send what
 * they have of it, then say that mark. Then rank 0 writes NAME.complete, and goes on with
 * the newest. The caller brings the marks from one to the other: an answer is of the
 * attempt in which it is made, as a new rank 0 makes the same marks again. Only what was
 * finished in an attempt that this process has seen begin is sent: of the one before,
 * another rank's files may be lost.
 */
#ifndef RUNS_RUNS_H
#define RUNS_RUNS_H

#include "base/error.h"
#include "base/json.h"

enum { RUNS_TEXT_MS = 8 * 1000, RUNS_KEEP = 3 };
enum { RUNS_ALL_SENT = UINT32_MAX }; /* the mark of a rank that has ended */

struct runs_conf {
	const char *uri;
	const char *(*env)(void *ctx, const char *name); /* as store_conf's */
	void *env_ctx;
	const cJSON *job;     /* the TrainJob, rank 0's; or NULL */
	const char *code;     /* its directory, or NULL */
	const char *dir;      /* of the checkpoints; or NULL: none */
	const char *version;  /* of this program */
	uint32_t rank, ranks; /* rank < ranks */
	int64_t keep;         /* complete checkpoints; 0: all */
	int64_t grace_ms;     /* from TERM to KILL; 0: unknown */
	bool resume;          /* also if another job has used the run directory */
	/* A line for the log; from any thread. */
	void (*say)(void *ctx, const char *text);
	void *ctx;
};

struct runs;
/*
 * *ret: NULL, all ranks of this job have succeeded before: this one's pod was lost as they
 * ended, and nobody is left to train with. conf must remain. Rank 0 claims the run directory: ERR_EXISTS, it is another job's;
 * ERR_STOPPED, by stop_request() (base/stop.h); other errors after ten minutes.
 */
MUST_CHECK int runs_open(struct runs **ret, const struct runs_conf *conf,
			 struct error *err);

uint32_t runs_attempt(struct runs *r); /* rank 0: of the next start; counts up */
void runs_begin(struct runs *r, uint32_t attempt, int64_t restart);
/* The command's output; from any thread. */
void runs_output(struct runs *r, const void *data, size_t len);
void runs_log(struct runs *r, const char *text);
/* As report_sink's take (supervise/reports.h). */
void runs_report(void *runs, const char *json, size_t len, int64_t unix_ms);
/* The command has ended; `status` as a shell has it. Of rank 0: all ranks'. */
void runs_ended(struct runs *r, int status);

int runs_fd(const struct runs *r);  /* an eventfd: one of what follows may be new */
uint32_t runs_mark(struct runs *r); /* rank 0's */
void runs_heard(struct runs *r, uint32_t mark);      /* the others: rank 0's mark */
uint32_t runs_marked(struct runs *r);                /* theirs: what they have said */
void runs_all_marked(struct runs *r, uint32_t mark); /* rank 0: by all others */

/* No more comes of the command: send all. */
void runs_flush(struct runs *r);
/* All is sent; or given up: ten minutes without any progress. */
bool runs_is_flushed(struct runs *r);
/* A line that names what is not sent, and why; false: nothing. */
bool runs_unsent(struct runs *r, char *text, size_t size);
/* Rank 0: no other rank is left to say a mark. */
void runs_alone(struct runs *r);
/* The end of the job is known: the report says it while the rest is sent. */
void runs_end(struct runs *r, int status, bool stopped);
/* The command starts again after all. */
void runs_unflush(struct runs *r);
/* The counts of rank 0's supervisor: supervision_body() (trainer/supervision.h). */
void runs_count(struct runs *r, const void *supervision, size_t len);
/* The end of the job, as far as this rank knows; waits so long for its last words. */
void runs_close(struct runs *r, int status, bool stopped, int64_t wait_ms);

#endif
