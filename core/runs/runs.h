/*
 * runs.h - write the run directory of a job (docs/runs.md) from the supervisor of a rank.
 *
 * Two threads: one uploads logs, events, metrics and the report every RUNS_TEXT_MS; one
 * finds finished checkpoints and uploads them. A store that refuses, is slow or cannot be
 * reached never stops the command: uploads are retried, and the log has at most one line a
 * minute.
 *
 * A checkpoint is complete when all ranks have uploaded their files. Rank 0 finds a finished
 * one and publishes a sync, a number that names it. Each other rank that receives the sync
 * uploads its files of that checkpoint and acknowledges the sync; then rank 0 writes
 * NAME.complete. The caller transports syncs and acknowledgments. An acknowledgment is valid
 * in the attempt in which it was made: a new rank 0 publishes the same numbers. Only
 * checkpoints of attempts that this process has seen begin are uploaded: of earlier ones,
 * files of other ranks may be lost.
 */
#ifndef RUNS_RUNS_H
#define RUNS_RUNS_H

#include "base/error.h"
#include "base/json.h"

enum { RUNS_TEXT_MS = 8 * 1000, RUNS_KEEP = 3 };
enum { RUNS_ALL_SENT = UINT32_MAX }; /* acknowledges all syncs: the rank has ended */

struct runs_conf {
	const char *uri;
	const char *(*env)(void *ctx, const char *name); /* as in store_conf */
	void *env_ctx;
	const cJSON *job;     /* rank 0: the TrainJob; or NULL */
	const char *code;     /* the directory of its code; or NULL */
	const char *dir;      /* KFTRAINER_CHECKPOINT_DIR; NULL: no checkpoints */
	const char *version;  /* of this program */
	uint32_t rank, ranks; /* rank < ranks */
	int64_t keep;         /* the number of complete checkpoints to keep; 0: all */
	int64_t grace_ms;     /* the pod's time from TERM to KILL; 0: unknown */
	bool resume;          /* take over the run directory of another job */
	/* Logs a line; from any thread. */
	void (*say)(void *ctx, const char *text);
	void *ctx;
};

struct runs;
/*
 * Open the run directory and start the threads; rank 0 claims it. conf must stay valid until
 * the process ends. *ret: NULL: all ranks of this job have succeeded before. ERR_EXISTS: it
 * belongs to another job; ERR_STOPPED: stop_request() (base/stop.h); other errors after ten
 * minutes of retries.
 */
MUST_CHECK int runs_open(struct runs **ret, const struct runs_conf *conf,
			 struct error *err);

/* Rank 0: the number of the next attempt, which is counted up. */
uint32_t runs_attempt(struct runs *r);
/* An attempt begins; `restart` is the number of starts before it. */
void runs_begin(struct runs *r, uint32_t attempt, int64_t restart);
/* Append output of the command; from any thread. */
void runs_output(struct runs *r, const void *data, size_t len);
/* Append a line of the supervisor to the output and, on rank 0, the events. */
void runs_log(struct runs *r, const char *text);
/* As report_sink.take (supervise/reports.h). */
void runs_report(void *runs, const char *json, size_t len, int64_t unix_ms);
/* The command has ended, on rank 0 that of all ranks; `status`: 128 + signal, as in sh(1). */
void runs_ended(struct runs *r, int status);

int runs_fd(
	const struct runs *r); /* an eventfd: readable when a value below may be new */
uint32_t runs_sync(struct runs *r);                     /* rank 0: the sync to publish */
void runs_sync_received(struct runs *r, uint32_t sync); /* a rank but 0 */
uint32_t runs_sync_acked(struct runs *r);               /* a rank but 0: to send */
void runs_sync_acked_by_all(struct runs *r, uint32_t sync); /* rank 0: the lowest one */

/* The command has ended: upload what is left. */
void runs_flush(struct runs *r);
/* Is all uploaded, or given up after ten minutes without progress? */
bool runs_is_flushed(struct runs *r);
/* A line that names what is not uploaded, and why; false: all is. */
bool runs_unsent(struct runs *r, char *text, size_t size);
/* Rank 0: no other rank is left to acknowledge a sync. */
void runs_alone(struct runs *r);
/* The job ends with that status, which the report has while the rest is uploaded. */
void runs_end(struct runs *r, int status, bool stopped);
/* Undo runs_flush(): the command starts again. */
void runs_unflush(struct runs *r);
/* Set the report's counts, the JSON of supervision_body() (trainer/supervision.h). */
void runs_count(struct runs *r, const void *supervision, size_t len);
/* runs_end(), and wait at most wait_ms for the last upload of texts. */
void runs_close(struct runs *r, int status, bool stopped, int64_t wait_ms);

#endif
