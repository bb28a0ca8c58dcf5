/*
 * run.h - one TrainJob on this machine, from objects to result.
 *
 * Runs the JobSet that a controller made of it (jobs.h on kubelet.h), keeps status, logs
 * and history under the state directory (state.h), and says how it ended. Prints nothing:
 * the caller's callbacks do.
 */
#ifndef LOCAL_RUN_H
#define LOCAL_RUN_H

#include "base/json.h"

struct local_observer {
	/* A phase or fact for people: "pods starting: node 2/2". */
	void (*on_progress)(void *ctx, const char *line);
	/* A line of a container's output; prefix is "node-0", "dataset-initializer". */
	void (*on_line)(void *ctx, const char *prefix, const char *line, size_t len);
	/* No further lines are available now. May be NULL. */
	void (*on_pause)(void *ctx);
	void *ctx;
	/*
	 * A fact to keep visible: what is not applied locally, a restart. NULL: passed
	 * to on_progress.
	 */
	void (*on_note)(void *ctx, const char *line);
	/* Called before anything runs, with the TrainJob as stored. May be NULL. */
	void (*on_begin)(void *ctx, const cJSON *trainjob);
	/*
	 * Called once, unless the job ends before: its pods run or, `late`, they do not
	 * within running_ms. May be NULL.
	 */
	void (*on_running)(void *ctx, bool late);
};

/* What the controller of a run's TrainJob says after a pass; what it points to is the caller's. */
struct local_pass {
	cJSON *trainjob; /* as it is now */
	cJSON *events;   /* an array: those since the last pass */
	bool suspended;  /* the JobSet is to be */
	bool deleted;    /* the JobSet is gone: its pods are to end */
	int64_t after_ms; /* the next pass is due then, though nothing changes; 0: none is */
};

/*
 * It made the JobSet, and says how the TrainJob is: what the manager does in a cluster, and
 * here (manager/single.h). Called by the run, in its thread.
 */
struct local_controller {
	/* The JobSet has this status. After a failure it is called again a second later. */
	int (*pass)(void *ctx, const cJSON *jobset_status, struct local_pass *ret,
		    struct error *err);
	/* A pod has changed; old, now: NULL before it is there, and when it is gone. */
	void (*on_pod)(void *ctx, const cJSON *old, const cJSON *now);
	/* Somebody asks for it. */
	int (*suspend)(void *ctx, bool suspend, struct error *err);
	void *ctx;
	int wake_fd; /* readable until the next pass, which is due then; 0: none */
};

struct state_owner;

struct local_run_opts {
	const char *ns, *name;   /* the TrainJob's */
	const cJSON *trainjob;   /* as its API has it */
	const cJSON *objects;    /* of inputs.h, a JSON array */
	const cJSON *runtime;    /* of a file, to be kept with the run; or NULL */
	const char *const *gpus; /* see kubelet.h */
	const char *workdir;
	const char *torch_fix; /* see kubelet.h */
	int64_t timeout_ms;    /* then the job is stopped; 0: no limit */
	int64_t running_ms;    /* then on_running() is called; 0: no limit */
	int64_t max_restarts;  /* of the job as a whole; 0: as the JobSet says */
	bool no_namespaces;
	/*
	 * Of a server's JobSet: its objects are published (state.h), and each pod has a
	 * directory of its own to work in. NULL: of a person.
	 */
	const struct state_owner *owner;
	/* NULL: the server's manager is; the status kept here follows the JobSet. */
	const struct local_controller *controller;
	const char *pod_key; /* likewise; see kubelet.h */
	struct local_observer observer;
};

struct local_result {
	int exit_code;    /* 0, or the first failing rank's (128+N for a signal), or 1 */
	bool timed_out;   /* timeout_ms expired: exit_code is 124 */
	bool interrupted; /* by a signal: exit_code is 128+N */
	char report
		[16384]; /* for people: why it failed, the last lines, where the logs are */
};

/*
 * Run to the end. -1 when it could not start (nothing has run then): ERR_EXISTS
 * when a job of that name runs already, ERR_UNSUPPORTED for what cannot run
 * locally (all of it at once), ERR_INVALID for a suspended job, ERR_IO and others
 * for the state directory.
 *
 * After stop_setup() (base/stop.h) a SIGINT or SIGTERM sends TERM to every
 * process, waits for the pods' grace period and then kills them; a second one
 * kills at once. The state then says Failed, "Interrupted".
 */
MUST_CHECK int local_run(const struct local_run_opts *opts, struct local_result *ret,
			 struct error *err);

#endif
