/*
 * workqueue.h - keys to work on (client-go's util/workqueue).
 *
 * A key is queued at most once; one that is added while a worker has it comes back
 * when that worker is done. So one key is never worked on twice at once. Failures:
 * workqueue_retry() adds after 5 ms doubling to 1000 s for each key,
 * workqueue_forget() starts anew. Delayed adds keep the earliest time of a key; none is
 * left when a worker gets it: whoever works on it says when to look again.
 */
#ifndef KUBE_WORKQUEUE_H
#define KUBE_WORKQUEUE_H

#include <stdint.h>

#include "base/metrics.h"

struct workqueue;

/* name: controller-runtime's labels name and controller; metrics may be NULL. */
struct workqueue *workqueue_new(const char *name, struct metrics *metrics);
void workqueue_free(struct workqueue *q); /* nobody may wait in it */

/*
 * Three ways, of which each goes ahead of the next, and its eighth makes room for one
 * behind it; a key goes the best of the ways it was added. Within a way namespaces
 * ("ns/name") take turns: nobody waits for all that another has.
 * First: what exists and changes. Later: what a controller finds when it starts
 * (controller-runtime's LowPriority).
 */
void workqueue_add_first(struct workqueue *q, const char *key);
void workqueue_add(struct workqueue *q, const char *key);
void workqueue_add_later(struct workqueue *q, const char *key);
void workqueue_add_after(struct workqueue *q, const char *key, int64_t ms);
void workqueue_retry(struct workqueue *q, const char *key);
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
