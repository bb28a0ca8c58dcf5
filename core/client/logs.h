/*
 * logs.h - read the logs of a TrainJob's containers in a cluster.
 *
 * One thread reads all containers concurrently (kube/streams.h), two more watch the job
 * and its pods. After a broken connection or a restart of the container, reading resumes:
 * lines are requested with their timestamps, from the second before the last line on, and
 * as many as were already shown are skipped. So no line is lost or shown twice, even with
 * equal timestamps or lines slightly out of order. Lines that the kubelet has discarded
 * meanwhile (a rotated file, a deleted pod) are lost.
 *
 * One line per container is buffered, up to LOGS_MAX_LINE bytes; a longer one is
 * truncated and marked. At most LOGS_MAX_OPEN containers are followed at once; the others
 * are polled every few seconds.
 */
#ifndef CLIENT_LOGS_H
#define CLIENT_LOGS_H

#include "kube/kube.h"

enum { LOGS_MAX_LINE = 1024 * 1024, LOGS_MAX_OPEN = 512 };

/* The lines to read. `{ .rank = -1, .tail = -1 }`: all lines of the job's newest pods. */
struct logs_want {
	const char *ns, *job;
	int64_t rank;     /* only this rank, of steps with ranks; -1: all */
	const char *step; /* a replicatedJob; "initializer": both of them; NULL: all */
	const char *container; /* only this name; NULL: all but init containers */
	bool all;      /* also init containers, and pods that newer ones have replaced */
	bool previous; /* instead, each container's run before its last restart */
	bool follow;   /* wait for pods, read until the job has ended */
	bool raw;      /* all bytes, in place of lines as a terminal shows them */
	bool timestamps;    /* begin each line with the kubelet's timestamp */
	int64_t tail;       /* only the last N lines of each container; -1: all */
	int64_t since;      /* only lines of this second and later, since 1970; 0: all */
	const bool *cancel; /* set by another thread to end with ERR_STOPPED; or NULL */
};

/* Called in the thread of logs_run(). */
struct logs_out {
	/* A line without its newline; prefix "node-0", or NULL: the only container. */
	void (*on_line)(void *ctx, const char *prefix, const char *line, size_t len);
	/* The newest state of a line that is not finished; `bar`: of several. Or NULL. */
	void (*on_state)(void *ctx, const char *prefix, const char *line, size_t len,
			 bool bar);
	/* With `raw`, of the only container: bytes of its log. NULL: as on_line. */
	void (*on_bytes)(void *ctx, const char *data, size_t len);
	/* A message for stderr, reported once: a reason to wait, or a failure. */
	void (*on_note)(void *ctx, const char *text);
	/* With `follow`, once: the processes each train alone, as `text` says. */
	void (*on_alone)(void *ctx, const char *text);
	/*
	 * No more lines for now: flush. -1 with err, on a closed output, ends logs_run().
	 */
	int (*on_pause)(void *ctx, struct error *err);
	/* Set before on_line: when the line was written, in ms since 1970. Or NULL. */
	int64_t *written_ms;
	void *ctx;
};

/*
 * 0: all lines have been read (with `follow`: the job has ended). ERR_NOT_FOUND: no such
 * job (with the nearest name), or no container that matches `want`. ERR_DENIED and others
 * as in kube.h; once lines are read, other failures are retried and reported. ERR_IO:
 * some logs could not be read. ERR_STOPPED: interrupted or cancelled.
 */
MUST_CHECK int logs_run(struct kube *k, const struct logs_want *want,
			const struct logs_out *out, struct error *err);

#endif
