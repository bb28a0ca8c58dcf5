/*
 * reconcile_impl.h - one pass over one TrainJob; private to core/manager/reconcile*.c.
 *
 *     reconcile.c           order of a pass; skipped if the watch lags behind our writes
 *     reconcile_objects.c   pipeline, writing the objects
 *     reconcile_runtime.c   the runtime, and its snapshot
 *     reconcile_status.c    status, and events about it
 *     reconcile_end.c       deadline, time to live
 *     job_memory.c          this process's record of its own writes
 */
#ifndef MANAGER_RECONCILE_IMPL_H
#define MANAGER_RECONCILE_IMPL_H

#include "base/clock.h"
#include "manager/job_memory.h"
#include "manager/reconcile.h"
#include "manager/snapshots.h"
#include "trainer/pipeline.h"

struct reconciler {
	struct arena arena; /* owns the strings in conf */
	struct reconciler_conf conf;
	struct snapshots snapshots;
	struct count_limit counts;
	/* Until when the CRD is taken for upstream's, without status.state; startTime. */
	atomic_llong state_lacks_until, times_lack_until; /* clock_ms() */
};

/* The JobSet with the TrainJob's name. */
struct pass_jobset {
	cJSON *own;          /* jobset_digest() of the TrainJob's own; NULL: none */
	bool made;           /* by this pass */
	bool gone;           /* `own` was deleted after its end; it is not made again */
	bool name_taken;     /* another owner has a JobSet with that name */
	bool of_predecessor; /* a deleted TrainJob of the same name owns the JobSet */
};

struct pass_objects {
	cJSON *cache;     /* array of the objects read; one without a uid is absent */
	bool create_only; /* a new TrainJob has no objects: create without reading */
	bool awaits_pods; /* of the JobSet, to end: then it is recreated */
	const cJSON *workload; /* Kubernetes', of this pass, with its uid; or NULL */
	const cJSON *unknown_snapshot; /* to check before writing the JobSet; or NULL */
	cJSON *lost_snapshot;          /* to write, of the live runtime; or NULL */
	unsigned foreign_changes;      /* job_memory.foreign_changes at the start */
};

struct pass_status {
	cJSON *before;            /* the status at the start; NULL: none */
	char *first_failure;      /* pod_facts_first_failure(); NULL: not known */
	size_t first_failure_len; /* the part of it that is in the status */
	char now[TIME_TEXT_SIZE];
};

struct pass {
	struct reconciler *r;
	const char *key, *ns, *name;
	struct arena arena;
	struct job_memory *memory;
	cJSON *tj; /* status is edited in place */
	struct pass_jobset jobset;
	struct pass_objects objects;
	struct pass_status status;
	int64_t requeue_ms; /* see pass_requeue_after(); 0: none requested */
};

/* Runs the next pass in ms; the earliest request of a pass wins. */
void pass_requeue_after(struct pass *p, int64_t ms);
/* Records an event about the TrainJob; with no recorder in conf, does nothing. */
void pass_event(struct pass *p, bool warning, const char *reason, const char *message);

/*
 * Loads the runtime, runs the pipeline and writes the objects, or does nothing if the
 * inputs are those of the last complete pass. ERR_CONFLICT: an object was changed or is
 * being deleted: retry soon, without an event.
 */
MUST_CHECK int objects_reconcile(struct pass *p, struct error *err);
/* Reads an object that the TrainJob owns; NULL: absent. Errors as pass_check_owner(). */
MUST_CHECK int objects_fetch_given(struct pass *p, const struct kube_ref *ref,
				   const cJSON **ret, struct error *err);
/* The same for objects that we create: a new TrainJob has none to read. */
MUST_CHECK int objects_fetch_own(struct pass *p, const struct kube_ref *ref,
				 const cJSON **ret, struct error *err);
/* Server-side apply; ERR_CONFLICT: another than `existing` (NULL: none) is there. */
MUST_CHECK int objects_apply(struct pass *p, cJSON *obj, const cJSON *existing,
			     cJSON **ret_meta, struct error *err);

