/*
 * work.h - what the leader does: watches, queues and the workers that empty them.
 */
#ifndef MANAGER_WORK_H
#define MANAGER_WORK_H

#include "kube/event.h"
#include "manager/cert.h"
#include "manager/config.h"
#include "manager/runtimes.h"

struct work;

/* Everything outlives it. */
struct work_conf {
	const struct manager_config *config;
	struct kube *watch; /* for lists and watches: calls end with the process */
	struct kube *kube;  /* for the reconcilers: what is under way goes on */
	struct event_recorder *events;
	struct runtimes *runtimes;
	struct cert_manager *certs;
	struct metrics *metrics;
	const char *status_server_url;
	const char *pod_ns; /* of the pod that we are; NULL: we are none */
	int64_t started;    /* the process, clock_ms() */
};

/* controller_runtime_*; ends with NULL. */
extern const struct metric *const work_metrics[];

/*
 * Returns at once; the workers wait for the first lists. After a failure the process must
 * exit: nothing is freed.
 */
MUST_CHECK int work_start(struct work **ret, const struct work_conf *conf,
			  struct error *err);

/* False: the API server has no JobSets. */
bool work_serves_jobset(struct work *w);

/* Sets the gauges that are measured rather than counted. */
void work_measure(struct work *w);

/* Stops taking keys; false: some were still under way after grace_ms, free nothing. */
MUST_CHECK bool work_end(struct work *w, int64_t grace_ms);
void work_free(struct work *w); /* after work_end() */

#endif
