/*
 * jobs.h - what the JobSet and Job controllers do, as a pure state machine.
 *
 * Takes a JobSet (jobset.x-k8s.io/v1alpha2, defaults filled in by jobs_new) and
 * what its pods do; says which pods to create and which to delete, and the
 * JobSet's status. No I/O and no clock of its own, so that every rule is a
 * table row in a test. Follows sigs.k8s.io/jobset v0.12 (pkg/controllers) and
 * k8s.io/kubernetes/pkg/controller/job: replicatedJobs, indexes, dependsOn,
 * startupPolicy, successPolicy, failurePolicy (rules, maxRestarts),
 * backoffLimit, backoffLimitPerIndex, podFailurePolicy, successPolicy of Jobs,
 * activeDeadlineSeconds, suspend, restart delays.
 */
#ifndef LOCAL_JOBS_H
#define LOCAL_JOBS_H

#include "base/json.h"

struct jobs;

enum jobs_action_type { JOBS_CREATE_POD, JOBS_DELETE_POD };
struct jobs_action {
	enum jobs_action_type type;
	const char *pod_name;
	const cJSON *pod; /* JOBS_CREATE_POD: the v1 Pod, as the Job controller makes it
			   * (name, labels, annotations, env JOB_COMPLETION_INDEX, hostname,
			   * subdomain); the machine's until the next call */
};

enum jobs_phase { JOBS_RUNNING, JOBS_SUSPENDED, JOBS_COMPLETED, JOBS_FAILED };

MUST_CHECK int jobs_new(struct jobs **ret, const cJSON *jobset, struct error *err);
void jobs_free(struct jobs *j);

/* Every pod that may ever run: its name and DNS names (ends with NULL); false: no more. */
bool jobs_pod_names(const struct jobs *j, size_t i, const char **ret_pod,
		    const char *const **ret_names);

/* Tell it what a pod's v1.PodStatus is now (NULL: the pod is gone). */
void jobs_pod_status(struct jobs *j, const char *pod, const cJSON *status, int64_t now_ms);

/*
 * Decide. *ret_actions stays valid until the next call; returns their number.
 * *ret_wake_ms: when to call again though nothing happened (back-off,
 * deadlines), or -1.
 */
size_t jobs_step(struct jobs *j, int64_t now_ms, const struct jobs_action **ret_actions,
		 int64_t *ret_wake_ms);

enum jobs_phase jobs_phase(const struct jobs *j);

/* JobSet .status as the controller writes it: conditions, replicatedJobsStatus, restarts. */
const cJSON *jobs_status(struct jobs *j);

#endif
