/*
 * cache_start.h - create the data cache of a TrainJob in a cluster, and wait for it.
 *
 * Objects that already belong to the TrainJob are reused, so that a restarted pod
 * succeeds like the first. Objects of an earlier TrainJob of the same name: wait for
 * their deletion; those of any other owner are an error. Nothing is deleted upon failure:
 * the TrainJob owns all objects, so that they are garbage collected with it.
 */
#ifndef CLIENT_CACHE_START_H
#define CLIENT_CACHE_START_H

#include "client/cache_objects.h"
#include "kube/kube.h"

struct cache_start {
	struct kube *kube;
	const char *ns;
	const struct cache_settings *settings;
	void (*say)(void *ctx, const char *line); /* each step, as a line */
	void *ctx;
};

/*
 * 0: the LeaderWorkerSet is available. ERR_NOT_FOUND: no such TrainJob, LeaderWorkerSet
 * is not installed, or the object was deleted meanwhile; ERR_DENIED: who lacks which
 * right; ERR_EXISTS: an object of another owner; ERR_TIMEOUT: not available within
 * settings->deadline_ms, with the reason; ERR_STOPPED.
 */
MUST_CHECK int cache_start(const struct cache_start *conf, struct error *err);

#endif
