/* workqueue.c - a queue of keys with priorities, delays, back-off (kube/workqueue.h). */
#include "kube/workqueue.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/str.h"
#include "base/thread.h"
#include "base/xmalloc.h"

enum { RETRY_FIRST_MS = 5, RETRY_MOST_MS = 1000 * 1000, RETRY_MOST_DOUBLED = 18 };
enum {
	N_PRIORITIES = WORKQUEUE_LATER + 1,
	LOWER_PRIORITY_EVERY =
		8 /* every LOWER_PRIORITY_EVERY-th get serves a lower priority */
};

/* One per key, from the first add until done() leaves neither failures nor a due time. */
struct item {
	bool dirty, processing;
	enum workqueue_priority priority; /* if dirty */
	unsigned failures;
	struct lane *lane;                 /* the lane that it is queued in, or NULL */
	struct item *next, **link;         /* in the lane */
	size_t at;                         /* index in the heap, plus 1; 0: not in it */
	int64_t ready_ms;                  /* if in the heap: its due time */
	double added, started;             /* seconds */
	struct item *next_working, **back; /* in workqueue.working */
	char key[];
};

/* The queued keys of one namespace; never empty. */
struct lane {
	struct item *first, **last;
	char ns[];
};

struct queue {
	struct map lanes; /* by namespace; the first one is served next */
	size_t n;
	unsigned turn; /* counts gets while lower priorities have keys */
};

struct workqueue {
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct map items;
	struct queue queues[N_PRIORITIES];
	struct item **heap; /* delayed items, a min-heap by ready_ms */
	size_t n_heap, cap_heap;
	struct item *working;
	size_t dirty[N_PRIORITIES];
	bool used[N_PRIORITIES]; /* a key had this priority: print its depth */
	bool shut;
	struct metrics *metrics;
	char name[];
};

#define QUEUE_LABELS                       \
	{                                  \
		"name", "controller", NULL \
	}
#define SECONDS_BUCKETS .buckets = seconds_buckets, .n_buckets = 12
static const double seconds_buckets[] = { 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3,
					  1e-2, 1e-1, 1,    10,   100,  1000 };

/* As in controller-runtime's pkg/metrics/workqueue.go and pkg/handler (LowPriority). */
static const char *const priorities[N_PRIORITIES] = { "100", "0", "-100" };
static const struct metric depth = {
	METRIC_GAUGE, "workqueue_depth", "Keys that wait, by workqueue and priority",
	.labels = { "name", "controller", "priority", NULL }
};
static const struct metric adds = { METRIC_COUNTER, "workqueue_adds_total",
				    "Keys added to the workqueue",
				    .labels = QUEUE_LABELS };
static const struct metric waited = { METRIC_HISTOGRAM,
				      "workqueue_queue_duration_seconds",
				      "How long keys waited in the workqueue",
				      .labels = QUEUE_LABELS, SECONDS_BUCKETS };
static const struct metric worked = { METRIC_HISTOGRAM, "workqueue_work_duration_seconds",
				      "How long the work on a key took",
				      .labels = QUEUE_LABELS, SECONDS_BUCKETS };
static const struct metric unfinished = {
	METRIC_GAUGE, "workqueue_unfinished_work_seconds",
	"Seconds spent so far on keys under way, of all workers together",
	.labels = QUEUE_LABELS
};
static const struct metric longest = {
	METRIC_GAUGE, "workqueue_longest_running_processor_seconds",
	"Seconds spent so far on the key that is longest under way",
	.labels = QUEUE_LABELS
};
static const struct metric retries = { METRIC_COUNTER, "workqueue_retries_total",
				       "Keys added with a delay",
				       .labels = QUEUE_LABELS };

const struct metric *const workqueue_metrics[] = { &depth,   &adds,       &waited,
						   &worked,  &unfinished, &longest,
						   &retries, NULL };

struct workqueue *workqueue_new(const char *name, struct metrics *metrics)
{
	size_t len = strlen(name) + 1;
	struct workqueue *q = xcalloc(1, sizeof(*q) + len);

