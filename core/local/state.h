/*
 * state.h - the stored state of local jobs, in $XDG_STATE_HOME/kftrainer/ or
 * ~/.local/state/kftrainer/.
 *
 *     <state>/format       the number of this layout; see docs/upgrade.md
 *     <state>/jobs/<namespace>/<name>/
 *         lock             held while the job runs; free but not finished: killed
 *         latest           link to the newest run
 *         <run>/           one directory a run, named after its time and a number
 *             trainjob.json    the TrainJob with status, rewritten atomically
 *             objects.json     the pipeline's objects; of Secrets only the keys
 *             runtime.json     the runtime, if it came from a file
 *             suspended        exists while spec.suspend is to be true
 *             report.txt       the cause of a failure, for people
 *             notes.txt        what the run reported, and what only -v shows
 *             metrics.jsonl    what its training code reported (local/state_metrics.h)
 *             logs/<pod>/<container>.log   lines as the process wrote them
 *     <state>/claims/<namespace>/<name>/   a volume claim; outlives the runs
 *     <state>/dev/<uid>    of a job in a cluster (client/dev_record.h)
 *
 * Directories are 0700, files 0600. Readers never need the running process. The lock
 * is one of the open file (fcntl(2), F_OFD_SETLK): it ends with the process,
 * however that ends, and readers can test the lock without acquiring it.
 */
#ifndef LOCAL_STATE_H
#define LOCAL_STATE_H

#include "base/arena.h"
#include "base/json.h"

/* The reason of Failed when a person, or a signal to this program, ended the job. */
#define REASON_INTERRUPTED "Interrupted"

/* ---- for readers -------------------------------------------------------------- */

/*
 * <state>/jobs, from the environment; ERR_INVALID if that is unusable, ERR_IO if a
 * newer version wrote it.
 */
MUST_CHECK int state_root(struct arena *arena, const char **ret, struct error *err);

/* One job's newest run: ERR_NOT_FOUND. One that was killed is Failed, "Interrupted". */
MUST_CHECK int state_get(cJSON **ret_trainjob, const char *ns, const char *name,
			 struct error *err);

/*
 * Remove what killed runs left on this machine: secrets in memory, code in /tmp,
 * volumes, links, control groups. Silent.
 */
void state_sweep(void);

/* ---- to end or suspend a job ----------------------------------------------------- */

/*
 * Send SIGTERM to the process that runs the job, and wait at most ms for its end:
 * ERR_TIMEOUT, ERR_STOPPED. Succeeds if the job does not run.
 */
MUST_CHECK int state_stop(const char *ns, const char *name, int64_t ms,
			  struct error *err);

/*
 * Ask the process that runs the job to end its pods (suspend) or to start them again,
 * without waiting. ERR_CONFLICT: the job does not run; ERR_EXISTS: it belongs to a
 * server; ERR_UNSUPPORTED: it runs on another host or in another PID namespace.
 */
MUST_CHECK int state_suspend(const char *ns, const char *name, bool suspend,
			     struct error *err);
/* Is this run (its directory) suspended, or asked to be? */
bool state_suspended(const char *run);
int state_stopped(const char *run); /* its process, while stopped (Ctrl-Z); or 0 */

/* Delete all its runs with their logs: ERR_NOT_FOUND; ERR_EXISTS while it runs. */
MUST_CHECK int state_remove(const char *ns, const char *name, struct error *err);

/* ---- volume claims ---------------------------------------------------------------- */

#define CLAIM_KIND               "PersistentVolumeClaim"
#define CLAIM_PATH_ANNOTATION    "trainer.kubeflow.org/local-path"
#define CLAIM_CHANGED_ANNOTATION "trainer.kubeflow.org/local-changed"
#define CLAIM_SIZE_ANNOTATION    "trainer.kubeflow.org/local-size"  /* bytes on disk */
#define CLAIM_USERS_ANNOTATION   "trainer.kubeflow.org/local-users" /* "a, b"; or none */

/* The directory of a namespace's claims: <dir>/<name>, made when first mounted. */
MUST_CHECK int state_claims_dir(struct arena *arena, const char **ret, const char *ns,
				struct error *err);
/*
 * The claims as PersistentVolumeClaims with these annotations (a JSON array); ns NULL: of
 * all namespaces.
 */
MUST_CHECK int state_claims(cJSON **ret, const char *ns, struct error *err);
/* One of them: ERR_NOT_FOUND. */
MUST_CHECK int state_claim(cJSON **ret, const char *ns, const char *name,
			   struct error *err);
/* Delete a claim with its contents: ERR_NOT_FOUND; ERR_EXISTS while a running job uses it. */
MUST_CHECK int state_claim_remove(const char *ns, const char *name, struct error *err);
/*
 * Delete the claims that no stored job mounts: running, finished, suspended, or of a
 * server. on_claim() is called for each claim of the namespace, as state_claims() has it:
 * without `failure` it was deleted, unless it has CLAIM_USERS_ANNOTATION.
 */
MUST_CHECK int state_claims_remove_unused(const char *ns,
					  void (*on_claim)(void *ctx, const cJSON *claim,
							   const struct error *failure),
					  void *ctx, struct error *err);
/* Delete the claims of a deleted JobSet's templates, unless another job mounts them. */
void state_claims_release(const char *ns, const cJSON *jobset);

/* ---- for the process that runs a job --------------------------------------------- */

enum { STATE_KEEP_RUNS = 10 };

struct state_run {
	char *dir;  /* of this run, absolute */
	char *logs; /* <dir>/logs */
	char *job_dir;
	int lock; /* open, or -1 */
};

/*
 * Create the directory of a new run, acquire the lock, clean up after killed runs, and
 * write both documents. Every problem with the state directory is reported here, before
 * anything runs: ERR_EXISTS if the job is running; ERR_IO, ERR_DENIED, ERR_INVALID with
 * one line that names the directory. On failure nothing is left behind.
 */
MUST_CHECK int state_begin(struct state_run *ret, const char *ns, const char *name,
			   const cJSON *trainjob, const cJSON *objects,
			   struct error *err);

/*
 * For a dry run: a directory in $TMPDIR in place of the run's, which state_cancel()
 * removes. ERR_EXISTS as state_begin().
 */
MUST_CHECK int state_probe(struct state_run *ret, const char *ns, const char *name,
			   struct error *err);

/* Save the TrainJob; `last`: synced to disk. */
MUST_CHECK int state_save(const struct state_run *run, const cJSON *trainjob, bool last,
			  struct error *err);

/* Save the runtime that the job was made from. Failures are ignored. */
void state_save_runtime(const struct state_run *run, const cJSON *runtime);
void state_save_report(const struct state_run *run, const char *report);

/* Release the lock, and delete runs beyond the newest STATE_KEEP_RUNS. */
void state_end(struct state_run *run);

/* The run did not start: remove its directory. */
void state_cancel(struct state_run *run);

#endif
