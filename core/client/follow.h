/*
 * follow.h - watch a TrainJob of a cluster until it has ended.
 *
 * Watches, no polling. What this user may not read (JobSets, pods, logs) is skipped with a
 * note. An API server that fails is retried until it answers, with one note.
 */
#ifndef CLIENT_FOLLOW_H
#define CLIENT_FOLLOW_H

#include "kube/kube.h"

struct follow_opts {
	const char *ns, *name;
	bool logs;          /* the lines of its processes, too */
	int64_t timeout_ms; /* 0: none */
};

/* Never called twice at once, but from different threads. */
struct follow_out {
	/* Where it stands now: in place of the line before. */
	void (*on_progress)(void *ctx, const char *line);
	void (*on_note)(void *ctx, const char *line); /* to be kept */
	/* prefix NULL: there is one process only. */
	void (*on_line)(void *ctx, const char *prefix, const char *line, size_t len);
	void *ctx;
};

struct follow_end {
	bool complete;
	int exit_code;  /* of a job that failed: of the process that failed first, or 1 */
	char why[1000]; /* what it failed of; "" */
};

/*
 * ERR_TIMEOUT; ERR_STOPPED: asked to end; ERR_NOT_FOUND: it has been deleted; ERR_DENIED.
 * The job goes on in any case.
 */
MUST_CHECK int follow_job(struct kube *k, const struct follow_opts *opts,
			  const struct follow_out *out, struct follow_end *ret,
			  struct error *err);

#endif