	memcpy(q->name, name, len);
	q->metrics = metrics;
	q->used[WORKQUEUE_NORMAL] = true;
	pthread_mutex_init(&q->lock, NULL);
	cond_init(&q->more);
	metrics_set(metrics, &depth, 0, q->name, q->name, "0");
	metrics_add(metrics, &adds, 0, q->name, q->name);
	metrics_add(metrics, &retries, 0, q->name, q->name);
	return q;
}

void workqueue_free(struct workqueue *q)
{
	if (!q)
		return;
	map_release(&q->items, free);
	for (int i = 0; i < N_PRIORITIES; i++)
		map_release(&q->queues[i].lanes, free);
	free(q->heap);
	pthread_cond_destroy(&q->more);
	pthread_mutex_destroy(&q->lock);
	free(q);
}

/* ---- under the lock -------------------------------------------------------------- */

static struct item *item_of(struct workqueue *q, const char *key)
{
	size_t len = strlen(key) + 1;
	struct item *it = map_get(&q->items, key);

	if (it)
		return it;
	it = xcalloc(1, sizeof(*it) + len);
	memcpy(it->key, key, len);
	map_put(&q->items, key, it);
	return it;
}

static void drop_if_idle(struct workqueue *q, struct item *it)
{
	if (!it->dirty && !it->processing && !it->failures && !it->at)
		free(map_del(&q->items, it->key));
}

static struct lane *lane_of(struct queue *in, const char *key)
{
	cleanup_arena struct arena arena = { 0 };
	const char *slash = strchr(key, '/');
	size_t len = slash ? (size_t)(slash - key) : 0;
	const char *ns = str_slice(&arena, key, len);
	struct lane *lane = map_get(&in->lanes, ns);

	if (lane)
		return lane;
	lane = xcalloc(1, sizeof(*lane) + len + 1);
	lane->last = &lane->first;
	memcpy(lane->ns, ns, len);
	map_put(&in->lanes, ns, lane);
	return lane;
}

static void enqueue(struct workqueue *q, struct item *it)
{
	struct queue *in = &q->queues[it->priority];
	struct lane *lane = it->lane = lane_of(in, it->key);

	it->next = NULL;
	it->link = lane->last;
	*lane->last = it;
	lane->last = &it->next;
	in->n++;
	pthread_cond_signal(&q->more);
}

static void unlink_item(struct workqueue *q, struct item *it)
{
	struct queue *in = &q->queues[it->priority];
	struct lane *lane = it->lane;

	*it->link = it->next;
	if (it->next)
		it->next->link = it->link;
	else
		lane->last = it->link;
	if (!lane->first)
		free(map_del(&in->lanes, lane->ns));
	it->lane = NULL;
	in->n--;
}

static size_t behind(const struct workqueue *q, int priority)
{
	size_t n = 0;

	while (++priority < N_PRIORITIES)
		n += q->queues[priority].n;
	return n;
}

static bool is_empty(const struct workqueue *q)
{
	return !behind(q, WORKQUEUE_FIRST - 1);
}

/* The highest priority with keys, but each LOWER_PRIORITY_EVERY-th time a lower one. */
static struct queue *next_queue(struct workqueue *q)
{
	int priority = WORKQUEUE_FIRST;

	for (; priority < WORKQUEUE_LATER; priority++)
		if (q->queues[priority].n &&
		    (!behind(q, priority) ||
		     ++q->queues[priority].turn % LOWER_PRIORITY_EVERY))
			break;
	return &q->queues[priority];
}

static struct item *dequeue(struct workqueue *q)
{
	struct queue *from = next_queue(q);
	struct lane *lane = map_next(&from->lanes, NULL)->value;
	struct item *it = lane->first;

	if (it->next) { /* more keys: move the namespace to the end */
		map_del(&from->lanes, lane->ns);
		map_put(&from->lanes, lane->ns, lane);
	}
	unlink_item(q, it);
	return it;
}

static void set_depth(struct workqueue *q)
{
	for (int i = 0; i < N_PRIORITIES; i++)
		if (q->used[i])
			metrics_set(q->metrics, &depth, (double)q->dirty[i], q->name,
				    q->name, priorities[i]);
}

