/*
 * logs.h - what the containers of a TrainJob in a cluster write.
 *
 * One thread reads all of them at once (kube/streams.h), two more watch the job and its
 * pods. A container is read from where it was left whenever its connection breaks or
 * it is restarted: lines are asked for with their timestamps from the second before the
 * last one on, and those that were shown are counted off, so that none is lost or shown
 * twice, equal timestamps and lines that stand a little out of order included. What the
 * kubelet has thrown away meanwhile (a file that was rotated, a pod that is gone) is
 * lost.
 *
 * Per container a line is held, at most LOGS_MAX_LINE bytes of it: what is longer is cut
 * there and marked. At most LOGS_MAX_OPEN are followed at once; those beyond are looked
 * at every few seconds.
 */
#ifndef CLIENT_LOGS_H
#define CLIENT_LOGS_H

#include "kube/kube.h"

enum { LOGS_MAX_LINE = 1024 * 1024, LOGS_MAX_OPEN = 512 };

/* Which lines. `{ .rank = -1, .tail = -1 }` is all that the job's newest pods write. */
struct logs_want {
	const char *ns, *job;
	int64_t rank;          /* of the steps that have ranks; -1: all */
	const char *step;      /* a replicatedJob, or "initializer": both; NULL: all */
	const char *container; /* only of this name; NULL: all but init containers */
	bool all;      /* init containers, and pods that newer ones have replaced, too */
	bool previous; /* instead: of each the run before the last restart */
	bool follow;   /* until the job has ended; waits for pods */
	bool timestamps;    /* before each line, as the kubelet wrote it */
	int64_t tail;       /* of each container the last so many lines; -1: all */
	int64_t since_ms;   /* not older than that; 0: all */
	const bool *cancel; /* set by another thread: ends with ERR_STOPPED; or NULL */
};

/* Called in the thread of logs_run(). */
struct logs_out {
	/* A line without its newline; prefix "node-0", or NULL: there is one container only. */
	void (*on_line)(void *ctx, const char *prefix, const char *line, size_t len);
	/* What is waited for, what went wrong: a sentence for stderr, said once. */
	void (*on_note)(void *ctx, const char *text);
	/* Nothing more comes at the moment; -1 with err ends it all (the output is closed). */
	int (*on_pause)(void *ctx, struct error *err);
	void *ctx;
};

/*
 * 0: all there was has been shown (with `follow`: the job has ended). ERR_NOT_FOUND: no
 * such job (with the nearest name), nothing that fits `want`. ERR_DENIED, ... as of
 * kube.h; later failures are retried, with a note. ERR_STOPPED: asked to end.
 */
MUST_CHECK int logs_run(struct kube *k, const struct logs_want *want,
			const struct logs_out *out, struct error *err);

#endif
