/*
 * workqueue.h - keys to work on (client-go's util/workqueue).
 *
 * A key is queued at most once, and never given to two workers at once: added while one
 * has it, it is queued when that worker is done. workqueue_retry() adds after 5 ms
 * doubling to 1000 s per key, workqueue_forget() resets that. Of several delayed adds the
 * earliest counts; a worker that gets the key cancels them all.
 */
#ifndef KUBE_WORKQUEUE_H
#define KUBE_WORKQUEUE_H

#include <stdint.h>

#include "base/metrics.h"

struct workqueue;

/* name: controller-runtime's labels name and controller; metrics may be NULL. */
struct workqueue *workqueue_new(const char *name, struct metrics *metrics);
void workqueue_free(struct workqueue *q); /* no worker may be waiting */

/*
 * Three priorities: first for changes of what exists, later for what a starting controller
 * finds (controller-runtime's LowPriority). Every eighth turn goes to a lower one, so that
 * none starves. Within one, namespaces ("ns/name") take turns. A key has the highest
 * priority with which it was added.
 */
enum workqueue_priority { WORKQUEUE_FIRST, WORKQUEUE_NORMAL, WORKQUEUE_LATER };
void workqueue_add_with(struct workqueue *q, const char *key,
			enum workqueue_priority priority);
void workqueue_add(struct workqueue *q, const char *key); /* WORKQUEUE_NORMAL */
void workqueue_add_after(struct workqueue *q, const char *key, int64_t ms);
void workqueue_retry(struct workqueue *q, const char *key);
/* After at most that long: of a failure that is not the key's. */
void workqueue_retry_within(struct workqueue *q, const char *key, int64_t most_ms);
void workqueue_forget(struct workqueue *q, const char *key);

/*
 * Waits for a key; the queue's, until workqueue_done(). NULL: the queue was shut down
 * and is drained.
 */
const char *workqueue_get(struct workqueue *q);
void workqueue_done(struct workqueue *q, const char *key);

void workqueue_shut_down(struct workqueue *q); /* delayed keys are dropped */
size_t workqueue_length(struct workqueue *q);  /* ready ones, without the later ones */

/* Sets the gauges of work under way: before metrics_print(). */
void workqueue_measure(struct workqueue *q);

/* depth, adds_total, queue_duration_seconds, work_duration_seconds, retries_total,
 * unfinished_work_seconds, longest_running_processor_seconds; ends with NULL. */
extern const struct metric *const workqueue_metrics[];

#endif
