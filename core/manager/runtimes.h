/*
 * runtimes.h - a watch of TrainingRuntimes and ClusterTrainingRuntimes.
 *
 * As upstream's cache, but a runtime that the watch has not delivered yet is read from
 * the API server: users create a runtime together with its TrainJob.
 */
#ifndef MANAGER_RUNTIMES_H
#define MANAGER_RUNTIMES_H

#include "kube/informer.h"

struct runtimes;

/* Starts the watches and returns; on_runtime informer.h. kube outlives them. */
MUST_CHECK int runtimes_start(struct runtimes **ret, struct kube *kube,
			      struct error *err);
void runtimes_stop(struct runtimes *r); /* NULL is fine */

/*
 * The runtime, from the watch or else from the API server; *ret is the caller's. r NULL:
 * not from the watch; kube NULL: only from it (ERR_NOT_FOUND). Errors as kube_get().
 */
MUST_CHECK int runtimes_get(struct runtimes *r, struct kube *kube,
			    const struct kube_ref *ref, cJSON **ret, struct error *err);

/*
 * Calls on_runtime for each runtime now, and for each that is created or changed; from
 * any thread, but never concurrently. With NULL, no more calls begin, and none is under
 * way after the return.
 */
void runtimes_subscribe(struct runtimes *r,
			void (*on_runtime)(void *ctx, const cJSON *runtime), void *ctx);

#endif
