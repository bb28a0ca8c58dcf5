/* holdings.c - holds and loads the rows of a worker (cache/holdings.h). */
#include "cache/holdings.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "base/thread.h"
#include "base/xmalloc.h"
#include "cache/memory_limit.h"
#include "cache/serve_impl.h"

enum { TEXT_MAX = 1000 };
enum { OTHER = 4 * 1024 * 1024 }; /* memory of the process besides rows and decoding */

struct holding {
	struct rows rows;
	char **files; /* rows of these files; NULL: of the table */
	size_t n_files;
	enum cache_state state;
	struct memtable *table; /* set in CACHE_READY */
	bool reported;          /* the head knows that it is ready */
	char error[TEXT_MAX];
};

/* An assignment, and the state of its rows. */
struct holdings_set {
	struct holding *list; /* the own rows, then loans */
	size_t n;
	int64_t total;
	char *snapshot;
};

struct holdings {
	const struct cache_conf *conf;
	atomic_bool cancel;          /* stops the running load */
	atomic_int_least64_t loaded; /* rows of the running load */
	pthread_t loader;
	pthread_mutex_t lock; /* guards the members below */
	pthread_cond_t news;
	bool has_loader, stopping;
	struct holdings_set now;   /* the list is changed only by the loader */
	struct holdings_set *next; /* for the loader; NULL: nothing new */
};

/* ---- holdings ---------------------------------------------------------------------- */

static void set_release(struct holdings_set *it)
{
	for (size_t i = 0; i < it->n; i++) {
		for (size_t k = 0; k < it->list[i].n_files; k++)
			free(it->list[i].files[k]);
		free(it->list[i].files);
		memtable_unref(it->list[i].table);
	}
	free(it->list);
	free(it->snapshot);
}

static void set_free(struct holdings_set *it)
{
	if (it)
		set_release(it);
	free(it);
}

static struct holdings_set *set_new(const struct assignment *a)
{
	struct holdings_set *ret = xcalloc(1, sizeof(*ret));
	struct holding *own;

	ret->n = a->n;
	ret->total = a->total;
	ret->snapshot = a->snapshot ? xstrdup(a->snapshot) : NULL;
	ret->list = own = xcalloc(a->n + 1, sizeof(*ret->list));
	for (size_t i = 0; i < a->n; i++)
		ret->list[i] =
			(struct holding){ .rows = a->rows[i], .state = CACHE_LOADING };
	if (!a->files)
		return ret;
	own->files = xcalloc(a->n_files + 1, sizeof(*own->files));
	own->n_files = a->n_files;
	for (size_t k = 0; k < a->n_files; k++)
		own->files[k] = xstrdup(a->files[k]);
	return ret;
}

/* Compared by files, if any: their rows are known only once they are loaded. */
static bool is_same_holding(const struct holding *a, const struct holding *b)
{
	if (!a->files != !b->files || a->n_files != b->n_files ||
	    a->rows.first != b->rows.first)
		return false;
	for (size_t k = 0; k < a->n_files; k++)
		if (!str_eq(a->files[k], b->files[k]))
			return false;
	return a->files || a->rows.end == b->rows.end;
}

static bool is_gone(const struct holding *h)
{
	return h->state == CACHE_FAILED || h->state == CACHE_WAITING;
}

static bool is_same_table(const struct holdings_set *a, const struct holdings_set *b)
{
	return a->total == b->total && str_eq(a->snapshot, b->snapshot);
}

/* Is this the current assignment, and have its own rows not failed to load? */
static bool is_assigned(const struct holdings *h, const struct holdings_set *wanted)
{
	const struct holdings_set *has = h->next ? h->next : &h->now;
	bool same = has->n == wanted->n && is_same_table(has, wanted) &&
		    !is_gone(&has->list[0]);

	for (size_t i = 0; same && i < has->n; i++)
		same = is_same_holding(&has->list[i], &wanted->list[i]);
	return same;
}

/* ---- loading ----------------------------------------------------------------------- */

/* Memory for the rows of holding i besides the loaded ones. */
static uint64_t memory_for(struct holdings *h, size_t i)
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
	return i && memory_limit_left() < left ? memory_limit_left() : left;
}

static int check_total(const struct holdings *h, struct dataset *d, struct error *err)
{
	int64_t total = table_rows(dataset_table(d));

	if (total == h->now.total)
		return 0;
	return error_set(err, ERR_CONFLICT,
			 "%s: %" PRId64 " rows, but the head found %" PRId64,
			 h->conf->location, total, h->now.total);
}

