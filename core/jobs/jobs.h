/*
 * jobs.h - the JobSet and Job controllers, as a pure state machine.
 *
 * Input: a JobSet (jobset.x-k8s.io/v1alpha2, defaulted by jobs_new()) and the status of
 * its pods. Output: which pods to create and to delete, and the JobSet's status. No I/O
 * and no clock of its own, so that every rule is a table row in a test. Follows
 * sigs.k8s.io/jobset v0.12 (pkg/controllers) and k8s.io/kubernetes/pkg/controller/job:
 * replicatedJobs, indexes, dependsOn, startupPolicy, successPolicy, failurePolicy (rules,
 * maxRestarts), backoffLimit, backoffLimitPerIndex, podFailurePolicy, successPolicy of
 * Jobs, activeDeadlineSeconds, suspend, restart delays.
 */
#ifndef JOBS_JOBS_H
#define JOBS_JOBS_H

#include "base/json.h"

struct jobs;

enum { JOBS_MAX_PODS = 10000 };

/*
 * A failed pod is replaced after a pause that doubles with each failure in a row. In a
 * cluster the pause is 10 s at first and 10 min at most (DefaultJobPodFailureBackOff).
 */
enum { JOBS_BACKOFF_FIRST_MS = 100, JOBS_BACKOFF_MAX_MS = 60000 };

enum jobs_action_type { JOBS_CREATE_POD, JOBS_DELETE_POD };
struct jobs_action {
	enum jobs_action_type type;
	const char *pod_name;
	const cJSON *pod; /* JOBS_CREATE_POD: the v1 Pod, as the Job controller makes it
	                   * (name, labels, annotations, env JOB_COMPLETION_INDEX,
	                   * hostname, subdomain); valid until the next jobs_step() */
};

enum jobs_phase { JOBS_RUNNING, JOBS_SUSPENDED, JOBS_COMPLETED, JOBS_FAILED };

/* Copies the JobSet. ERR_INVALID, ERR_LIMIT: a cluster, or this program, refuses it. */
MUST_CHECK int jobs_new(struct jobs **ret, const cJSON *jobset, struct error *err);
void jobs_free(struct jobs *j); /* NULL is fine */

/* Replaces JOBS_BACKOFF_FIRST_MS and JOBS_BACKOFF_MAX_MS. */
void jobs_set_backoff(struct jobs *j, int64_t first_ms, int64_t max_ms);
void jobs_set_suspend(struct jobs *j, bool suspend); /* spec.suspend changes */

/*
 * Enumerates every pod that may ever run, by i from 0: its name and its DNS names (ends
 * with NULL); false after the last. A pod that replaces another has a new name and the
 * same DNS names.
 */
bool jobs_pod_names(const struct jobs *j, size_t i, const char **ret_pod,
		    const char *const **ret_names);

/* The DNS names of a pod that jobs_step() made, or NULL. */
const char *const *jobs_names_of(const struct jobs *j, const char *pod);

/*
 * Report a pod's current v1.PodStatus; NULL: the pod no longer exists, which must be
 * reported for each JOBS_DELETE_POD, even if the pod had ended before. Times are
 * milliseconds since the Unix epoch, from a clock that is never set back.
 */
void jobs_pod_status(struct jobs *j, const char *pod, const cJSON *status,
		     int64_t now_ms);

/* The labels that pod i of jobs_pod_names() will have; owned by the caller. */
cJSON *jobs_pod_labels(const struct jobs *j, size_t i);

/*
 * Decide what to do now. Returns the number of *ret_actions, which stay valid until the
 * next call. *ret_wake_ms: when to call again even if nothing happens (back-off,
 * deadlines), or -1.
 */
size_t jobs_step(struct jobs *j, int64_t now_ms, const struct jobs_action **ret_actions,
		 int64_t *ret_wake_ms);

enum jobs_phase jobs_phase(const struct jobs *j);

/*
 * The JobSet's status as the controller writes it (conditions, replicatedJobsStatus,
 * restarts), owned by j and valid until the next jobs_step().
 */
const cJSON *jobs_status(struct jobs *j);

/* The Jobs that exist now, as v1 Jobs with status: a JSON array, owned by the caller. */
cJSON *jobs_objects(struct jobs *j);

/*
 * The Job of a failed JobSet that failed first, and the reason and message of its
 * condition Failed; owned by j. False: no Job failed.
 */
bool jobs_first_failed(struct jobs *j, const char **ret_job, const char **ret_reason,
		       const char **ret_message);

#endif
