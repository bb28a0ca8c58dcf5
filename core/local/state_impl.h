/* state_impl.h - shared by state.c (readers) and state_run.c (the writer). */
#ifndef LOCAL_STATE_IMPL_H
#define LOCAL_STATE_IMPL_H

#include <signal.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"

#define STATE_FORMAT "format"
enum { STATE_FORMAT_NOW = 1 }; /* the format written, and the newest one read */

/* Write <state>/format if there is none. */
MUST_CHECK int state_write_format(struct arena *arena, const char *dir,
				  struct error *err);

/*
 * <state>/jobs/<ns>/<name>; name NULL: <state>/jobs/<ns>; both: <state>/jobs.
 * ERR_INVALID for what cannot be a name.
 */
MUST_CHECK int state_dir(struct arena *arena, const char **ret, const char *ns,
			 const char *name, struct error *err);

/* Can it be the name of a job's directory? Not "..", without '/', not hidden. */
bool state_is_name(const char *s);

/* A missing directory is empty; an unreadable one is an error. */
MUST_CHECK int state_readable(const char *dir, struct error *err);

/* A text that changes when the file is replaced or changed; "": no such file. */
const char *state_fingerprint(struct arena *arena, const char *path);

/* The error of inotify_init1() or eventfd(), from errno: why, and which limit to check. */
int state_no_watch(struct error *err);

/*
 * The visible entries, sorted; ends with NULL. errno: 0, also for a missing directory, or why
 * some are not listed.
 */
char **state_entries(struct arena *arena, const char *dir);

/*
 * A run's TrainJob. If it is neither finished nor running: Failed, "Interrupted"; of a
 * server's suspended JobSet: Suspended; if it cannot be parsed: Failed, "RecordDamaged".
 */
MUST_CHECK int state_read_job(cJSON **ret, const char *run, bool running,
			      struct error *err);
/* A run's JobSet without uid and status. */
MUST_CHECK int state_read_jobset(cJSON **ret, const char *run, struct error *err);
/* The runtime of a run, if it came from a file: ERR_IO for a built-in one. */
MUST_CHECK int state_read_runtime(cJSON **ret, const char *run, struct error *err);
/* The JobSet of a job's newest run. */
MUST_CHECK int state_jobset(cJSON **ret, const char *ns, const char *name,
			    struct error *err);

/*
 * A lock of the namespace's claims, to be closed; -1: there are none yet, or their file
 * system has no locks. Shared (LOCK_SH) by whoever records that a job mounts claims;
 * exclusive (LOCK_EX) from the search for users until the claim is out of place. So a job
 * is either found by the search, or recorded after it: then its claim begins empty.
 */
int state_claims_lock(const char *ns, int how);

/*
 * The jobs of a namespace that mount claims, the caller's: {"CLAIM": ["JOB", ...]}. Those
 * that run; without `running` those that are finished, or wait (state_claims_wait()),
 * too. Jobs whose JobSet cannot be read are users of STATE_ANY_CLAIM: they may mount
 * each one.
 */
#define STATE_ANY_CLAIM "*"
cJSON *state_claim_users(const char *ns, bool running);

/*
 * Is the directory's lock held by some process? Also true where that cannot be asked: what
 * this host cannot see has not been killed.
 */
bool state_locked(const char *job_dir);
/* The same, with the error of state_no_locks(). */
MUST_CHECK int state_ask_lock(bool *ret_held, const char *job_dir, struct error *err);

/* From errno of fcntl(): does another process hold the lock? */
bool state_lock_is_held(int errnum);
/* The error of a file system without locks (Lustre, NFS), from errno. */
int state_no_locks(const char *path, struct error *err);
/*
 * Remove the lock that *fd holds, and the empty directory. Closed in between: NFS keeps a
 * file that is open under another name, and its directory with it.
 */
void state_remove_lock(const char *job_dir, int *fd);

/* A descriptor that holds the lock; -1: another process holds it. */
int state_try_lock(const char *job_dir);

/*
 * The newest run's directory. NULL: errno is 0, there is none; or why it is not known. A run's
 * name begins with a digit.
 */
const char *state_newest(struct arena *arena, const char *job_dir);
/* *ret_running: it has not ended. */
const char *state_newest_run(struct arena *arena, const char *job_dir, bool *ret_running);

/* Replace a document of a run atomically. safe: synced to disk, in the reserved space. */
MUST_CHECK int state_write(const char *dir, const char *name, const cJSON *doc, bool safe,
			   struct error *err);

#define STATE_TRAINJOB "trainjob.json"
#define STATE_OBJECTS  "objects.json"
#define STATE_RUNTIME  "runtime.json"
#define STATE_LOCK     "lock"
#define STATE_LATEST   "latest"
#define STATE_REPORT   "report.txt"
#define STATE_RESERVE  "reserved"
#define STATE_OWNER    "owner.json"
#define STATE_SUSPEND  "suspended"

/* Create or remove STATE_SUSPEND in a run's directory. */
MUST_CHECK int state_mark_suspended(const char *run, bool suspend, struct error *err);

/*
 * Sent to the process that runs a job, to make it check STATE_SUSPEND. Other processes
 * ignore it by default.
 */
#define STATE_SIGNAL SIGURG

/*
 * As state_remove(), after the TTL of `run`, the directory of the job's newest run:
 * ERR_CONFLICT if it has run again.
 */
MUST_CHECK int state_expire(const char *ns, const char *name, const char *run,
			    struct error *err);

#endif
