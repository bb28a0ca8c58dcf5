/*
 * jobs_impl.h - shared by the files of jobs.h. For jobs*.c only.
 *     jobs.c          the loop between the two controllers
 *     jobs_spec.c     set defaults, read the JobSet once
 *     jobs_check.c    refuse JobSets that a cluster would refuse
 *     jobs_jobset.c   the JobSet controller
 *     jobs_job.c      the Job controller
 *     jobs_policy.c   pod failure and success policies of a Job
 *     jobs_pod.c, jobs_object.c   make pods and Job objects
 */
#ifndef JOBS_JOBS_IMPL_H
#define JOBS_JOBS_IMPL_H

#include "base/json.h"
#include "jobs/jobs.h"
#include "jobs/pod_phase.h"

/* The Job controller's rules for one replicatedJob. Strings are owned by the JobSet. */
struct jobs_rjob {
	const char *name, *group;
	const cJSON *doc; /* spec.replicatedJobs[i] */
	int replicas;
	bool indexed, on_failure, replace_failed_only;
	int parallelism, completions;                                 /* -1: nil */
	int64_t backoff_limit, backoff_per_index, max_failed_indexes; /* -1: nil */
	int64_t deadline_ms;                                          /* -1: nil */
	const cJSON *failure_policy, *success_policy, *depends_on;
	struct jobs_job *jobs; /* array of `replicas` Jobs */
};

struct jobs_pod {
	struct jobs_pod *next; /* in the order of creation */
	char *name;
	int index; /* completion index; -1: the Job is not Indexed */
	cJSON *doc, *status;
	enum pod_phase phase;
	bool ready;
	bool deleting, gone; /* has a deletionTimestamp; no longer exists */
	bool counted;        /* in the Job's succeeded or failed */
	int64_t restarts, finished_ms;
};

struct jobs_index {
	enum { INDEX_OPEN, INDEX_SUCCEEDED, INDEX_FAILED } state;
	bool busy;            /* scratch: ended, or has a pod now */
	int64_t failures;     /* counted against backoffLimitPerIndex */
	int64_t all_failures; /* also ignored failures, which delay the next pod, too */
	int64_t last_failure_ms;
};

enum job_end { JOB_OPEN, JOB_COMPLETE, JOB_FAILED };

/* One Job. Its name never changes; the object is deleted and recreated by restarts. */
struct jobs_job {
	struct jobs_rjob *rjob;
	int replica;
	char *name, *uid;
	bool exists, deleting, suspended;
	int attempt, own_attempt; /* restart-attempt, job-restart-attempt of the object */
	int own_restarts, own_counted; /* status.jobRestarts of this replica */

	int64_t created_ms;
	int64_t start_ms, suspend_ms; /* -1: not started; never suspended nor resumed */
	enum job_end target, end;
	const char *reason; /* static */
	char *message;
	int64_t end_ms;

	int64_t succeeded, failed;
	struct jobs_index *indexes; /* array of `completions`, if indexed */
	int64_t backoff_failures, backoff_last_ms;
	unsigned serial; /* pods made so far, over all objects of this name */
	struct jobs_pod *pods, **tail;
};

struct jobs {
	cJSON *jobset; /* with defaults */
	const char *name, *ns, *uid, *subdomain;
	cJSON *status;
	struct jobs_rjob *rjobs;
	size_t n_rjobs;
	bool suspended, completed, failed;
	int restarts, restarts_counted;
	int64_t backoff_first_ms, backoff_max_ms;

	char **first_pods; /* names by slot, for jobs_pod_names() */
	char ***names;
	size_t n_names;

	int64_t now_ms, wake_ms; /* during jobs_step() */
	bool changed;
	struct jobs_action *actions;
	size_t n_actions, cap_actions;
};

#define jobs_each_job(job, j)                                                     \
	for (size_t r_ = 0; r_ < (j)->n_rjobs; r_++)                              \
		for (struct jobs_job *job = (j)->rjobs[r_].jobs,                  \
				     *job##_end_ = job + (j)->rjobs[r_].replicas; \
		     job < job##_end_; job++)

/* jobs_spec.c: set the defaults of JobSet's and Kubernetes' admission. */
void jobs_default(cJSON *jobset);
/* jobs_spec.c: check j->jobset, which has its defaults, and read it into *j. */
MUST_CHECK int jobs_read(struct jobs *j, struct error *err);

/* jobs_check.c: fails if a cluster would refuse the JobSet. */
MUST_CHECK int jobs_check(const struct jobs *j, struct error *err);

/* jobs_jobset.c: one reconcile of the JobSet controller, without its status. */
void jobset_sync(struct jobs *j);
void jobset_write_status(struct jobs *j);

/* jobs_job.c: create the object, delete it, and one reconcile of the Job controller. */
void job_create(struct jobs *j, struct jobs_job *job);
void job_delete(struct jobs *j, struct jobs_job *job);
void job_sync(struct jobs *j, struct jobs_job *job);
void job_forget(struct jobs_job *job); /* the object no longer exists */
struct job_pods {
	int active, ready, terminating, total;
	int64_t restarts; /* of the containers of pods that have not ended */
};
struct job_pods job_count(const struct jobs_job *job);

/* jobs_policy.c */
enum pod_failure { FAILURE_COUNT, FAILURE_IGNORE, FAILURE_FAIL_INDEX, FAILURE_FAIL_JOB };
/* The action for a failed pod. *ret_message: with FAILURE_FAIL_JOB only; free() it. */
enum pod_failure pod_failure_match(const struct jobs *j, const struct jobs_rjob *rjob,
				   const struct jobs_pod *pod, char **ret_message);
/* The number of the rule of the Job's successPolicy that is met, or -1. */
int jobs_success_policy_match(const struct jobs_job *job);

/* jobs_pod.c */
char *pod_new_name(const struct jobs_job *job, int index, unsigned serial);
char **pod_dns_names(const struct jobs *j, const struct jobs_job *job, int index,
		     const char *pod);
cJSON *pod_new(const struct jobs *j, const struct jobs_job *job, int index,
	       const char *name, int64_t failures);

/* labelAndAnnotateObject() of the JobSet controller; labels and annotations are equal. */
void jobs_put_jobset_keys(const struct jobs *j, const struct jobs_job *job, cJSON *map);

char *jobs_uid(const char *space, const char *name); /* RFC 4122 version 5; free() it */

/* jobs.c: add an action to this step; make the next step run at `ms` at the latest. */
void jobs_act(struct jobs *j, enum jobs_action_type type, struct jobs_pod *pod);
void jobs_wake_at(struct jobs *j, int64_t ms);
char *jobs_printf(const char *fmt, ...) PRINTF_LIKE(1, 2); /* free() it */

#endif
