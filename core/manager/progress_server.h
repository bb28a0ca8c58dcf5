/*
 * progress_server.h - the endpoint to which training processes report progress (KEP-2779,
 * feature gate TrainJobStatus).
 *
 *     POST /apis/trainer.kubeflow.org/v1alpha1/namespaces/{ns}/trainjobs/{name}/status
 *
 * Paths, statuses and bodies follow upstream's pkg/statusserver. The bearer token must
 * pass TokenReview with that path as audience, and belong to a service account of that
 * namespace, bound to an existing pod of the TrainJob's JobSet; otherwise the answer is
 * 403, and 429 when too many callers wait for a verdict, or while four reports of the
 * TrainJob are being written. An accepted report is applied to the status subresource by
 * the field manager "trainer-status".
 *
 * Not in upstream: a body with "supervision" is of a supervisor (trainer/supervision.h).
 * It goes to the same subresource, by the field manager "trainer-supervision".
 */
#ifndef MANAGER_PROGRESS_SERVER_H
#define MANAGER_PROGRESS_SERVER_H

#include "base/metrics.h"
#include "kube/kube.h"
#include "net/httpd.h"

struct progress_server;

/*
 * Two clients with separate rate limits, which outlive the server: `writes` applies
 * reports; `reads` authenticates callers, with up to PROGRESS_SERVER_READS calls per
 * report. So bad tokens cannot use up the limit of authenticated callers.
 */
enum { PROGRESS_SERVER_READS = 3 };
MUST_CHECK int progress_server_new(struct progress_server **ret, struct kube *writes,
				   struct kube *reads, struct error *err);
void progress_server_free(struct progress_server *s);

/*
 * Call on_event() with warnings about TrainJobs, from any thread. `about` is a TrainJob
 * without spec. Before the first request.
 *
 * ALONE_REASON (logtext/alone.h), once per TrainJob: two pods of one Job report in turn. Only
 * rank 0 reports, so each of them trains alone. A pod that replaces another, or a rank 0
 * that moves to another pod, does not count.
 *
 * SUPERVISED_RESTARTED, _REJOINED and _STALLED: what is new in a supervisor's report;
 * `metrics` (or NULL) counts it, too.
 */
struct progress_watch {
	void (*on_event)(void *ctx, const cJSON *about, const char *reason,
			 const char *message);
	void *ctx;
	struct metrics *metrics; /* with progress_server_metrics */
};
void progress_server_watch(struct progress_server *s, const struct progress_watch *watch);
extern const struct metric *const progress_server_metrics[];

enum { PROGRESS_SERVER_MAX_BODY = 65536 };
void progress_server_handle(void *progress_server, const struct httpd_request *req,
			    struct httpd_response *resp);
void progress_server_large(void *progress_server, const struct httpd_request *req,
			   struct httpd_response *resp); /* 413 */

#endif
