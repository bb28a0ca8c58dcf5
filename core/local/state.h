/*
 * state.h - what local jobs leave behind: $XDG_STATE_HOME/kftrainer/, or
 * ~/.local/state/kftrainer/.
 *
 *     <state>/jobs/<namespace>/<name>/
 *         lock             held while it runs; free, and not ended: it was killed
 *         latest           link to the newest run
 *         <run>/           one folder a run, named after its time and a number
 *             trainjob.json    the TrainJob with status, rewritten atomically
 *             objects.json     what the pipeline made; of Secrets the keys alone
 *             report.txt       why it failed, for people
 *             logs/<pod>/<container>.log   lines as the process wrote them
 *     <state>/claims/<namespace>/<name>/   a volume claim: no run takes it away
 *
 * Folders are 0700, files 0600. Readers never need the running process. The lock
 * is one of the open file (fcntl(2), F_OFD_SETLK): it ends with the process,
 * however that ends, and readers can ask for it without taking it.
 */
#ifndef LOCAL_STATE_H
#define LOCAL_STATE_H

#include "base/arena.h"
#include "base/json.h"

/* The reason of Failed when a person, or a signal to this program, ended the job. */
#define REASON_INTERRUPTED "Interrupted"

/* ---- for readers -------------------------------------------------------------- */

/*
 * All jobs, newest run of each, as TrainJob documents with status (a JSON array).
 * ERR_IO, ERR_DENIED when the folder cannot be read.
 */
MUST_CHECK int state_list(cJSON **ret, const char *ns,
			  struct error *err); /* ns NULL: all */

/*
 * One job's newest run. ERR_NOT_FOUND says which names there are near it. A job
 * that was killed reads as Failed, "Interrupted".
 */
MUST_CHECK int state_get(cJSON **ret_trainjob, const char *ns, const char *name,
			 struct error *err);

/*
 * Its log files: a JSON array of {pod, container, step, rank, prefix, path}, in
 * the order of jobs, ranks, starts and containers. rank is -1 where the Job is
 * not Indexed; prefix is that of places.h.
 */
MUST_CHECK int state_logs(cJSON **ret, const char *ns, const char *name,
			  struct error *err);

/*
 * What its newest run consists of: a JSON array of {step, trains, pods, containers},
 * a replicatedJob each, in their order; `pods` that it is to have at a time,
 * `containers` the names of those of each pod.
 */
MUST_CHECK int state_steps(cJSON **ret, const char *ns, const char *name,
			   struct error *err);

/*
 * Why its newest run failed, for people: what local_run() told at its end. The caller's;
 * NULL: it has not failed, or was killed.
 */
char *state_report(const char *ns, const char *name);

/* Does it run now? */
bool state_is_running(const char *ns, const char *name);

/*
 * Take away what killed runs of this machine have left: secrets in memory, code in /tmp,
 * volumes, links, control groups. Says nothing.
 */
void state_sweep(void);

/* ---- for whoever ends one -------------------------------------------------------- */

/*
 * Ask the program that runs it to end it (SIGTERM), and wait for that at most ms:
 * ERR_TIMEOUT, ERR_STOPPED. One that has ended meanwhile is fine.
 */
MUST_CHECK int state_stop(const char *ns, const char *name, int64_t ms,
			  struct error *err);

/* Forget all its runs, with their logs: ERR_NOT_FOUND; ERR_EXISTS while it runs. */
MUST_CHECK int state_remove(const char *ns, const char *name, struct error *err);

/* ---- volume claims ---------------------------------------------------------------- */

#define CLAIM_KIND               "PersistentVolumeClaim"
#define CLAIM_PATH_ANNOTATION    "trainer.kubeflow.org/local-path"
#define CLAIM_CHANGED_ANNOTATION "trainer.kubeflow.org/local-changed"

/* Where those of a namespace are: <dir>/<name>, made by whoever mounts them. */
MUST_CHECK int state_claims_dir(struct arena *arena, const char **ret, const char *ns,
				struct error *err);
/* As PersistentVolumeClaims, with these annotations (a JSON array); ns NULL: all. */
MUST_CHECK int state_claims(cJSON **ret, const char *ns, struct error *err);
/* One of them: ERR_NOT_FOUND. */
MUST_CHECK int state_claim(cJSON **ret, const char *ns, const char *name,
			   struct error *err);
/* With all that is in it: ERR_NOT_FOUND; ERR_EXISTS while a job that uses it runs. */
MUST_CHECK int state_claim_remove(const char *ns, const char *name, struct error *err);

/* ---- for the one who runs a job -------------------------------------------------- */

enum { STATE_KEEP_RUNS = 10 };

struct state_run {
	char *dir;  /* of this run, absolute */
	char *logs; /* <dir>/logs */
	char *job_dir;
	int lock; /* open, or -1 */
};

/*
 * Make the folder of a new run, take the lock, take away what the pods of killed
 * runs have left, and write both documents. All
 * that can be wrong with the state folder is said here, before anything has
 * run: ERR_EXISTS when the job runs already; ERR_IO, ERR_DENIED, ERR_INVALID
 * with one line that names the folder. Nothing is left behind on failure.
 */
MUST_CHECK int state_begin(struct state_run *ret, const char *ns, const char *name,
			   const cJSON *trainjob, const cJSON *objects,
			   struct error *err);

/* Write the TrainJob again. `last`: so that it survives a power failure, too. */
MUST_CHECK int state_save(const struct state_run *run, const cJSON *trainjob, bool last,
			  struct error *err);

void state_save_report(const struct state_run *run, const char *report);

/* Let go of the lock, and of runs beyond the newest STATE_KEEP_RUNS. */
void state_end(struct state_run *run);

/* Not begun after all: take the run's folder away. */
void state_cancel(struct state_run *run);

#endif