static int load(struct holdings *h, size_t i, struct memtable **ret, struct error *err)
{
	const struct holding *it = &h->now.list[i];
	struct memtable_conf conf = {
		.memory = memory_for(h, i),
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
	} else if (check_total(h, d, err)) {
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

static void load_one(struct holdings *h, size_t i)
{
	struct holding *it = &h->now.list[i];
	struct memtable *table = NULL;
	struct error err = { 0 };
	int64_t start = clock_ms();
	int rc;

	h->loaded = 0;
	log_info("loading", LOG_INT("first", it->rows.first),
		 LOG_INT("end", it->rows.end));
	rc = load(h, i, &table, &err);
	xmalloc_trim(); /* return the memory of decoding */
	pthread_mutex_lock(&h->lock);
	if (!rc)
		it->rows = memtable_rows(table);
	it->table = table;
	if (!rc || err.kind != ERR_STOPPED)
		it->state = rc ? CACHE_FAILED : CACHE_READY;
	snprintf(it->error, sizeof(it->error), "%s", err.msg);
	pthread_mutex_unlock(&h->lock);
	log_loaded(it->rows, table, start, &err);
}

/* Move the holdings that both assignments have, with their last errors. */
static void keep_same(struct holdings_set *now, struct holdings_set *old)
{
	if (!is_same_table(now, old))
		return;
	for (size_t i = 0; i < now->n; i++)
		for (size_t k = i ? 1 : 0; k < (i ? old->n : 1); k++) {
			struct holding *to = &now->list[i], kept = old->list[k];

			if (!is_same_holding(to, &kept))
				continue;
			old->list[k] = *to;
			*to = kept;
			if (!i && is_gone(to))
				to->state = CACHE_LOADING;
			break;
		}
}

/* Wait for an assignment; false: stop. Rows that are not in it are freed. */
static bool next_assignment(struct holdings *h)
{
	struct holdings_set old = { 0 };
	bool stop;

	pthread_mutex_lock(&h->lock);
	while (!h->next && !h->stopping)
		cond_wait_until(&h->news, &h->lock, -1);
	stop = h->stopping;
	if (!stop) {
		old = h->now;
		h->now = *h->next;
		free(STEAL(h->next));
		keep_same(&h->now, &old);
		h->cancel = false;
	}
	pthread_mutex_unlock(&h->lock);
	set_release(&old);
	return !stop;
}

static void *run_loader(void *ctx)
{
	struct holdings *h = ctx;

	while (next_assignment(h))
		for (size_t i = 0; i < h->now.n && !h->cancel; i++)
			if (h->now.list[i].state == CACHE_LOADING)
				load_one(h, i);
	return NULL;
}

int holdings_assign(struct holdings *h, const struct assignment *a, struct error *err)
{
	struct holdings_set *wanted = set_new(a);
	int rc = 0;

	pthread_mutex_lock(&h->lock);
	if (!is_assigned(h, wanted)) {
		set_free(h->next);
		h->next = STEAL(wanted);
		h->cancel = true;
		if (!h->has_loader)
			rc = thread_start(&h->loader, run_loader, h, err);
		h->has_loader = !rc;
		pthread_cond_signal(&h->news);
	}
	pthread_mutex_unlock(&h->lock);
	set_free(wanted);
	return rc;
}

/* ---- state ------------------------------------------------------------------------- */

struct holdings *holdings_new(const struct cache_conf *conf)
{
	struct holdings *h = xcalloc(1, sizeof(*h));

	h->conf = conf;
	pthread_mutex_init(&h->lock, NULL);
	cond_init(&h->news);
	h->now.list = xcalloc(1, sizeof(*h->now.list));
	h->now.n = 1; /* no own rows yet */
	return h;
}

void holdings_free(struct holdings *h)
{
	pthread_mutex_lock(&h->lock);
	h->stopping = true;
	h->cancel = true;
	pthread_cond_signal(&h->news);
	pthread_mutex_unlock(&h->lock);
	if (h->has_loader)
		pthread_join(h->loader, NULL);
	set_free(h->next);
	set_release(&h->now);
	pthread_cond_destroy(&h->news);
	pthread_mutex_destroy(&h->lock);
	free(h);
}

/* Rows that upstream's head assigned need not be reported: that head never polls. */
bool holdings_ready(struct holdings *h)
{
	const struct holding *own;
	bool ready;

	pthread_mutex_lock(&h->lock);
	own = h->now.list;
	ready = own->state == CACHE_READY && (own->reported || own->files);
	if (h->next)
		ready = ready && is_same_table(h->next, &h->now) &&
			is_same_holding(own, h->next->list);
	pthread_mutex_unlock(&h->lock);
	return ready;
}

void holdings_report(struct holdings *h)
{
	pthread_mutex_lock(&h->lock);
	h->now.list->reported = h->now.list->state == CACHE_READY;
	pthread_mutex_unlock(&h->lock);
}

static void describe(cJSON *doc, const struct holdings *h, const struct holding *it)
{
	const struct memtable *t = it->table;

	json_put_str(doc, cache_state_words[it->state], "state");
	json_put_int(doc, it->rows.first, "first");
	json_put_int(doc, it->rows.end, "end");
	if (it->state == CACHE_LOADING)
		json_put_int(doc, h->loaded, "loaded");
	json_put_int(doc, t ? (int64_t)memtable_bytes(t) : 0, "bytes");
	json_put_int(doc, t ? (int64_t)memtable_spilled(t) : 0, "spilled");
	if (it->error[0])
		json_put_str(doc, it->error, "error");
}

cJSON *holdings_describe(struct holdings *h)
{
	cJSON *doc = cJSON_CreateObject(), *more;

	pthread_mutex_lock(&h->lock);
	json_put_str(doc, "worker", "role");
	describe(doc, h, &h->now.list[0]);
	json_put_int(doc, h->now.total, "rows");
	if (h->now.snapshot)
		json_put_str(doc, h->now.snapshot, "snapshot");
	more = json_list(doc, "more");
	for (size_t i = 1; i < h->now.n; i++) {
		cJSON *one = cJSON_CreateObject();

		describe(one, h, &h->now.list[i]);
		cJSON_AddItemToArray(more, one);
	}
	pthread_mutex_unlock(&h->lock);
	return doc;
}

static int not_loaded(const struct holdings *h, const struct holding *it,
		      struct error *err)
{
	if (it->state == CACHE_FAILED)
		return error_set(err, ERR_BUSY, "rows could not be loaded: %s",
				 it->error);
	if (it->state == CACHE_WAITING)
		return error_set(err, ERR_BUSY, "no rows assigned by the head yet");
	return error_set(err, ERR_BUSY, "loading: %" PRId64 " of %" PRId64 " rows",
			 (int64_t)h->loaded, it->rows.end - it->rows.first);
}

/*
 * Has this holding all of the rows? With files, any rows count: upstream's tickets have
 * the rows of a whole shard, of which each worker sends those that it has.
 */
static bool has_all(const struct holding *it, struct rows rows)
{
	return it->files || rows.first >= rows.end ||
	       (it->rows.first <= rows.first && rows.end <= it->rows.end);
}

static bool has_some(const struct holding *it, struct rows rows)
{
	return rows.first < it->rows.end && it->rows.first < rows.end;
}

/* The holding to read from: one that has all of the rows, else one that has some. */
static const struct holding *holding_with(const struct holdings *h, struct rows rows)
{
	const struct holding *some = NULL;

	for (size_t i = 0; i < h->now.n; i++) {
		const struct holding *it = &h->now.list[i];

		if (it->table && has_all(it, rows))
			return it;
		if (!some && has_some(it, rows))
			some = it;
	}
	return some ? some : &h->now.list[0];
}

static int find(struct holdings *h, struct rows rows, struct memtable **ret,
		struct error *err)
{
	const struct holding *it;
	int rc = 0;

	pthread_mutex_lock(&h->lock);
	it = holding_with(h, rows);
	if (!it->table)
		rc = not_loaded(h, it, err);
	else if (has_all(it, rows))
		*ret = memtable_ref(it->table);
	else
		rc = error_set(err, ERR_BUSY,
			       "rows %" PRId64 " to %" PRId64
			       " are not all on this worker: get a new FlightInfo "
			       "from the head",
			       rows.first, rows.end - 1);
	pthread_mutex_unlock(&h->lock);
	return rc;
}

int holdings_read(struct holdings *h, struct rows rows, struct iovec text,
		  enum ipc_codec codec, void **ret, struct error *err)
{
	struct view *view = NULL;
	struct memtable *m = NULL;
	const struct field *fields;
	size_t n;
	int rc = 0;

	if (find(h, rows, &m, err))
		return -1;
	fields = memtable_columns(m, &n);
	if (text.iov_len || codec)
		rc = view_parse(&view, text.iov_base, text.iov_len, fields, n, err);
	if (view)
		view->codec = codec;
	if (rc)
		err->kind = ERR_INVALID;
	else
		*ret = memtable_read(m, rows, view);
	memtable_unref(m);
	return rc;
}
