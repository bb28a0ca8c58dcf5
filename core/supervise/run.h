/*
 * run.h - run a command as a container's first process, and start it again when it fails.
 *
 * The command leads a process group. Orphans are adopted and reaped. Signals that this
 * process gets go to the command, as if there were no supervisor; after TERM, INT or QUIT
 * it is not started again. A command that such a signal ends, as a shell's script, has not
 * passed it on: the processes that it leaves get it then, and their end is awaited. Before
 * it starts again, its processes get TERM and, after the grace, KILL, also those that moved
 * to other groups or sessions. What is not kept in the run directory at the end of the
 * rundir's grace, or at a second INT, is given up.
 */
#ifndef SUPERVISE_RUN_H
#define SUPERVISE_RUN_H

#include "base/arena.h"
#include "base/error.h"
#include "supervise/decide.h"
#include "supervise/reports.h"
#include "supervise/star.h"

/* Hooks of code that follows the job elsewhere: called in the thread that runs. */
struct supervise_tracker {
	/*
	 * Rank 0's, before the first start (`first`) and each other: what all ranks'
	 * commands are told. Unchanged: nothing.
	 */
	void (*token)(void *ctx, bool first, uint32_t ret[MESSAGE_TOKEN]);
	/* A variable for the command of each rank, "NAME=VALUE", in the arena; NULL: none. */
	const char *(*variable)(void *ctx, struct arena *arena,
				const uint32_t token[MESSAGE_TOKEN]);
	/* Rank 0's, at the end: 0, or the status of the failure; asked: by a signal. */
	void (*end)(void *ctx, int status, bool asked);
	void *ctx;
};

/*
 * Hooks of the run directory (runs/runs.h): called in the thread that runs, but for
 * output.
 */
struct supervise_rundir {
	/*
	 * The first call, in a thread. *ret_fd: an eventfd that becomes readable when
	 * sync() or flushed() may have changed; -1: all ranks of this job have succeeded
	 * before. ERR_STOPPED after stop_request() (base/stop.h).
	 */
	int (*open)(void *ctx, int *ret_fd, struct error *err);
	/* This process got TERM, INT or QUIT; at_once: nothing more is awaited. */
	void (*asked)(void *ctx, bool at_once);
	uint32_t (*attempt)(void *ctx); /* rank 0's, for the next start of all ranks */
	/* The attempt begins: what to run for that command, in the arena. */
	char *const *(*command)(void *ctx, struct arena *arena, char *const *argv,
				uint32_t attempt, int64_t restart);
	void (*output)(void *ctx, const void *data, size_t len); /* any thread */
	/* Rank 0's sync for all others, or another's answer, after what came from there. */
	uint32_t (*sync)(void *ctx, uint32_t heard);
	void (*report)(void *ctx, const void *body,
		       size_t len); /* as star_conf's report */
	/* The command has ended. Before this is told to the hub all is to be kept. */
	void (*ended)(void *ctx, int status);
	void (*flush)(void *ctx, bool on);
	bool (*flushed)(void *ctx);
	/* The job's end is known, before all is kept; status and asked as close() gets them. */
	void (*end)(void *ctx, int status, bool asked);
	void (*alone)(void *ctx); /* rank 0's: no other rank is left to answer a sync */
	void (*close)(void *ctx, int status, bool asked);
	void *ctx;
};

/*
 * A command that rank 0 runs when all ranks have succeeded, before the others are free:
 * after the loss of a pod all start again. Its output and status are the job's; its
 * failure starts nothing again.
 */
struct supervise_finish {
	/* All ranks of this job have succeeded before, here: they are not started. */
	bool (*is_trained)(void *ctx);
	/* The command that runs then, in the arena. */
	char *const *(*command)(void *ctx, struct arena *arena);
	void *ctx;
};

struct supervise_conf {
	struct supervise_rules rules;
	char *const *argv;        /* argv[0] is searched in PATH; ends with NULL */
	const char *message_file; /* gets the last 4 KB of output after a failure if it is
				     empty; need not exist */
	struct star_conf
		*star;   /* of several ranks: what says who they are; NULL: alone */
	const char *dev; /* with `star`: where reruns change files (dev.h); or NULL */
	const struct report_sink *sinks; /* for the command's progress: n_sinks */
	size_t n_sinks;
	const struct supervise_tracker *tracker; /* or NULL */
	const struct supervise_rundir *rundir;   /* or NULL */
	const struct supervise_finish *finish;   /* or NULL */
	/* A line for the log, without its end; in the thread that runs. */
	void (*say)(void *ctx, const char *text);
	void *ctx;
};

/*
 * *ret_status: the command's exit code, or 128 + signal. err->code is the errno of a
 * command that cannot be started (ENOENT: not found). Once in a process, before its first
 * thread, and before it ends: blocks all signals, and a thread may remain.
 */
MUST_CHECK int supervise_run(const struct supervise_conf *conf, int *ret_status,
			     struct error *err);

#endif
