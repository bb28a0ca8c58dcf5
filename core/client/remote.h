/*
 * remote.h - a command in a running pod of a TrainJob: which pod, and its input, output and
 * end (kube/podexec.h).
 */
#ifndef CLIENT_REMOTE_H
#define CLIENT_REMOTE_H

#include "base/arena.h"
#include "kube/kube.h"

struct remote_want {
	const char *ns, *job;
	int64_t rank;          /* as logs_want.rank; -1: 0, or a job's only pod */
	const char *container; /* NULL: the one that trains */
};

/* Strings are the arena's. */
struct remote_target {
	const char *ns, *pod, *container;
	/* The pod's NODE_LOGS_ANNOTATION: it may be one of this machine; or NULL. */
	const char *logs;
};

/*
 * The newest pod of that rank, in which the container runs. ERR_NOT_FOUND: no such job,
 * rank or container; ERR_CONFLICT: the container does not run (the job has finished, is
 * suspended, or has not started), for the reason in the message. Else as in kube.h.
 */
MUST_CHECK int remote_find(struct remote_target *ret, struct arena *arena, struct kube *k,
			   const struct remote_want *want, struct error *err);

struct remote_io {
	bool input; /* the command has a standard input: */
	int in;     /* read until its end; -1: nothing to send for now */
	bool terminal;
	int resized; /* with `terminal`: readable when the window's size changed, or -1 */
	/* Reads `resized`, and the size; false: unknown. */
	bool (*size)(void *ctx, int *ret_columns, int *ret_rows);
	/* Output of the command; fd is 1 or 2. May set `in`. -1 ends remote_run(). */
	int (*on_output)(void *ctx, int fd, const char *data, size_t len,
			 struct error *err);
	void (*on_note)(void *ctx, const char *text); /* a warning, for stderr */
	bool own_signals; /* as with `terminal`: the first signal ends remote_run() */
	void *ctx;
};

/*
 * Run the command until it ends; *ret_code is its exit code. Without a terminal, the first
 * SIGINT, SIGTERM or SIGHUP to this process is sent to the command, by a shell in the same
 * container; ERR_STOPPED: by a second one, or with a terminal by the first.
 * ERR_DENIED as permission_explain(). Other errors as in podexec.h. Blocks these signals
 * meanwhile.
 */
MUST_CHECK int remote_run(struct kube *k, const struct remote_target *target,
			  const char *const *argv, struct remote_io *io, int *ret_code,
			  struct error *err);

#endif
