/*
 * state_owned.h - the objects and events that runs publish in their directories
 * (state.h), and the runs that a server (`controller --local`) owns:
 *
 *     <run>/api/<Kind>.<name>.json    its objects, as an API has them, each replaced
 *                                     atomically
 *     <run>/events        a line of JSON each; of runs that no server owns
 *     <run>/owner.json    the server and the JobSet that own the run
 *     <run>/suspended     the run ends because its JobSet is suspended
 */
#ifndef LOCAL_STATE_OWNED_H
#define LOCAL_STATE_OWNED_H

#include "local/state.h"

/*
 * The owner of a run: a server (its directory) and a JobSet, by uid and generation. A
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
/* The runs of a server, per job the newest first; name NULL: of all jobs. */
struct state_owned *state_owned(struct arena *arena, const char *server, const char *ns,
				const char *name);
/*
 * May a user replace or delete the job? ERR_EXISTS: its newest run belongs to a server
 * whose directory exists.
 */
MUST_CHECK int state_owned_check(const char *ns, const char *name, struct error *err);
/* Has a run of a server whose directory exists ended as its JobSet is suspended? */
bool state_owned_is_suspended(const char *run);
/* Ask the run's process to end, without waiting. */
void state_owned_stop(const struct state_owned *run);
/* Record that the run ends because its JobSet is suspended: not a failure. */
void state_owned_suspend(const struct state_owned *run);
/*
 * The JobSet is deleted: delete the run with its logs and the claims of the JobSet's
 * templates (state_claims_release()), and the job if it was the only run.
 */
void state_owned_remove(const struct state_owned *run);
/*
 * A server's JobSet that has no run uses its claims, until _end() or while the server's
 * directory exists: <state>/claims/<ns>/.waiting/.
 */
void state_claims_wait(const char *server, const cJSON *jobset);
void state_claims_wait_end(const char *server, const char *ns, const char *name);
/* Finish removals that were interrupted by a kill. */
void state_owned_sweep(void);

#define STATE_API    "api"
#define STATE_EVENTS "events"
#define STATE_NOTES  "notes.txt"

/* ---- for the process of a run ------------------------------------------------------ */

/*
 * After state_begin(): record the owner. ERR_EXISTS with code EALREADY: that generation
 * or a later one already has a run.
 */
MUST_CHECK int state_own(const struct state_run *run, const char *ns, const char *name,
			 const struct state_owner *owner, struct error *err);

/*
 * Append an event to STATE_EVENTS, a text to STATE_NOTES; write an object of the run
 * into STATE_API, or remove it (NULL). Failures are ignored, not retried.
 */
void state_record(const struct state_run *run, const cJSON *event);
void state_note(const struct state_run *run, const char *text);
void state_publish(const struct state_run *run, const char *kind, const char *name,
		   const cJSON *obj);

#endif
