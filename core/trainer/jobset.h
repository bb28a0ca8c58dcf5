/*
 * jobset.h - the fields of a JobSet, v1alpha2.
 *
 * jobset.c is the only file with JobSet's keys (Job's too: a JobSet holds Job
 * templates). `spec` is a JobSetSpec; `rjob` one of its replicatedJobs. Follows
 * sigs.k8s.io/jobset api/jobset/v1alpha2 and its webhook's rules for names.
 */
#ifndef TRAINER_JOBSET_H
#define TRAINER_JOBSET_H

#include "base/json.h"

#define JOBSET_CREATED      "JobSetCreated" /* an event of the TrainJob */
#define JOBSET_CREATED_TEXT "created the JobSet"

/* The error if the API server does not serve JobSets. */
#define JOBSET_MISSING \
	"JobSet, which Kubeflow Trainer needs, is not installed in the cluster"

cJSON *jobset_jobs(cJSON *spec); /* the list, or NULL */
const cJSON *jobset_jobs_const(const cJSON *spec);
const cJSON *jobset_spec_of(const cJSON *jobset); /* of a whole JobSet, or NULL */
const char *jobset_subdomain(const cJSON *spec);
bool jobset_suspended(const cJSON *jobset);                 /* of a whole JobSet */
void jobset_set_suspend(cJSON *spec, const cJSON *suspend); /* NULL: leave it out */

/* startupPolicy InOrder: each job waits for those before it. */
bool jobset_starts_in_order(const cJSON *spec);

/*
 * Unless it has a successPolicy: succeed once all of these jobs (a list of names) have.
 */
void jobset_default_success(cJSON *spec, cJSON *take_jobs);
/* Can it succeed only once its job `name` has? False: it has no such job. */
bool jobset_awaits(const cJSON *spec, const char *name);

int64_t rjob_replicas(const cJSON *rjob);            /* 1 when absent or 0 */
const cJSON *rjob_replicas_given(const cJSON *rjob); /* unchanged, or NULL */
void rjob_set_replicas(cJSON *rjob, int64_t n);
const char *rjob_ancestor(const cJSON *rjob); /* NULL: none */
bool rjob_is_indexed(const cJSON *rjob);
const cJSON *rjob_depends_on(const cJSON *rjob); /* the list, or NULL */
/* Start once the other job is Ready, replacing any dependency on that job. */
void rjob_set_depends_ready(cJSON *rjob, const char *job);
bool jobset_depends_on_complete(
	const cJSON *dependency); /* of one element; false: on Ready */

/*
 * Whom JobSet leaves the JobSet of that spec to, or Kubernetes the Jobs of a replicated job:
 * spec.managedBy. NULL: nobody else.
 */
const char *jobset_other_manager(const cJSON *spec);
const char *rjob_other_manager(const cJSON *rjob);

/* The nodes of the Job template; made when absent. */
cJSON *rjob_job_spec(cJSON *rjob);
cJSON *rjob_pod_template(cJSON *rjob);
cJSON *rjob_pod_spec(cJSON *rjob);
const cJSON *rjob_pod_spec_const(const cJSON *rjob); /* or NULL */

/* The number of concurrent pods of all replicas, limited by completions. */
int64_t rjob_pods(const cJSON *rjob);

int64_t job_parallelism(const cJSON *job_spec); /* 1 when absent */
void job_set_count(cJSON *job_spec, int64_t n); /* parallelism and completions */

/*
 * Exit codes (1 to 255) of the container for which the Job's podFailurePolicy, whose first
 * rule that matches counts, fails the Job.
 */
void job_final_codes(const cJSON *job_spec, const char *container, bool final[256]);
/*
 * For pods whose container only ends when it is to fail the Job, or is lost: those that
 * are lost come back, once they are gone. What the Job has of these settings remains, its
 * rules first; restartPolicy of the pods is Never, as rules require.
 */
void job_replace_lost_pods(cJSON *job_spec, const char *container);
int64_t jobset_max_restarts(const cJSON *spec); /* 0 when absent */
/* The failure of that job by its podFailurePolicy is the JobSet's, without a restart. */
void jobset_fail_with(cJSON *spec, const char *rjob);

/*
 * Sort the jobs stably in the order of `names` (a list of strings); jobs not in it come
 * first, as in upstream's sort.
 */
void jobset_sort_jobs(cJSON *spec, const cJSON *names);
cJSON *jobset_job_names(const cJSON *spec); /* the caller's */

/*
 * Omit what typed clients omit (drop_omitempty(), replicas 0, empty metadata of Job and
 * pod templates), and write what they and JobSet's webhook always write (resources,
 * status and retention of claims).
 */
void jobset_tidy(cJSON *spec);
/*
 * As JobSet's controller, give pods that mount a volume with the name of a claim template
 * (volumeClaimPolicies) the claim TEMPLATE-JOBSET.
 */
void jobset_add_claims(cJSON *jobset);
/*
 * The names of those claims whose policy lets them be deleted with the JobSet: an array,
 * the caller's. retentionPolicy.whenDeleted: Delete, which is the default, or Retain.
 */
cJSON *jobset_own_claims(const cJSON *jobset);
/*
 * Do pods of `before` have a node selector, toleration or scheduling gate that those of
 * `after` have not? JobSet adds the template's to a Job that it resumes, and removes none.
 */
bool jobset_drops_placement(const cJSON *before, const cJSON *after);

/* status.replicatedJobsStatus of a whole JobSet, and of one element its Jobs. */
const cJSON *jobset_jobs_status(const cJSON *jobset);
int64_t job_status_active(const cJSON *status);
int64_t job_status_succeeded(const cJSON *status);
bool jobset_has_status(const cJSON *jobset);  /* JobSet's controller has processed it */
bool jobset_finished(const cJSON *jobset);    /* Completed or Failed is True */
int64_t jobset_restarts(const cJSON *jobset); /* of all its Jobs together */
/* How often its pods were begun again by restarts and resumptions (KEP-1282); -1: not served. */
int64_t jobset_attempts(const cJSON *jobset);
#define POD_ATTEMPT_ANNOTATION "jobset.sigs.k8s.io/execution-attempt"
int64_t pod_attempt(const cJSON *pod); /* the one that it belongs to; -1: not known */
bool jobset_is_active(const cJSON *jobset); /* some job has active pods */

/*
 * Reduce a JobSet to the fields that a watch stores: names, labels, annotations, owner,
 * versions, spec.suspend, status.conditions, replicatedJobsStatus, restarts.
 * jobset_as_written() returns them, owned by the caller, for a JobSet just written:
 * `meta` is the API server's answer, `previous` the JobSet before the write, or NULL.
 */
void jobset_digest(cJSON *jobset);
cJSON *jobset_as_written(const cJSON *meta, bool suspend, const cJSON *previous);

#endif
