/*
 * reconcile_impl.h - one pass over one TrainJob; private to core/manager/reconcile*.c,
 * notes.c.
 *
 *     reconcile.c           the order, and when a pass is too early
 *     reconcile_objects.c   runtime, pipeline, writing the objects
 *     reconcile_status.c    status, deadline, events about both
 *     notes.c               what this process remembers of its own writes
 */
#ifndef MANAGER_RECONCILE_IMPL_H
#define MANAGER_RECONCILE_IMPL_H

#include "base/clock.h"
#include "manager/job_memory.h"
#include "manager/reconcile.h"
#include "manager/snapshots.h"

struct reconciler {
	struct arena arena; /* of the strings in conf */
	struct reconciler_conf conf;
	struct snapshots snapshots;
	struct count_limit counts;
	atomic_bool crd_lacks_state; /* the CRD, upstream's, knows no status.state */
};

/* The JobSet of the TrainJob's name. */
struct pass_jobset {
	cJSON *own;          /* jobset_digest() of the TrainJob's; NULL: it has none */
	bool name_taken;     /* by another owner */
	bool of_predecessor; /* it is of a deleted TrainJob of that name */
};

struct pass_objects {
	cJSON *cache;     /* an array of what has been read; without a uid: absent */
	bool create_only; /* a new TrainJob has none: do not read, create */
	const cJSON
		*unknown_snapshot; /* check it before the JobSet is written; or NULL */
	unsigned foreign_changes;  /* the note's, when the pass began */
};

struct pass_status {
	cJSON *before;            /* NULL: there was none */
	char *first_failure;      /* the one that explains the others; NULL: not known */
	size_t first_failure_len; /* so much of it is in the status */
	char now[TIME_TEXT_SIZE];
};

struct pass {
	struct reconciler *r;
	const char *key, *ns, *name;
	struct arena arena;
	struct job_memory *note;
	cJSON *tj; /* its status is edited in place */
	struct pass_jobset jobset;
	struct pass_objects objects;
	struct pass_status status;
	int64_t requeue_ms; /* 0: no need */
};

/* The earliest of those that were asked for. */
void requeue_after(struct pass *p, int64_t ms);
void pass_event(struct pass *p, bool warning, const char *reason, const char *message);

/*
 * Everything from the runtime to the written objects. ERR_CONFLICT: an object changed or
 * is being deleted: retry soon, without an event.
 */
MUST_CHECK int objects_reconcile(struct pass *p, struct error *err);
/* Reads the TrainJob. ERR_CONFLICT: it was deleted, or another has its name. */
MUST_CHECK int check_alive(struct pass *p, struct error *err);
/* The API server refuses because the namespace is being deleted. */
bool is_namespace_dying(const struct error *err);
/* The TrainJob's own JobSet, by its uid; an absent one is no error. */
MUST_CHECK int objects_delete_jobset(struct pass *p, const char *propagation,
				     struct error *err);

/* Makes writing `obj` fail unless `existing` (NULL: nothing) is what it replaces. */
void write_precondition(cJSON *obj, const cJSON *existing);
/* ERR_CONFLICT: a deleted TrainJob of that name owns it; ERR_EXISTS: another owner. */
MUST_CHECK int check_owner(const cJSON *obj, const cJSON *tj, struct error *err);

/* `built`: the objects are as they should be. */
MUST_CHECK int status_reconcile(struct pass *p, bool built, struct error *err);
/* A merge patch of the status from `was` (may be NULL) to `is`; NULL: they are equal. */
cJSON *status_patch(const cJSON *before, const cJSON *is);
/* Remove the one that counts from the gauge, add another; NULL: none. */
void count_state(struct pass *p, const char *state);
void uncount_state(struct reconciler *r, struct job_memory *n);

extern const struct metric trainjobs_gauge, jobset_seconds, failures_total;

#endif
