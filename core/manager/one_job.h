/*
 * one_job.h - the controller of one TrainJob, single-threaded: the caller that runs the
 * pods also calls the passes (local/run.h).
 *
 * The passes are those of reconcile.h. The API is in this process: an object is up to
 * date as soon as a call returns, so that nothing is watched or queued.
 */
#ifndef MANAGER_ONE_JOB_H
#define MANAGER_ONE_JOB_H

#include "kube/kube.h"

struct one_job;

struct one_job_conf {
	struct kube *kube;     /* has the namespace, runtime and TrainJob; borrowed */
	const char *ns, *name; /* the TrainJob; all strings are copied */
	/* The URL of the status server and its CA (PEM); NULL: no status server. */
	const char *status_server_url, *status_server_ca;
	/* Called in one_job_pass() and one_job_pod_changed() for each event. */
	void (*on_event)(void *ctx, const cJSON *event);
	void *ctx;
};

MUST_CHECK int one_job_new(struct one_job **ret, const struct one_job_conf *conf,
			   struct error *err);
void one_job_free(struct one_job *s); /* NULL is fine */

/*
 * Runs one pass; call it after each change. *ret_after_ms: also call it after that time;
 * 0: not until the next change. Errors as reconcile_trainjob(). Ignores the TTL: machine.h
 * shows the job after its end, and deletes it.
 */
MUST_CHECK int one_job_pass(struct one_job *s, int64_t *ret_after_ms, struct error *err);
/* Call for each change of a pod: `old` NULL: it is new; `now` NULL: it is deleted. */
void one_job_pod_changed(struct one_job *s, const cJSON *old, const cJSON *now);

#endif
