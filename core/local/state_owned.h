/*
 * state_owned.h - what runs publish, and the runs of a server among those of this machine
 * (state.h):
 *
 *     <run>/api/<Kind>.<name>.json    its objects, as an API has them, each replaced
 *                                     atomically
 *     <run>/events        a line of JSON each; of runs that no server owns
 *     <run>/owner.json    for whom it is
 *     <run>/suspended     it ends because its JobSet is suspended
 */
#ifndef LOCAL_STATE_OWNED_H
#define LOCAL_STATE_OWNED_H

#include "local/state.h"

/*
 * For whom a run is: a server (its directory) and its JobSet, by uid and generation. A
 * JobSet that is suspended and resumed has several runs.
 */
struct state_owner {
	const char *server, *uid;
	int64_t generation;
};
struct state_owned {
	struct state_owned *next; /* an older one */
	const char *ns, *name;
	const char *dir; /* of the run */
	struct state_owner owner;
	bool running;   /* its process holds the lock */
	bool suspended; /* state_owned_suspend() was called */
};
/* The runs of a server, those of a job newest first; name NULL: of all jobs. */
struct state_owned *state_owned(struct arena *arena, const char *server, const char *ns,
				const char *name);
/*
 * Is the job a person's to replace and to delete? ERR_EXISTS: its newest run is for a
 * server, whose directory is there.
 */
MUST_CHECK int state_owned_check(const char *ns, const char *name, struct error *err);
/* Ask its process to end, and return: the JobSet is suspended or gone. */
void state_owned_stop(const struct state_owned *run);
/* Note that it ends because the JobSet is suspended: its end is no failure. */
void state_owned_suspend(const struct state_owned *run);
/* Delete it with its logs; the job as well, if it was the only run. */
void state_owned_remove(const struct state_owned *run);
/* Finish what was killed while it removed runs. */
void state_owned_sweep(void);

#define STATE_API    "api"
#define STATE_EVENTS "events"

/* ---- for the process that runs it -------------------------------------------------- */

/*
 * After state_begin(): record for whom it is. ERR_EXISTS with code EALREADY: there is a run
 * for it, or for a later generation.
 */
MUST_CHECK int state_own(const struct state_run *run, const char *ns, const char *name,
			 const struct state_owner *owner, struct error *err);

/* An object of the run in STATE_API; NULL: it is gone. What fails is tried no more. */
void state_record(const struct state_run *run, const cJSON *event);
void state_publish(const struct state_run *run, const char *kind, const char *name,
		   const cJSON *obj);

#endif
