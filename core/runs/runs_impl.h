/*
 * runs_impl.h - shared by the files of runs.h (private to core/runs).
 *
 *     runs.c       runs.h, and the thread that uploads texts
 *     report.c     owner.json, job.yaml, report.json
 *     uploader.c   the thread that uploads checkpoints
 *     entries.c    the scan of their directory
 */
#ifndef RUNS_RUNS_IMPL_H
#define RUNS_RUNS_IMPL_H

#include "runs/checkpoint.h"
#include "runs/entries.h"
#include "runs/parts.h"
#include "runs/runs.h"

enum { RUNS_RETRY_MS = 60 * 1000, RUNS_GIVE_UP_MS = 10 * 60 * 1000 };
enum { RUNS_ENTRIES = 1000 }; /* at most, of the checkpoints' directory */

/* The output of one attempt. */
struct attempt {
	struct attempt *next;
	uint32_t number; /* 0: not begun yet */
	struct parts log, events, metrics;
};

/* An entry of the checkpoints' directory, and the attempt that wrote it; 0: none. */
struct seen {
	char name[256];
	uint64_t fingerprint;
	uint32_t attempt;
};

struct runs {
	const struct runs_conf *conf;
	struct rundir rundir; /* the text thread's; the uploader has its own */
	char stem[32];        /* "logs/RANK" */
	int fd;               /* runs_fd() */
	pthread_t text, uploader;
	struct entries opened; /* opened before the command starts; then the uploader's */
	pthread_mutex_t lock;  /* guards what follows */
	pthread_cond_t changed;
	struct attempt *attempts; /* with text that is not uploaded yet */
	struct attempt *running;  /* the last of them */
	bool flush, text_done, uploads_done, over, text_ended;
	bool news;             /* report.json is due */
	bool report_now;       /* report.json is due at once: the run has begun */
	uint32_t next_attempt; /* rank 0's */
	/* Rank 0: members of report.json. */
	int64_t created, started, ended, restarts;
	int status;             /* -1: it runs */
	const char *state;      /* "Running" */
	char why[300];          /* or "" */
	struct buf supervision; /* JSON, or empty */
	cJSON *progress;        /* the last line of metrics.jsonl; or NULL */
	struct checkpoint last; /* the newest complete checkpoint */
	char last_name[256];    /* last.name; or "" */
	struct seen *seen;      /* the entries when the last attempt began */
	size_t n_seen;
	uint32_t sync, sync_received, acked, acked_by_all;
	bool failed;       /* the command has failed and is not started again yet */
	int64_t failed_at; /* clock_ms() of the end of the command; 0: it was stopped */
	/* Errors of the store. */
	int lines;       /* logged since the last success */
	int64_t said;    /* clock_ms() of the last one */
	char error[300]; /* the last one since the last success; or "" */
	char due[700]; /* the names of finished checkpoints that are not uploaded; or "" */
	bool alone;    /* runs_alone() */
};

/* report.c: rank 0 only. Claim the run directory: errors of runs_open(). */
MUST_CHECK int runs_claim(struct runs *r, struct error *err);
MUST_CHECK int runs_send_report(struct runs *r, struct error *err);
MUST_CHECK int runs_put_json(struct rundir *p, const char *name, const cJSON *doc,
			     struct error *err);
/* ERR_CONFLICT: another job has become the owner. */
MUST_CHECK int runs_check_owner(struct rundir *p, const cJSON *job, struct error *err);

/* Does report.json say that this job has succeeded? False if it cannot be read. */
bool runs_has_succeeded(struct rundir *p, const cJSON *job);

/* Log how much of the attempt's text was dropped, if any. */
void runs_log_dropped(struct runs *r, struct attempt *a);
void runs_event(struct runs *r, const char *type, const char *reason, const char *text);
void runs_say(struct runs *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
/*
 * Log a failure, at most one a minute; not ERR_STOPPED. `why` NULL: a success. *since:
 * clock_ms() of the calling thread's first failure since its last success; 0: none.
 */
void runs_log_failure(struct runs *r, int64_t *since, const struct error *why);
void runs_wake(struct runs *r); /* wake the caller, by runs_fd(), and both threads */

void *runs_uploader(void *runs); /* the main function of the uploader's thread */

/* Record the entries before an attempt begins: it has not written them. */
void runs_remember(struct runs *r);
/* The attempt in which the entry got this fingerprint. The caller holds the lock. */
uint32_t runs_attempt_of(const struct runs *r, const char *name, uint64_t fingerprint);

#endif
