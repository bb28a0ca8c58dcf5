/*
 * backend.h - runs the JobSets of this machine's API: behind core/apiserver it replaces a
 * cluster's JobSet and Job controllers, scheduler and kubelet.
 *
 * For each JobSet that is not suspended there is one run: a process in a session of its
 * own (run.h, started as "kftrainer run-jobset") that runs as `submit --local` does. It
 * makes no requests: it publishes its JobSet's status, Jobs and pods as files of its run
 * directory (state_owned.h), and ends on SIGTERM. The backend copies those files into the
 * API, and ends runs whose JobSet is suspended or deleted. A run therefore outlives
 * the server, and a restarted server recognizes its runs by the state of their lock and
 * files:
 *
 *     the lock is held                   it runs: its files are watched
 *     free, JobSet terminal in its files it has ended: its files are copied
 *     free, marked as suspended          started anew when the JobSet is resumed
 *     free otherwise                     it was killed: Failed, "Interrupted"
 *
 * A run belongs to one generation of one JobSet (uid), recorded under the lock before
 * anything runs, so that no job runs twice. Decisions are level-triggered (sync_jobset()
 * in backend.c): one thread makes them, a second waits for changed JobSets.
 */
#ifndef MACHINE_BACKEND_H
#define MACHINE_BACKEND_H

#include "apiserver/apiserver.h"
#include "base/json.h"

struct backend;

struct backend_conf {
	struct apiserver *api;
	const char *server;  /* an absolute path: names the server in its runs */
	const char *version; /* of this program, for the node */
	const char *pod_key; /* as apiserver_conf.pod_key */
};

/* Start the threads. conf's strings and the API must outlive backend_stop(). */
MUST_CHECK int backend_start(struct backend **ret, const struct backend_conf *conf,
			     struct error *err);
/* Is any JobSet neither suspended nor ended? */
bool backend_runs(struct backend *b);
/* Call it after apiserver_stop(). Runs continue; the next server adopts them. */
void backend_stop(struct backend *b);

/*
 * The input of a run process: a JSON object with these members on its standard input;
 * trainjob and objects as in local_run_opts.
 */
#define RUN_SERVER     "server"
#define RUN_UID        "uid"
#define RUN_GENERATION "generation"
#define RUN_TRAINJOB   "trainjob"
#define RUN_OBJECTS    "objects"
#define RUN_POD_KEY    "podKey"
/*
 * The exit code of the started process: 0 once the run has begun; RUN_BUSY if another job
 * of that name runs on this machine; all others are failures, with the cause in one line
 * on stderr.
 */
enum { RUN_BUSY = 75 };

#endif