/* Move a dirty item, queued or being processed, to another priority. */
static void reprioritize(struct workqueue *q, struct item *it,
			 enum workqueue_priority priority)
{
	bool queued = it->lane != NULL;

	if (queued)
		unlink_item(q, it);
	q->dirty[it->priority]--;
	q->dirty[priority]++;
	it->priority = priority;
	if (queued)
		enqueue(q, it);
}

static void mark_dirty(struct workqueue *q, struct item *it,
		       enum workqueue_priority priority)
{
	q->used[priority] = true;
	if (it->dirty) {
		if (priority < it->priority)
			reprioritize(q, it, priority);
		set_depth(q);
		return;
	}
	it->dirty = true;
	it->priority = priority;
	it->added = clock_seconds();
	q->dirty[priority]++;
	metrics_add(q->metrics, &adds, 1, q->name, q->name);
	set_depth(q);
	if (!it->processing)
		enqueue(q, it);
}

static void heap_set(struct workqueue *q, size_t i, struct item *it)
{
	q->heap[i] = it;
	it->at = i + 1;
}

static void heap_up(struct workqueue *q, size_t i)
{
	struct item *it = q->heap[i];

	for (; i > 0 && q->heap[(i - 1) / 2]->ready_ms > it->ready_ms; i = (i - 1) / 2)
		heap_set(q, i, q->heap[(i - 1) / 2]);
	heap_set(q, i, it);
}

static void heap_down(struct workqueue *q, size_t i)
{
	struct item *it = q->heap[i];
	size_t child;

	while ((child = 2 * i + 1) < q->n_heap) {
		if (child + 1 < q->n_heap &&
		    q->heap[child + 1]->ready_ms < q->heap[child]->ready_ms)
			child++;
		if (q->heap[child]->ready_ms >= it->ready_ms)
			break;
		heap_set(q, i, q->heap[child]);
		i = child;
	}
	heap_set(q, i, it);
}

static struct item *heap_take(struct workqueue *q, struct item *it)
{
	size_t i = it->at - 1;
	struct item *last = q->heap[--q->n_heap];

	it->at = 0;
	if (last == it)
		return it;
	heap_set(q, i, last);
	heap_up(q, i);
	heap_down(q, last->at - 1);
	return it;
}

static void delay(struct workqueue *q, struct item *it, int64_t ready_ms)
{
	if (it->at && it->ready_ms <= ready_ms)
		return;
	it->ready_ms = ready_ms;
	if (!it->at) {
		if (q->n_heap == q->cap_heap) {
			q->cap_heap = q->cap_heap ? q->cap_heap * 2 : 16;
			q->heap = xreallocarray(q->heap, q->cap_heap, sizeof(*q->heap));
		}
		heap_set(q, q->n_heap++, it);
	}
	heap_up(q, it->at - 1);
	/* The earliest due time has changed: wake all waiting workers. */
	if (q->heap[0] == it)
		pthread_cond_broadcast(&q->more);
}

static void move_due(struct workqueue *q)
{
	int64_t now = clock_ms();

	while (q->n_heap > 0 && q->heap[0]->ready_ms <= now)
		mark_dirty(q, heap_take(q, q->heap[0]), WORKQUEUE_NORMAL);
}

static void add_after(struct workqueue *q, const char *key, int64_t ms)
{
	static const int64_t most = INT64_MAX / 4;

	if (q->shut)
		return;
	if (ms <= 0) {
		mark_dirty(q, item_of(q, key), WORKQUEUE_NORMAL);
		return;
	}
	metrics_add(q->metrics, &retries, 1, q->name, q->name);
	delay(q, item_of(q, key), clock_ms() + (ms < most ? ms : most));
}

static void start_work(struct workqueue *q, struct item *it)
{
	if (it->at)
		heap_take(q, it);
	it->dirty = false;
	it->processing = true;
	it->started = clock_seconds();
	it->next_working = q->working;
	it->back = &q->working;
	if (q->working)
		q->working->back = &it->next_working;
	q->working = it;
	q->dirty[it->priority]--;
	set_depth(q);
	metrics_observe(q->metrics, &waited, it->started - it->added, q->name, q->name);
}

