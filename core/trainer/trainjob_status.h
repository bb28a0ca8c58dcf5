/*
 * trainjob_status.h - the status of a TrainJob from what became of its JobSet.
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
 * apimachinery's meta.SetStatusCondition: the time of the last transition
 * changes only with the condition's status; `now` is used if `take` has none.
 */
void status_set_condition(cJSON *status, cJSON *take, const char *now);

/* Suspended is True while spec.suspend is; False, "Resumed", once it was True. */
void status_suspend(cJSON *status, const cJSON *tj, const char *now);

/*
 * Complete and Failed from the JobSet's conditions of that meaning, jobsStatus
 * from replicatedJobsStatus. A Failed set by us (the deadline) stays unchanged.
 */
void status_of_jobset(cJSON *status, const cJSON *jobset);

/* Failed, for a reason that no JobSet has. */
void status_fail(cJSON *status, const char *reason, const char *message, const char *now);

/*
 * Its objects cannot be created until somebody acts: ResourcesCreated is False.
 * status_unblock() removes that: the Python SDK takes a job with any condition but
 * Complete and Failed for one that does not run.
 */
void status_block(cJSON *status, const char *reason, const char *message,
		  const char *now);
void status_unblock(cJSON *status);

/*
 * Set the counts of active and ready pods to 0: nothing runs, but no controller counts
 * it.
 */
void status_idle(cJSON *status);
bool status_is_active(const cJSON *status); /* some job has active pods */

void status_exceed_deadline(cJSON *status, const char *now);
bool status_is_exceeded(const cJSON *status); /* it has failed for that reason */

/*
 * The Failed condition's message, JobSet's words, ends with who failed first:
 * "...; first: node-1 (node rank 1): container node: exit code 3".
 */
#define STATUS_FIRST "; first: "
void status_add_first(cJSON *status, const char *who);
/* False: it has failed, and `previous` did not say that of the same words. */
bool status_keep_first(cJSON *status, const cJSON *previous);

/*
 * The events of a change: Suspended (of a job that is born so its JobSet's says it),
 * Resumed, Completed, Failed, a warning. `more` joins the words of the last; or NULL.
 */
struct status_sink {
	void (*on_event)(void *ctx, bool warning, const char *reason,
			 const char *message);
	void *ctx;
};
void status_events(const cJSON *before, const cJSON *now, const char *more,
		   const struct status_sink *to);

/* Where the deadline counts from: the creation, or the last time it was resumed. */
const char *status_deadline_start(const cJSON *tj);

/*
 * One word for a person: Created, Suspended, Running, Complete or Failed. Never NULL.
 * Running: a replicatedJob's pods have all been ready or have succeeded, and while some
 * are still there; pods that wait for a node or an image are not.
 * status_set_state() writes it into the status, where upstream has no such field.
 */
const char *status_state(const cJSON *status);
void status_set_state(cJSON *status);

#endif
