/*
 * health.h - liveness and readiness, for the kubelet.
 *
 * Paths and answers follow controller-runtime's pkg/healthz: /readyz runs all checks of
 * that group, /readyz/<check> one; ?verbose lists them, ?exclude=<check> skips one. Unlike
 * those, the answer gives the reason of a failure.
 */
#ifndef MANAGER_HEALTH_H
#define MANAGER_HEALTH_H

#include "net/httpd.h"

struct health_check {
	const char *name;                  /* NULL ends a list */
	const char *(*problem)(void *ctx); /* returns the reason of a failure, or NULL;
					    * NULL: never fails */
	bool informational;                /* a failure is reported; the group passes */
};

struct health_group {
	const char *path; /* "readyz": without slashes */
	const struct health_check *checks;
};

struct health {
	struct health_group groups[2];
	void *ctx;
};

void health_handle(void *health, const struct httpd_request *req,
		   struct httpd_response *resp); /* httpd_conf.handle */

#endif
