/*
 * state_impl.h - what state.c (readers) and state_run.c (the writer) share.
 */
#ifndef LOCAL_STATE_IMPL_H
#define LOCAL_STATE_IMPL_H

#include <signal.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"

/* <state>/jobs, from the environment; ERR_INVALID if that is unusable. */
MUST_CHECK int state_root(struct arena *arena, const char **ret, struct error *err);

/*
 * <state>/jobs/<ns>/<name>; name NULL: <state>/jobs/<ns>; both: <state>/jobs.
 * ERR_INVALID for what cannot be a name.
 */
MUST_CHECK int state_dir(struct arena *arena, const char **ret, const char *ns,
			 const char *name, struct error *err);

/* A valid name of a directory of them: neither "..", nor with '/', nor hidden. */
bool state_is_name(const char *s);

/* As file_read(), of a regular file: nothing else makes a reader wait. */
MUST_CHECK int state_read_file(struct buf *out, const char *path, struct error *err);

/* A missing directory is empty; an unreadable one is an error. */
MUST_CHECK int state_readable(const char *dir, struct error *err);

/* Which file it is and when it was changed; "": there is no such file. */
const char *state_mark(struct arena *arena, const char *path);

/* The visible entries, sorted; ends with NULL. Empty for a missing directory. */
char **state_entries(struct arena *arena, const char *dir);

/* A run's TrainJob. Not finished, and it does not run: Failed, "Interrupted". */
MUST_CHECK int state_read_job(cJSON **ret, const char *run, bool running,
			      struct error *err);
/* A run's JobSet as it was made: without uid and status. */
MUST_CHECK int state_read_jobset(cJSON **ret, const char *run, struct error *err);
/* The runtime of a file that a run was made of: ERR_IO for a built-in one. */
MUST_CHECK int state_read_runtime(cJSON **ret, const char *run, struct error *err);
/* The JobSet of a job's newest run. */
MUST_CHECK int state_jobset(cJSON **ret, const char *ns, const char *name,
			    struct error *err);

/* Is the directory's lock held by some process? */
bool state_locked(const char *job_dir);

/* The newest run's directory, or NULL. A run's name begins with a digit. */
const char *state_newest(struct arena *arena, const char *job_dir);

/* Replace a document of a run; safe: synced to disk, in the room reserved for it. */
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

/* To the program that runs a job: look at STATE_SUSPEND. Others ignore it by default. */
#define STATE_SIGNAL SIGURG

#endif
