/*
 * follow.h - watch a TrainJob of a cluster until it has ended.
 *
 * Uses watches, no polling. Kinds that this user may not read (JobSets, pods, logs) are
 * skipped, and reported once. An API server that fails is retried until it answers, and
 * reported once.
 */
#ifndef CLIENT_FOLLOW_H
#define CLIENT_FOLLOW_H

#include "kube/kube.h"

struct follow_opts {
	const char *ns, *name;
	bool logs;          /* report the output of its processes, too */
	int64_t timeout_ms; /* 0: no limit */
};

/* Called from different threads, but never concurrently. */
struct follow_out {
	/* The current state; replaces the previous one. */
	void (*on_progress)(void *ctx, const char *line);
	void (*on_note)(void *ctx, const char *line); /* a message to print */
	/* prefix NULL: the job has only one process. */
	void (*on_line)(void *ctx, const char *prefix, const char *line, size_t len);
	/* A line that is not finished; `bar`: it replaces another state. */
	void (*on_state)(void *ctx, const char *prefix, const char *line, size_t len,
			 bool bar);
	void (*on_pause)(void *ctx); /* no lines for now; at least once a second */
	void *ctx;
};

struct follow_end {
	bool complete;
	int exit_code;  /* of the process that failed first; 1: unknown */
	char why[1000]; /* the cause of the failure; "" if complete */
};

/*
 * 0: the job has ended, and *ret is set. ERR_TIMEOUT; ERR_STOPPED: interrupted;
 * ERR_NOT_FOUND: the job has been deleted; ERR_DENIED. None of them affects the job.
 */
MUST_CHECK int follow_job(struct kube *k, const struct follow_opts *opts,
			  const struct follow_out *out, struct follow_end *ret,
			  struct error *err);

#endif
