/*
 * scrape.h - GET /metrics, for Prometheus.
 *
 * With a kube client, a request needs a bearer token whose user may `get` the
 * non-resource URL /metrics (TokenReview, SubjectAccessReview; acceptance is cached for a
 * minute), as in controller-runtime's pkg/metrics/filters. Requests wait for the reviews
 * in the order of kube/authenticator.h; if too many wait, the answer is 429.
 */
#ifndef MANAGER_SCRAPE_H
#define MANAGER_SCRAPE_H

#include "base/metrics.h"
#include "kube/kube.h"
#include "net/httpd.h"

struct scrape;

struct scrape_conf {
	struct metrics *metrics;
	struct kube *kube;          /* NULL: no authentication */
	void (*measure)(void *ctx); /* called before each answer; or NULL */
	void *ctx;
};
/* Everything in conf outlives *ret. Starts threads if it has a kube client. */
MUST_CHECK int scrape_new(struct scrape **ret, const struct scrape_conf *conf,
			  struct error *err);
void scrape_free(struct scrape *s); /* NULL is fine */

void scrape_handle(void *scrape, const struct httpd_request *req,
		   struct httpd_response *resp);

#endif
