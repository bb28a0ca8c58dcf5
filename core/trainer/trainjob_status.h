/*
 * trainjob_status.h - set a TrainJob's conditions and status from its JobSet.
 *
 * Pure: the time is a parameter. Upstream does the same in its reconciler and
 * its JobSet plugin, in this order: status_suspend(), status_of_jobset(),
 * status_exceed_deadline(). `status` is the TrainJob's, edited in place.
 */
#ifndef TRAINER_TRAINJOB_STATUS_H
#define TRAINER_TRAINJOB_STATUS_H

#include "base/json.h"

const cJSON *status_condition(const cJSON *status, const char *type); /* or NULL */
bool status_is_true(const cJSON *status, const char *type);
bool status_finished(const cJSON *status);        /* Complete or Failed is True */
const char *status_end_time(const cJSON *status); /* when it ended; NULL: not yet */

/*
 * apimachinery's meta.SetStatusCondition: lastTransitionTime changes only with the
 * condition's status; `now` is used if `take`, which is owned from now on, has no time.
 */
void status_set_condition(cJSON *status, cJSON *take, const char *now);

/* Set Suspended: True while spec.suspend is; False, "Resumed", if it was True before. */
void status_suspend(cJSON *status, const cJSON *tj, const char *now);

/*
 * Complete and Failed from the JobSet's conditions of that meaning, jobsStatus
 * from replicatedJobsStatus. A Failed set by us (the deadline) stays the only end: the
 * JobSet may complete before it is deleted.
 */
void status_of_jobset(cJSON *status, const cJSON *jobset);

/* Set Failed for a reason that no JobSet gives. */
void status_fail(cJSON *status, const char *reason, const char *message, const char *now);

/*
 * Set ResourcesCreated to False: objects cannot be created until someone acts.
 * status_unblock() removes the condition, because for the Python SDK a job with any
 * condition but Complete and Failed does not run.
 */
void status_block(cJSON *status, const char *reason, const char *message,
		  const char *now);
void status_unblock(cJSON *status);

/* Set the counts of active and ready pods to 0, if no controller does it. */
void status_idle(cJSON *status);
bool status_is_active(const cJSON *status); /* some job has active pods */

void status_exceed_deadline(cJSON *status, const char *now);
bool status_is_exceeded(const cJSON *status); /* Failed, by the deadline */

/*
 * The message of Failed, JobSet's text, ends with the first failure: "...; first: node-1
 * (node rank 1): container node: exit code 3".
 */
#define STATUS_FIRST "; first: "
void status_append_first_failure(cJSON *status, const char *who);
/*
 * Append the first failure of `previous` again, if JobSet's text is the same. False: the
 * job has failed, and its first failure is still to be found.
 */
bool status_keep_first_failure(cJSON *status, const cJSON *previous);
int64_t status_first_exit_code(const cJSON *status); /* as said there; 0: it is not */

/*
 * Emit the events of a change: Suspended (not at creation, when JobSetCreated reports
 * it), Resumed, Completed, Failed (a warning). `more` (or NULL) is appended to the
 * message of Failed.
 */
struct status_sink {
	void (*on_event)(void *ctx, bool warning, const char *reason,
			 const char *message);
	void *ctx;
};
void status_events(const cJSON *before, const cJSON *now, const char *more,
		   const struct status_sink *to);

/*
 * Set startTime and completionTime (KEP-2899), and `restarts`, which says of which restart
 * of all Jobs startTime is. A suspended job has no startTime. `jobset`: the TrainJob's;
 * NULL: it has none, so that nothing has begun. `anew`: it was recreated just now.
 */
struct status_run {
	const cJSON *before; /* the status as it was; NULL: none */
	const cJSON *jobset;
	bool anew;
	int64_t restarts; /* the number that startTime belongs to */
};
void status_set_times(cJSON *status, const cJSON *tj, const struct status_run *run,
		      const char *now);
int64_t status_restarts(const cJSON *status); /* 0 when absent */
/*
 * How long the job ran or has run, in seconds, until `now` (seconds since 1970); from its
 * creation, if no startTime is known. -1: it is suspended, or its times are unknown.
 */
int64_t status_duration(const cJSON *tj, int64_t now);

/* The TTL of runPolicy when the job ended, in seconds; ABSENT (trainjob.h): none. */
int64_t status_ttl(const cJSON *status);
void status_set_ttl(cJSON *status, int64_t seconds);
/*
 * When a finished TrainJob is to be deleted, in seconds since 1970, by its own TTL or that
 * in its status; -1: never, or not finished.
 */
int64_t status_expires(const cJSON *tj);

/* The start of the deadline: the creation, or the last resume. */
const char *status_deadline_start(const cJSON *tj);

/*
 * The state as one word: Created, Suspended, Running, Complete or Failed. Never NULL.
 * Running: all pods of a replicatedJob are ready or have succeeded, and until none
 * exists; pods that wait for a node or an image do not count. status_set_state() writes
 * it into the status, a field that upstream does not have.
 */
const char *status_state(const cJSON *status);
void status_set_state(cJSON *status);

#endif
