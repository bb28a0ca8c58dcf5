/*
 * run.h - one TrainJob on this machine, from objects to result.
 *
 * Runs the JobSet that a controller made of it (jobs.h on kubelet.h), stores status, logs
 * and history in the state directory (state.h), and returns the result. Prints nothing:
 * the caller's callbacks do.
 */
#ifndef LOCAL_RUN_H
#define LOCAL_RUN_H

#include "base/json.h"

struct local_observer {
	/* A phase or fact to show: "pods starting: node 2/2". */
	void (*on_progress)(void *ctx, const char *line);
	/* A line of a container's output; prefix is "node-0", "dataset-initializer". */
	void (*on_line)(void *ctx, const char *prefix, const char *line, size_t len);
	/* A line that is not finished; `bar`: it replaces another state. May be NULL. */
	void (*on_state)(void *ctx, const char *prefix, const char *line, size_t len,
			 bool bar);
	/*
	 * No further lines are available now or, with `last`, at all. Returns when to
	 * call it again, by clock_ms(), or -1. May be NULL.
	 */
	int64_t (*on_pause)(void *ctx, bool last);
	void *ctx;
	/*
	 * A fact that must remain visible, such as a restart or a field that is not
	 * applied locally. NULL: passed to on_progress.
	 */
	void (*on_note)(void *ctx, const char *line);
	/* A detail, such as the port that replaces one of the runtime. May be NULL. */
	void (*on_detail)(void *ctx, const char *line);
	/* Called before anything runs, with the TrainJob as stored. May be NULL. */
	void (*on_begin)(void *ctx, const cJSON *trainjob);
	/*
	 * Called once, unless the job ends before: when its pods run or, with `late`,
	 * when they do not run within running_ms. May be NULL.
	 */
	void (*on_running)(void *ctx, bool late);
	/* Output of a container on a terminal (kubelet_opts.terminal). */
	void (*on_bytes)(void *ctx, const char *data, size_t len);
};

/* The result of a pass of the controller; the caller owns the documents. */
struct local_pass {
	cJSON *trainjob; /* as it is now */
	cJSON *events;   /* a JSON array: the events since the last pass */
	char *alone; /* progress_server_watch()'s message, the caller's to free; or NULL */
	bool suspended;   /* the JobSet must be suspended */
	bool deleted;     /* the JobSet was deleted: its pods must end */
	int64_t after_ms; /* when the next pass is due even if nothing changes; 0: none */
};

/*
 * The controller of the run's TrainJob: it made the JobSet and writes the TrainJob's
 * status, as the manager does in a cluster (manager/one_job.h). Called in the run's
 * thread.
 */
struct local_controller {
	/*
	 * Reconcile, with the JobSet's current status. After a failure it is called again
	 * a second later.
	 */
	int (*pass)(void *ctx, const cJSON *jobset_status, struct local_pass *ret,
		    struct error *err);
	/* A pod has changed. old NULL: created; now NULL: deleted. */
	void (*on_pod)(void *ctx, const cJSON *old, const cJSON *now);
	/* Set spec.suspend of the TrainJob. */
	int (*suspend)(void *ctx, bool suspend, struct error *err);
	void *ctx;
	int wake_fd; /* becomes readable when a pass is due; 0: none */
};

struct state_owner;

struct local_run_opts {
	const char *ns, *name; /* the TrainJob's */
	const cJSON *trainjob; /* as stored in its API */
	const cJSON *objects;  /* as inputs_of() returns them */
	const cJSON *runtime;  /* if it came from a file: stored with the run; or NULL */
	const char *const *gpus; /* see kubelet.h */
	const char *workdir;
	const char *torch_fix; /* see kubelet.h */
	int columns, rows;     /* of the terminal that shows the output; 0: none does */
	int64_t timeout_ms;    /* after which the job is stopped; 0: no limit */
	int64_t running_ms;    /* when to call on_running() at the latest; 0: no limit */
	int64_t max_restarts;  /* of the job as a whole; 0: the JobSet's */
	bool no_namespaces;
	bool terminal; /* as in kubelet_opts; needs observer.on_bytes */
	bool dry_run;  /* check everything, call on_begin(), and run and store nothing */
	/*
	 * Set for a server's JobSet: its objects are published (state_owned.h), and each
	 * pod gets a working directory of its own. NULL: started by a user.
	 */
	const struct state_owner *owner;
	/*
	 * NULL: the server's manager is the controller, and the stored status follows the
	 * JobSet's.
	 */
	const struct local_controller *controller;
	const char *pod_key; /* likewise; see kubelet.h */
	struct local_observer observer;
};

struct local_result {
	int exit_code;    /* 0, or the first failing rank's (128+N for a signal), or 1 */
	bool timed_out;   /* timeout_ms expired: exit_code is 124 */
	bool interrupted; /* by a signal: exit_code is 128+N */
	char report[16384]; /* the cause, the last lines, and the path of the logs */
};

/*
 * Run to the end. -1: nothing has run: ERR_EXISTS: a job of that name runs already;
 * ERR_UNSUPPORTED: fields that cannot be applied locally, all in one message; ERR_IO and
 * others: the state directory. A suspended job waits until it is resumed.
 *
 * After stop_setup() (base/stop.h) a SIGINT or SIGTERM sends TERM to every
 * process, waits for the pods' grace period and then kills them; a second one
 * kills at once. The TrainJob is then Failed, with reason "Interrupted".
 */
MUST_CHECK int local_run(const struct local_run_opts *opts, struct local_result *ret,
			 struct error *err);

/* The job in a suggested command: "--local NAME", with " -n NS" unless that is default. */
const char *local_named(struct arena *arena, const char *ns, const char *name);

#endif
