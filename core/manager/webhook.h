/*
 * webhook.h - the four admission webhooks (admission.k8s.io/v1).
 *
 *     /mutate-trainer-kubeflow-org-v1alpha1-trainjob       runtimePatches[].time; that a
 *                                                          workspace is served here. Asked
 *                                                          only where there is one or the
 *                                                          other (matchConditions)
 *     /validate-trainer-kubeflow-org-v1alpha1-trainjob     pipeline_validate()
 *     /validate-trainer-kubeflow-org-v1alpha1-trainingruntime
 *     /validate-trainer-kubeflow-org-v1alpha1-clustertrainingruntime
 *
 * The runtime is that of the watch, or read (runtimes.h); where it is gone and the
 * TrainJob has a snapshot of it, that counts. Refusals are 403 Forbidden as upstream's (several errors as "[a, b]", doubles
 * removed), what does not decode 400. Unlike upstream: an update that changes nothing
 * but metadata or suspend, or that of an object being deleted, is never refused; a
 * member of the wrong JSON type is left to the schema (422, with its path); updates of
 * TrainingRuntimes are looked at, too.
 * Warnings: deprecated runtimes, names that JobSet will refuse, runtimes that the
 * Python SDK cannot read (trainer/sdkcheck.h).
 */
#ifndef MANAGER_WEBHOOK_H
#define MANAGER_WEBHOOK_H

#include "manager/runtimes.h"
#include "net/httpd.h"

struct webhook;

struct webhook_conf {
	struct kube *kube;         /* NULL: as if nothing were in the cluster */
	struct runtimes *runtimes; /* NULL: each is asked for */
	struct metrics *metrics;   /* webhook_metrics; may be NULL */
	bool status_server;        /* as the reconciler's */
	int64_t wait_ms;           /* of a review while others are too large; 0: 8 s */
};
struct webhook *webhook_new(const struct webhook_conf *conf);
void webhook_free(struct webhook *w);

enum { WEBHOOK_MAX_BODY = 7 * 1024 * 1024 }; /* as controller-runtime's limit */
void webhook_handle(void *webhook, const struct httpd_request *req,
		    struct httpd_response *resp); /* httpd_conf.handle */

/* controller_runtime_webhook_requests_total, _latency_seconds, _requests_in_flight;
 * ends with NULL. */
extern const struct metric *const webhook_metrics[];

#endif
