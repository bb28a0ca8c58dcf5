/*
 * run.h - run a command as a container's first process, and restart it when it fails.
 *
 * The command leads a process group. Orphans are adopted and reaped. Signals to this process
 * are forwarded to the command; after TERM, INT or QUIT it is not restarted. If such a signal
 * ends the command itself, such as a shell script, the processes that it leaves get the
 * signal, too, and their end is awaited. Before a restart all processes of the command,
 * also those in other groups or sessions, get TERM and, after the grace period, KILL. Uploads
 * to the run directory are given up at the end of the pod's grace period, or at a second INT.
 */
#ifndef SUPERVISE_RUN_H
#define SUPERVISE_RUN_H

#include "base/arena.h"
#include "base/error.h"
#include "supervise/decide.h"
#include "supervise/reports.h"
#include "supervise/star.h"

/* Hooks of an experiment tracker. Called in the thread of supervise_run(). */
struct supervise_tracker {
	/*
	 * Rank 0: called before each start, also the `first`. Sets the token for all ranks, or
	 * leaves it unchanged.
	 */
	void (*token)(void *ctx, bool first, uint32_t ret[MESSAGE_TOKEN]);
	/* All ranks: a variable for the command, "NAME=VALUE", in the arena; NULL: none. */
	const char *(*variable)(void *ctx, struct arena *arena,
				const uint32_t token[MESSAGE_TOKEN]);
	/* Rank 0: the job has ended with that exit code. */
	void (*end)(void *ctx, int status, bool by_signal);
	void *ctx;
};

/* Hooks of the run directory (runs/runs.h). Called in the thread of supervise_run(). */
struct supervise_rundir {
	/*
	 * The first call, in a thread of its own. *ret_fd: an eventfd that becomes readable
	 * when the result of sync() or flushed() may have changed; -1: all ranks of this job
	 * have succeeded before. ERR_STOPPED after stop_request() (base/stop.h).
	 */
	int (*open)(void *ctx, int *ret_fd, struct error *err);
	/* This process got TERM, INT or QUIT; at_once: give up all uploads. */
	void (*stop_requested)(void *ctx, bool at_once);
	uint32_t (*attempt)(void *ctx); /* rank 0: of the next start of all ranks */
	/* The attempt begins. The arguments to run in place of argv, in the arena. */
	char *const *(*command)(void *ctx, struct arena *arena, char *const *argv,
				uint32_t attempt, int64_t restart);
	void (*output)(void *ctx, const void *data, size_t len); /* any thread */
	/*
	 * Rank 0: gets the sync that all others have acknowledged, returns the one to publish.
	 * Others: gets the published sync, returns the acknowledged one.
	 */
	uint32_t (*sync)(void *ctx, uint32_t received);
	void (*report)(void *ctx, const void *body,
		       size_t len); /* as star_conf's report */
	/* The command has ended. Its end is reported to the hub when flushed() is true. */
	void (*ended)(void *ctx, int status);
	void (*flush)(void *ctx, bool on);
	bool (*flushed)(void *ctx);
	/* The job has ended, uploads go on; the arguments are those of close(). */
	void (*end)(void *ctx, int status, bool by_signal);
	void (*alone)(
		void *ctx); /* rank 0: no other rank is left to acknowledge a sync */
	void (*close)(void *ctx, int status, bool by_signal);
	void *ctx;
};

/*
 * A command that rank 0 runs when all ranks have succeeded, before the others are freed,
 * because after the loss of a pod all start again. Its output and exit code are the job's;
 * its failure restarts nothing.
 */
struct supervise_finish {
	/* Have all ranks of this job succeeded before? Then they are not started. */
	bool (*is_trained)(void *ctx);
	/* The arguments of the command, in the arena. */
	char *const *(*command)(void *ctx, struct arena *arena);
	void *ctx;
};

struct supervise_conf {
	struct supervise_rules rules;
	char *const *argv; /* ends with NULL; argv[0] is searched in PATH */
	/* The termination message: if it is an empty file, a failure writes its last output. */
	const char *message_file;
	struct star_conf *star; /* a job of several ranks; NULL: of one */
	const char *dev; /* with `star`: the directory of reruns (dev.h); or NULL */
	const struct report_sink *sinks; /* n_sinks; get the command's progress */
	size_t n_sinks;
	const struct supervise_tracker *tracker; /* or NULL */
	const struct supervise_rundir *rundir;   /* or NULL */
	const struct supervise_finish *finish;   /* or NULL */
	/* Logs a line, given without a newline. Called in the thread of supervise_run(). */
	void (*say)(void *ctx, const char *text);
	void *ctx;
};

/*
 * Run the command until its final end. *ret_status: the exit code, or 128 + signal. -1 with
 * an errno in err->code: the command cannot be started (ENOENT: not found). Call it once in
 * a process, before its first thread; then exit: all signals are blocked, and a thread may
 * remain.
 */
MUST_CHECK int supervise_run(const struct supervise_conf *conf, int *ret_status,
			     struct error *err);

#endif
