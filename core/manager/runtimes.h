/*
 * runtimes.h - runtimes, read once for many TrainJobs.
 *
 * A TrainJob takes its runtime as it is when the TrainJob is first seen. What was read
 * after a later TrainJob had been seen is therefore new enough for all that came
 * before: a wave of TrainJobs costs a few reads, and none sees an older runtime than a
 * read of its own would have shown.
 *
 * Admission has no such order: there a runtime that was read a moment ago is as good
 * as the informer's that upstream's webhook asks. That there is none is never
 * remembered.
 *
 * What was read is not copied: all that ask have the same object.
 */
#ifndef MANAGER_RUNTIMES_H
#define MANAGER_RUNTIMES_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/map.h"
#include "kube/informer.h"

/* An object that many may have: nobody changes it, each drops it. */
struct runtime_doc {
	const cJSON *obj;
	atomic_int refs;
};
struct runtime_doc *runtime_doc_new(cJSON *take_obj);
void runtime_doc_drop(struct runtime_doc *doc); /* NULL is fine */

static inline void runtime_docp_drop(struct runtime_doc **doc)
{
	runtime_doc_drop(*doc);
}
#define cleanup_runtime_doc __attribute__((cleanup(runtime_docp_drop)))

struct runtimes {
	pthread_mutex_t lock;
	struct map map; /* "ns/name" or "/name" -> struct held (runtimes.c) */
};

void runtimes_init(struct runtimes *r);
void runtimes_release(struct runtimes *r);

struct runtime_query {
	struct kube *kube;
	struct kube_ref ref;
	uint64_t of; /* the TrainJob's resourceVersion */
	uint64_t
		seen; /* the highest of a TrainJob that has been seen: informer_newest() */
	int64_t age_ms; /* instead of `of` and `seen`: read so long ago at most */
};

/* *ret is the caller's to drop; errors as kube_get(). */
MUST_CHECK int runtimes_get(struct runtimes *r, const struct runtime_query *q,
			    struct runtime_doc **ret, struct error *err);

#endif
