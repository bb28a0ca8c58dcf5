/* holdings_load.c - loads the rows of a worker in a thread (cache/holdings.h). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/xmalloc.h"
#include "cache/holdings_impl.h"
#include "cache/memory_limit.h"

enum { OTHER = 4 * 1024 * 1024 }; /* memory of the process besides rows and decoding */

/* Memory for these rows besides the loaded ones. */
static uint64_t memory_for(struct holdings *h, const struct holding *it)
{
	uint64_t limit = h->conf->memory, left, used = 0;

	pthread_mutex_lock(&h->lock);
	for (size_t k = 0; k < h->now.n; k++)
		if (h->now.list[k].table)
			used += memtable_bytes(h->now.list[k].table) -
				memtable_spilled(h->now.list[k].table);
	pthread_mutex_unlock(&h->lock);
	if (limit)
		limit -= cache_decode_memory(h->conf) + OTHER;
	left = !limit ? UINT64_MAX : limit > used ? limit - used : 0;
	return it > h->now.list && memory_limit_left() < left ? memory_limit_left()
							      : left;
}

static int load(struct holdings *h, const struct holding *it, struct memtable **ret,
		struct error *err)
{
	struct memtable_conf conf = {
		.memory = memory_for(h, it),
		.spill = h->conf->spill,
		.stop = &h->cancel,
		.loaded = &h->loaded,
	};
	const struct dataset_files only = { it->files, it->n_files };
	struct rows rows = it->rows;
	struct dataset *d;

	if (cache_open(&d, h->conf, h->now.snapshot, it->files ? &only : NULL, err))
		return -1;
	if (it->files) {
		conf.base = rows.first;
		rows = (struct rows){ 0, table_rows(dataset_table(d)) };
	} else if (holdings_check(h, dataset_table(d), err)) {
		dataset_free(d);
		return -1;
	}
	return memtable_load(ret, d, rows, &conf, err);
}

static void log_loaded(struct rows rows, const struct memtable *table, int64_t start,
		       const struct error *err)
{
	if (table)
		log_info("ready", LOG_INT("first", rows.first), LOG_INT("end", rows.end),
			 LOG_INT("bytes", (int64_t)memtable_bytes(table)),
			 LOG_INT("ms", clock_ms() - start));
	else if (err->kind != ERR_STOPPED)
		log_error("cannot load rows", LOG_INT("first", rows.first), LOG_ERR(err));
}

static void load_one(struct holdings *h, struct holding *it)
{
	struct memtable *table = NULL;
	struct error err = { 0 };
	int64_t start = clock_ms();

	log_info("loading", LOG_INT("first", it->rows.first),
		 LOG_INT("end", it->rows.end));
	if (load(h, it, &table, &err))
		table = NULL;
	xmalloc_trim(); /* return the memory of decoding */
	holdings_end(h, it, table, &err);
	log_loaded(it->rows, table, start, &err);
}

static bool wait_assignment(struct holdings *h)
{
	bool stop;

	pthread_mutex_lock(&h->lock);
	while (!h->next && !h->stopping)
		cond_wait_until(&h->news, &h->lock, -1);
	stop = h->stopping;
	pthread_mutex_unlock(&h->lock);
	return !stop;
}

static void *run_loader(void *ctx)
{
	struct holdings *h = ctx;
	struct holding *it;

	while (wait_assignment(h)) {
		holdings_next(h);
		for (it = holdings_begin(h, NULL); it; it = holdings_begin(h, it))
			load_one(h, it);
	}
	return NULL;
}

int holdings_start(struct holdings *h, struct error *err)
{
	h->has_loader = !thread_start(&h->loader, run_loader, h, err);
	return h->has_loader ? 0 : -1;
}

void holdings_stop(struct holdings *h)
{
	pthread_mutex_lock(&h->lock);
	h->stopping = true;
	h->cancel = true;
	pthread_cond_signal(&h->news);
	pthread_mutex_unlock(&h->lock);
	if (h->has_loader)
		pthread_join(h->loader, NULL);
}
