/*
 * local_job.h - the TrainJob of `submit --local`, in an API in this process's memory,
 * where the manager's controller makes its JobSet, and to which its pods report progress
 * (local_status.h).
 */
#ifndef MACHINE_LOCAL_JOB_H
#define MACHINE_LOCAL_JOB_H

#include "local/run.h"
#include "spec/job.h"

struct local_job;

/*
 * Store the job with its runtime and the ConfigMaps and Secrets of its files, and let the
 * controller make its objects. Errors are the API's refusals, in its words.
 */
MUST_CHECK int local_job_new(struct local_job **ret, const struct job_set *set,
			     const struct job *job, struct error *err);
void local_job_free(struct local_job *j); /* NULL is fine */

/* As stored: local_run_opts.trainjob. */
const cJSON *local_job_trainjob(const struct local_job *j);
/*
 * The objects to run (local_run_opts.objects), which the caller may edit, and the job's
 * objects that only a cluster's controllers read.
 */
cJSON *local_job_objects(struct local_job *j);
/* Why the pods cannot report progress; NULL: they can. */
const char *local_job_no_progress(const struct local_job *j);
/* local_run_opts.pod_key */
const char *local_job_pod_key(const struct local_job *j);
/* The run's controller; valid until local_job_free(). */
const struct local_controller *local_job_controller(const struct local_job *j);

#endif
