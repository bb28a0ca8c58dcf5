/*
 * workqueue.h - a rate-limited, delaying queue of keys (client-go's util/workqueue).
 *
 * A key is queued at most once, and never processed by two workers at once: a key added
 * while a worker has it is queued when that worker calls workqueue_done(). Of several
 * delayed adds the earliest counts; workqueue_get() of a key cancels its delayed adds.
 *
 * Any number of threads may add and get. Keys are copied. After workqueue_shut_down() an
 * add does nothing.
 */
#ifndef KUBE_WORKQUEUE_H
#define KUBE_WORKQUEUE_H

#include <stdint.h>

#include "base/metrics.h"

struct workqueue;

/* name (copied): the metrics' labels name and controller; metrics may be NULL. */
struct workqueue *workqueue_new(const char *name, struct metrics *metrics);
void workqueue_free(struct workqueue *q); /* no thread may use it; NULL is fine */

/*
 * Three priorities: FIRST for changes of existing objects, LATER for the first list of a
 * starting controller (controller-runtime's LowPriority). Every eighth get serves a lower
 * priority, so that none starves; within one, namespaces ("ns/name") are served in turn.
 * A queued key has the highest priority with which it was added.
 */
enum workqueue_priority { WORKQUEUE_FIRST, WORKQUEUE_NORMAL, WORKQUEUE_LATER };
void workqueue_add(struct workqueue *q, const char *key,
		   enum workqueue_priority priority);
/* AddAfter: added with WORKQUEUE_NORMAL when ms have passed. */
void workqueue_add_after(struct workqueue *q, const char *key, int64_t ms);
/* AddRateLimited: after 5 ms, doubling per key with each call to 1000 s. */
void workqueue_retry(struct workqueue *q, const char *key);
/* The same, but after most_ms at most: for failures that are not specific to the key. */
void workqueue_retry_within(struct workqueue *q, const char *key, int64_t most_ms);
/* Reset the key's back-off; delayed adds remain. */
void workqueue_forget(struct workqueue *q, const char *key);

/*
 * Get: waits for a key. The string is the queue's and valid until workqueue_done(), which
 * each key needs. NULL: the queue was shut down and has no more keys.
 */
const char *workqueue_get(struct workqueue *q);
void workqueue_done(struct workqueue *q, const char *key);

/* Refuse further adds and drop delayed keys; queued ones are still returned. */
void workqueue_shut_down(struct workqueue *q);
/* The number of keys ready to get, without WORKQUEUE_LATER. */
size_t workqueue_length(struct workqueue *q);

/* Set the gauges about keys being processed; call it before metrics_print(). */
void workqueue_measure(struct workqueue *q);

/*
 * depth, adds_total, queue_duration_seconds, work_duration_seconds, retries_total,
 * unfinished_work_seconds, longest_running_processor_seconds; ends with NULL.
 */
extern const struct metric *const workqueue_metrics[];

#endif
