/* run_retry.c - decide how often a failed pod is retried (local/run_impl.h). */
#include "base/str.h"
#include "local/run_impl.h"
#include "trainer/jobset.h"

/* Kubernetes' default. */
enum { CLUSTER_BACKOFF_LIMIT = 6 };

/* Does the Job set how often its pods are retried? */
static bool is_set(const cJSON *rjob)
{
	const cJSON *spec = json_get(rjob, "template", "spec");

	return json_get(spec, "backoffLimit") || json_get(spec, "backoffLimitPerIndex");
}

void run_set_restarts(struct run *r)
{
	cJSON *rjob;

	if (r->opts->max_restarts > 0)
		json_put_int(r->jobset, r->opts->max_restarts, "spec", "failurePolicy",
			     "maxRestarts");
	json_each(rjob, json_get(r->jobset, "spec", "replicatedJobs")) {
		if (!is_set(rjob)) {
			json_put_int(rjob, 0, "template", "spec", "backoffLimit");
			r->gives_up = true;
		}
		/*
		 * With OnFailure a node restarts a container once before the Job's
		 * controller applies a limit of 0: the same failure, twice.
		 */
		if (!json_int((const cJSON *)rjob, -1, "template", "spec",
			      "backoffLimit"))
			json_put_str(rjob_pod_spec(rjob), "Never", "restartPolicy");
	}
}

void run_report_no_retry(const struct run *r)
{
	if (r->gives_up && !r->opts->max_restarts && r->end == RUN_ACTIVE &&
	    jobs_phase(r->jobs) == JOBS_FAILED && report_exit_code(r->report))
		run_note(r,
			 "not retried: backoffLimit is not set and defaults to 0 on this "
			 "machine (%d on a cluster); retry with --max-restarts N",
			 CLUSTER_BACKOFF_LIMIT);
}
