/*
 * webhook.h - the four admission webhooks (admission.k8s.io/v1).
 *
 *     /mutate-trainer-kubeflow-org-v1alpha1-trainjob       runtimePatches[].time; marks a
 *                                                          workspace as supported. Called
 *                                                          only for TrainJobs with one of
 *                                                          them (matchConditions)
 *     /validate-trainer-kubeflow-org-v1alpha1-trainjob     pipeline_validate()
 *     /validate-trainer-kubeflow-org-v1alpha1-trainingruntime
 *     /validate-trainer-kubeflow-org-v1alpha1-clustertrainingruntime
 *
 * None is called for an object that is being deleted.
 *
 * A TrainJob is checked against its runtime or, if that was deleted, its snapshot.
 * Denials are 403 Forbidden as upstream's (several errors as "[a, b]", each once), bodies
 * that do not decode 400. Unlike upstream: an update of metadata or suspend alone, or of
 * an object being deleted, is never denied; a member of the wrong JSON type is left to the
 * schema (422, with its path); updates of TrainingRuntimes are validated, too.
 * Warnings: deprecated runtimes, names that JobSet will refuse, runtimes that the
 * Python SDK cannot read (trainer/sdkcheck.h), and runtimes in which Open MPI 5 would run
 * on one node only.
 */
#ifndef MANAGER_WEBHOOK_H
#define MANAGER_WEBHOOK_H

#include "manager/admission.h"
#include "manager/runtimes.h"
#include "net/httpd.h"

struct webhook;

struct webhook_conf {
	struct kube *kube;               /* NULL: as if the cluster had no objects */
	struct runtimes *runtimes;       /* NULL: read from the API server */
	struct metrics *metrics;         /* webhook_metrics; may be NULL */
	bool status_server;              /* as in reconciler_conf */
	bool claims_off, scheduling_off; /* as in reconciler_conf */
	int64_t wait_ms; /* at most, for memory for a large object; 0: 8 s */
};
struct webhook *webhook_new(const struct webhook_conf *conf);
void webhook_free(struct webhook *w);

enum { WEBHOOK_MAX_BODY = 7 * 1024 * 1024 }; /* as controller-runtime's limit */
void webhook_handle(void *webhook, const struct httpd_request *req,
		    struct httpd_response *resp); /* httpd_conf.handle */

/*
 * The review of webhook_handle() without HTTP and JSON text. answer->warnings is an
 * array. False: no webhook has that path.
 */
bool webhook_review(struct webhook *w, const char *path,
		    const struct admission_request *req, struct admission_answer *answer);

/* controller_runtime_webhook_requests_total, _latency_seconds, _requests_in_flight;
 * ends with NULL. */
extern const struct metric *const webhook_metrics[];

#endif
