/*
 * runs_impl.h - shared by the files of the run directory's writer (private to core/runs).
 *
 *     runs.c      the calls of the supervisor, and the thread of texts
 *     report.c    what is written as JSON: owner, job, report
 *     keep.c      the thread of checkpoints
 *     entries.c   what is in their directory
 */
#ifndef RUNS_RUNS_IMPL_H
#define RUNS_RUNS_IMPL_H

#include "runs/complete.h"
#include "runs/entries.h"
#include "runs/parts.h"
#include "runs/runs.h"

enum { RUNS_RETRY_MS = 60 * 1000, RUNS_GIVE_UP_MS = 10 * 60 * 1000 };
enum { RUNS_ENTRIES = 1000 }; /* of the checkpoints' directory, at most */

/* The output of one attempt. */
struct attempt {
	struct attempt *next;
	uint32_t number; /* 0: it has not begun */
	struct parts log, events, metrics;
};

/* An entry of the checkpoints' directory, and the attempt that wrote it; 0: none did. */
struct seen {
	char name[256];
	uint64_t stamp;
	uint32_t attempt;
};

struct runs {
	const struct runs_conf *conf;
	struct run_place place; /* of the texts; that of the checkpoints is its own */
	char stem[32];          /* "logs/RANK" */
	int fd;
	pthread_t text, keeper;
	struct entries opened; /* before the command starts; the keeper's from then on */
	pthread_mutex_t lock;  /* guards what follows */
	pthread_cond_t changed;
	struct attempt *attempts, *running; /* not all sent; the last one */
	bool flush, text_done, keep_done, over, text_ended;
	bool news;             /* report.json is due */
	bool report_now;       /* report.json is due at once: the run has begun */
	uint32_t next_attempt; /* rank 0's */
	/* The report's, of rank 0. */
	int64_t created, started, ended, restarts;
	int status;                /* -1: it runs */
	const char *state;         /* "Running" */
	char why[300];             /* or "" */
	struct buf supervision;    /* JSON, or empty */
	cJSON *progress;           /* the last line of metrics.jsonl; or NULL */
	struct complete_head last; /* the last complete checkpoint; its name: */
	char last_name[256];
	struct seen *seen; /* as the last attempt began */
	size_t n_seen;
	/* Marks. */
	uint32_t mark, heard, marked, all_marked;
	bool failed; /* the command has, and is not started again yet */
	/* Lines about the place since it worked, of both threads; when the last was. */
	int lines;
	int64_t said;
	char error[300]; /* the last failure of the place, until it works again; or "" */
	char due[700];   /* names of checkpoints that are finished and not sent; or "" */
	int64_t failed_at; /* by clock_ms(); 0: it was stopped */
	bool alone;
};

/* report.c: of rank 0 */
MUST_CHECK int runs_claim(struct runs *r, struct error *err);
MUST_CHECK int runs_send_report(struct runs *r, struct error *err);
MUST_CHECK int runs_put_json(struct run_place *p, const char *name, const cJSON *doc,
			     struct error *err);
/* ERR_CONFLICT: another job has become the owner. */
MUST_CHECK int runs_check_owner(struct run_place *p, const cJSON *job, struct error *err);

/* Does its report say so? Not if it cannot be read. */
bool runs_has_succeeded(struct run_place *p, const cJSON *job);

void runs_event(struct runs *r, const char *type, const char *reason, const char *text);
void runs_say(struct runs *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
/*
 * Print the first failure, and then one a minute; ERR_STOPPED is none. NULL: the place
 * works again. *since: the first failure of that thread since it worked; 0: there is none.
 */
void runs_trouble(struct runs *r, int64_t *since, const struct error *why);
void runs_wake(struct runs *r); /* the caller and both threads */

void *runs_keep(void *runs); /* the thread of checkpoints */

/* Before the next attempt begins, in the caller's thread: what is there is of those before. */
void runs_remember(struct runs *r);
/* With the lock held: in which attempt an entry got this stamp. */
uint32_t runs_attempt_of(const struct runs *r, const char *name, uint64_t stamp);

#endif
