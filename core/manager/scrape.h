/*
 * scrape.h - GET /metrics, for Prometheus.
 *
 * With a kube client: only for a bearer token whose user may `get` the non-resource URL
 * /metrics (TokenReview, SubjectAccessReview; a yes holds for a minute), as
 * controller-runtime's pkg/metrics/filters. Who waits for that does so in the order of
 * kube/authenticator.h; 429 when too many do.
 */
#ifndef MANAGER_SCRAPE_H
#define MANAGER_SCRAPE_H

#include "base/metrics.h"
#include "kube/kube.h"
#include "net/httpd.h"

struct scrape;

struct scrape_conf {
	struct metrics *metrics;
	struct kube *kube;          /* NULL: for everybody */
	void (*measure)(void *ctx); /* called before each answer; or NULL */
	void *ctx;
};
MUST_CHECK int scrape_new(struct scrape **ret, const struct scrape_conf *conf,
			  struct error *err);
void scrape_free(struct scrape *s);

void scrape_handle(void *scrape, const struct httpd_request *req,
		   struct httpd_response *resp);

#endif