/* The runtime of the snapshot, which is made if there is none; the caller's. */
MUST_CHECK int objects_load_runtime(struct pass *p, cJSON **ret, struct error *err);
/* Fails unless the live JobSet was built from the snapshot from which `obj` was built. */
MUST_CHECK int objects_check_snapshot(struct pass *p, const cJSON *obj,
				      struct error *err);
/* Writes lost_snapshot, of `runtime`, and its digest to a JobSet built from another. */
MUST_CHECK int objects_make_lost_snapshot(struct pass *p, const struct pipeline *pipeline,
					  const cJSON *runtime, struct error *err);
/* Sends a merge patch of the JobSet; `suspended`: its spec.suspend after that. */
MUST_CHECK int objects_patch_jobset(struct pass *p, cJSON *patch, bool suspended,
				    struct error *err);
/* Records the runPolicy of `runtime`, which is certain to be the TrainJob's. */
void objects_know_policy(struct pass *p, const cJSON *runtime);
/*
 * Reads the runtime's runPolicy into the memory, from the snapshot, or from the live
 * runtime without one.
 */
MUST_CHECK int objects_read_policy(struct pass *p, struct error *err);
/* The text about a kind that is missing, from watches_lack_groups(); in the pass's arena. */
const char *pass_missing_text(struct pass *p, const char *api_version);
/* *ret_status (or NULL): the live TrainJob has a status. ERR_CONFLICT: deleted or replaced. */
MUST_CHECK int pass_check_alive(struct pass *p, bool *ret_status, struct error *err);
bool pass_no_answer(const struct error *err); /* a write may have been done */
/* True: the API server refused a write because the namespace is being deleted. */
bool pass_namespace_dying(const struct error *err);
/* Deletes the TrainJob's own JobSet, by uid. An absent JobSet is no error. */
MUST_CHECK int objects_delete_jobset(struct pass *p, const char *propagation,
				     struct error *err);
/* A write of `obj` then fails unless it replaces `existing` (NULL: no object). */
void pass_write_precondition(cJSON *obj, const cJSON *existing);
/*
 * Fails unless `tj` controls `obj`. ERR_CONFLICT: `obj` is being deleted or belongs to a
 * deleted TrainJob of that name; ERR_EXISTS: to another owner, or to none.
 */
MUST_CHECK int pass_check_owner(const cJSON *obj, const cJSON *tj, struct error *err);

/*
 * Computes and writes the status, records its events and deletes the JobSet after the
 * deadline. `built`: all objects are up to date. A deleted TrainJob is no error.
 */
MUST_CHECK int status_reconcile(struct pass *p, bool built, struct error *err);
/* A merge patch from `before` (or NULL) to `is`, the caller's; NULL: they are equal. */
cJSON *status_patch(const cJSON *before, const cJSON *is);
/* Fails the job after its deadline; before, requeues it for then. */
MUST_CHECK int end_check_deadline(struct pass *p, cJSON *status, struct error *err);
/* Sets startTime, completionTime, and what the runtime's runPolicy said (KEP-2899). */
MUST_CHECK int end_set_times(struct pass *p, cJSON *status, struct error *err);
void end_was_written(struct pass *p);           /* the status with these times */
bool pass_crd_lacks(const atomic_llong *until); /* until that time: clock_ms() */
/*
 * Deletes the TrainJob ttlSecondsAfterFinished after its end; before, requeues it for then.
 * Deletes only the version that was read, so that a TTL that was changed meanwhile counts.
 * Never early by any of the clocks of this machine and of the API server.
 */
MUST_CHECK int end_expire(struct pass *p, struct error *err);
/* The same for a TrainJob that MultiKueue runs in another cluster (spec.managedBy). */
MUST_CHECK int end_expire_managed(struct pass *p, struct error *err);
/* Removes the TrainJob from the gauge trainer_trainjobs, if it is counted. */
void reconciler_uncount_state(struct reconciler *r, struct job_memory *n);

extern const struct metric trainjobs_gauge, jobset_seconds, failures_total;

#endif
