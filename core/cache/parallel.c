/* parallel.c - runs a function in several threads (cache/parallel.h). */
#include "cache/parallel.h"

#include "base/thread.h"

struct work {
	int (*work)(void *ctx, size_t i, struct error *err);
	void *ctx;
	size_t n, next, failed; /* failed: the lowest failed i, or n */
	pthread_mutex_t lock;
	struct error why;
};

static void *work_some(void *arg)
{
	struct work *w = arg;
	size_t i;

	while ((i = __atomic_fetch_add(&w->next, 1, __ATOMIC_RELAXED)) < w->n) {
		struct error err = { 0 };

		if (!w->work(w->ctx, i, &err))
			continue;
		pthread_mutex_lock(&w->lock);
		if (i < w->failed) {
			w->failed = i;
			w->why = err;
		}
		pthread_mutex_unlock(&w->lock);
		__atomic_store_n(&w->next, w->n, __ATOMIC_RELAXED);
	}
	return NULL;
}

int parallel_run(size_t threads, size_t n,
		 int (*work)(void *ctx, size_t i, struct error *err), void *ctx,
		 struct error *err)
{
	struct work w = { work, ctx, n, 0, n, PTHREAD_MUTEX_INITIALIZER, { 0 } };
	pthread_t others[PARALLEL_MAX];
	size_t started = 0;

	if (threads > PARALLEL_MAX)
		threads = PARALLEL_MAX;
	while (started + 1 < threads && started + 1 < n &&
	       !thread_start(&others[started], work_some, &w, IGNORED))
		started++;
	work_some(&w);
	while (started)
		pthread_join(others[--started], NULL);
	pthread_mutex_destroy(&w.lock);
	if (w.failed == n)
		return 0;
	*err = w.why;
	return -1;
}
