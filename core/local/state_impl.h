/*
 * state_impl.h - what state.c (readers) and state_run.c (the writer) share.
 */
#ifndef LOCAL_STATE_IMPL_H
#define LOCAL_STATE_IMPL_H

#include "base/arena.h"
#include "base/json.h"

/* <state>/jobs, from the environment; ERR_INVALID if that is unusable. */
MUST_CHECK int state_root(struct arena *arena, const char **ret, struct error *err);

/*
 * <state>/jobs/<ns>/<name>; name NULL: <state>/jobs/<ns>; both: <state>/jobs.
 * ERR_INVALID for what cannot be a name.
 */
MUST_CHECK int state_dir(struct arena *arena, const char **ret, const char *ns,
			 const char *name, struct error *err);

/* The visible entries, sorted; ends with NULL. Empty for a missing directory. */
char **state_entries(struct arena *arena, const char *dir);

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

#define STATE_LOCK    "lock"
#define STATE_LATEST  "latest"
#define STATE_REPORT  "report.txt"
#define STATE_RESERVE "reserved"
#define STATE_OWNER   "owner.json"
#define STATE_SUSPEND "suspended"

#endif
