/*
 * webhook.h - the four admission webhooks (admission.k8s.io/v1).
 *
 *     /mutate-trainer-kubeflow-org-v1alpha1-trainjob       runtimePatches[].time
 *     /validate-trainer-kubeflow-org-v1alpha1-trainjob     pipeline_validate()
 *     /validate-trainer-kubeflow-org-v1alpha1-trainingruntime
 *     /validate-trainer-kubeflow-org-v1alpha1-clustertrainingruntime
 *
 * The runtime is read live. Refusals are 403 Forbidden as upstream's (several errors
 * as "[a, b]", doubles removed), what does not decode 400. Warnings: deprecated
 * runtimes, names that JobSet will refuse, runtimes that the Python SDK cannot list.
 */
#ifndef MANAGER_WEBHOOK_H
#define MANAGER_WEBHOOK_H

#include "kube/kube.h"
#include "net/httpd.h"

struct webhook;

struct webhook_conf {
	struct kube *kube;
	struct metrics *metrics;
	bool status_server; /* as the reconciler's */
};
struct webhook *webhook_new(const struct webhook_conf *conf);
void webhook_free(struct webhook *w);

enum { WEBHOOK_MAX_BODY = 7 * 1024 * 1024 }; /* as controller-runtime's limit */
void webhook_handle(void *webhook, const struct httpd_request *req,
		    struct httpd_response *resp); /* httpd_conf.handle */

#endif