static void end_work(struct workqueue *q, struct item *it)
{
	it->processing = false;
	*it->back = it->next_working;
	if (it->next_working)
		it->next_working->back = it->back;
	metrics_observe(q->metrics, &worked, clock_seconds() - it->started, q->name,
			q->name);
	if (it->dirty)
		enqueue(q, it);
	else
		drop_if_idle(q, it);
}

/* ---- workqueue.h ----------------------------------------------------------------- */

void workqueue_add(struct workqueue *q, const char *key, enum workqueue_priority priority)
{
	pthread_mutex_lock(&q->lock);
	if (!q->shut)
		mark_dirty(q, item_of(q, key), priority);
	pthread_mutex_unlock(&q->lock);
}

void workqueue_add_after(struct workqueue *q, const char *key, int64_t ms)
{
	pthread_mutex_lock(&q->lock);
	add_after(q, key, ms);
	pthread_mutex_unlock(&q->lock);
}

void workqueue_retry(struct workqueue *q, const char *key)
{
	workqueue_retry_within(q, key, RETRY_MOST_MS);
}

void workqueue_retry_within(struct workqueue *q, const char *key, int64_t most_ms)
{
	struct item *it;
	int64_t ms;

	pthread_mutex_lock(&q->lock);
	if (!q->shut) {
		it = item_of(q, key);
		ms = it->failures >= RETRY_MOST_DOUBLED
			     ? RETRY_MOST_MS
			     : (int64_t)RETRY_FIRST_MS << it->failures++;
		add_after(q, key, ms < most_ms ? ms : most_ms);
	}
	pthread_mutex_unlock(&q->lock);
}

void workqueue_forget(struct workqueue *q, const char *key)
{
	struct item *it;

	pthread_mutex_lock(&q->lock);
	it = map_get(&q->items, key);
	if (it) {
		it->failures = 0;
		drop_if_idle(q, it);
	}
	pthread_mutex_unlock(&q->lock);
}

const char *workqueue_get(struct workqueue *q)
{
	struct item *it = NULL;

	pthread_mutex_lock(&q->lock);
	for (move_due(q); is_empty(q) && !q->shut; move_due(q))
		cond_wait_until(&q->more, &q->lock,
				q->n_heap > 0 ? q->heap[0]->ready_ms : -1);
	if (!is_empty(q)) {
		it = dequeue(q);
		start_work(q, it);
	}
	pthread_mutex_unlock(&q->lock);
	return it ? it->key : NULL;
}

void workqueue_done(struct workqueue *q, const char *key)
{
	struct item *it;

	pthread_mutex_lock(&q->lock);
	it = map_get(&q->items, key);
	if (it && it->processing)
		end_work(q, it);
	pthread_mutex_unlock(&q->lock);
}

void workqueue_shut_down(struct workqueue *q)
{
	pthread_mutex_lock(&q->lock);
	q->shut = true;
	while (q->n_heap > 0)
		drop_if_idle(q, heap_take(q, q->heap[0]));
	pthread_cond_broadcast(&q->more);
	pthread_mutex_unlock(&q->lock);
}

size_t workqueue_length(struct workqueue *q)
{
	size_t n;

	pthread_mutex_lock(&q->lock);
	move_due(q);
	n = q->queues[WORKQUEUE_FIRST].n + q->queues[WORKQUEUE_NORMAL].n;
	pthread_mutex_unlock(&q->lock);
	return n;
}

void workqueue_measure(struct workqueue *q)
{
	double now = clock_seconds(), sum = 0, most = 0;

	pthread_mutex_lock(&q->lock);
	for (const struct item *it = q->working; it; it = it->next_working) {
		sum += now - it->started;
		most = now - it->started > most ? now - it->started : most;
	}
	metrics_set(q->metrics, &unfinished, sum, q->name, q->name);
	metrics_set(q->metrics, &longest, most, q->name, q->name);
	pthread_mutex_unlock(&q->lock);
}
