/*
 * runtimes.h - TrainingRuntimes and ClusterTrainingRuntimes, watched.
 *
 * As upstream's cache has them, except that one the watch has not shown is asked for:
 * a runtime and a TrainJob of it may come in one breath.
 */
#ifndef MANAGER_RUNTIMES_H
#define MANAGER_RUNTIMES_H

#include "kube/informer.h"

struct runtimes;

MUST_CHECK int runtimes_start(struct runtimes **ret, struct kube *kube,
			      struct error *err);
void runtimes_stop(struct runtimes *r); /* NULL is fine */

/* *ret is the caller's; errors as kube_get(). r NULL: ask; kube NULL: do not ask. */
MUST_CHECK int runtimes_get(struct runtimes *r, struct kube *kube,
			    const struct kube_ref *ref, cJSON **ret, struct error *err);

/*
 * Shows each that is there, comes or changes, in several threads; NULL ends that, and
 * waits for the last one. One at a time may look.
 */
void runtimes_show(struct runtimes *r, void (*see)(void *ctx, const cJSON *runtime),
		   void *ctx);

#endif
