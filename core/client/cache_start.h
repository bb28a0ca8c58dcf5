/*
 * cache_start.h - make the data cache of a TrainJob in a cluster, and wait for it.
 *
 * What exists and belongs to the TrainJob is kept, so a pod that tries again ends as the
 * first would have. Objects of an earlier TrainJob of the name are waited for until they
 * are deleted; any other owner's are an error. Nothing is deleted upon failure: all of it
 * belongs to the TrainJob and goes with it.
 */
#ifndef CLIENT_CACHE_START_H
#define CLIENT_CACHE_START_H

#include "client/cache_objects.h"
#include "kube/kube.h"

struct cache_start {
	struct kube *kube;
	const char *ns;
	const struct cache_wish *wish;
	void (*say)(void *ctx, const char *line); /* what has been done */
	void *ctx;
};

/*
 * 0: the LeaderWorkerSet is available. ERR_NOT_FOUND: no such TrainJob, or no
 * LeaderWorkerSet in the cluster; ERR_DENIED: who lacks which right; ERR_EXISTS: a foreign
 * object; ERR_TIMEOUT: wish->deadline_ms has passed, and what is missing; ERR_STOPPED.
 */
MUST_CHECK int cache_start(const struct cache_start *conf, struct error *err);

#endif
