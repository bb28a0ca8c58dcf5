/*
 * work.h - the leader's watches, queues and workers.
 */
#ifndef MANAGER_WORK_H
#define MANAGER_WORK_H

#include "kube/event.h"
#include "manager/cert.h"
#include "manager/config.h"
#include "manager/runtimes.h"

struct work;

/* All pointers outlive the work. */
struct work_conf {
	const struct manager_config *config;
	struct kube *watch; /* for lists and watches: a stop aborts calls under way */
	struct kube *kube;  /* for the reconcilers: calls under way finish */
	struct event_recorder *events;
	struct runtimes *runtimes;
	struct cert_manager *certs;
	struct metrics *metrics;
	const char *status_server_url;
	const char *pod_ns; /* of this process's pod; NULL: not in a pod */
	int64_t started;    /* clock_ms() at the start of the process */
};

/* controller_runtime_*; ends with NULL. */
extern const struct metric *const work_metrics[];

/*
 * Returns at once; the workers wait for the first lists. After a failure, the process
 * must exit: nothing is freed.
 */
MUST_CHECK int work_start(struct work **ret, const struct work_conf *conf,
			  struct error *err);

/* False: JobSet is not installed in the API server. */
bool work_serves_jobset(struct work *w);

/* Updates the gauges of the queues; call it before each scrape. */
void work_measure(struct work *w);

/*
 * Stops the queues and waits for the workers. False: a pass is still under way after
 * grace_ms; do not call work_free().
 */
MUST_CHECK bool work_end(struct work *w, int64_t grace_ms);
void work_free(struct work *w); /* only after work_end() returned true */

#endif
