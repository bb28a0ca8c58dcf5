/*
 * health.h - is the process alive, and is it ready? For the kubelet.
 *
 * Paths and answers follow controller-runtime's pkg/healthz: /readyz asks all checks of
 * that group, /readyz/<check> one; ?verbose names each, ?exclude=<check> leaves one out.
 * What is wrong is said, where those withhold the reason.
 */
#ifndef MANAGER_HEALTH_H
#define MANAGER_HEALTH_H

#include "net/httpd.h"

struct health_check {
	const char *name;                  /* NULL ends a list */
	const char *(*problem)(void *ctx); /* what is wrong, or NULL; NULL: never */
	bool only_told;                    /* the group passes all the same */
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
