/*
 * runtimes.h - TrainingRuntimes and ClusterTrainingRuntimes, watched.
 *
 * As upstream's cache has them, but a runtime that the watch has not delivered yet is
 * read: it may be created together with its TrainJob.
 */
#ifndef MANAGER_RUNTIMES_H
#define MANAGER_RUNTIMES_H

#include "kube/informer.h"

struct runtimes;

MUST_CHECK int runtimes_start(struct runtimes **ret, struct kube *kube,
			      struct error *err);
void runtimes_stop(struct runtimes *r); /* NULL is fine */

/* *ret is the caller's; errors as kube_get(). r NULL: always read; kube NULL: never. */
MUST_CHECK int runtimes_get(struct runtimes *r, struct kube *kube,
			    const struct kube_ref *ref, cJSON **ret, struct error *err);

/*
 * Calls `see` for each runtime, now and when one is created or changed, in any thread but
 * never twice at once. NULL ends that: no call is under way afterwards.
 */
void runtimes_show(struct runtimes *r, void (*see)(void *ctx, const cJSON *runtime),
		   void *ctx);

#endif
