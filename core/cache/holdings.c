/* Holds and loads the rows of a worker: holdings.h. */
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
#include "cache/room.h"
#include "cache/serve_impl.h"

enum { TEXT_MAX = 1000 };
enum { OTHER = 4 * 1024 * 1024 }; /* memory beyond rows and decoding */

struct holding {
	struct rows rows;
	char **files; /* rows of these files; NULL: of the table */
	size_t n_files;
	enum cache_state state;
	struct memtable *table; /* set in CACHE_READY */
	char error[TEXT_MAX];
};

struct holdings {
	const struct cache_conf *conf;
	atomic_bool cancel;          /* stops the running load */
	atomic_int_least64_t loaded; /* rows of the running load */
	pthread_t loader;
	bool has_loader; /* guarded by `assigning` */
	pthread_mutex_t assigning, lock;

	/* Guarded by the lock; the list itself changes only while no loader runs. */
	struct holding *list;
	size_t n;
	int64_t total;
	char *snapshot;
};

/* ---- holdings ---------------------------------------------------------------------- */

static void holding_release(struct holding *h)
{
	for (size_t i = 0; i < h->n_files; i++)
		free(h->files[i]);
	free(h->files);
	memtable_unref(h->table);
}

static void holding_init(struct holding *to, const struct assignment *a, size_t i)
{
	*to = (struct holding){ .rows = a->rows[i], .state = CACHE_LOADING };
	if (i || !a->files)
		return;
	to->files = xcalloc(a->n_files + 1, sizeof(*to->files));
	to->n_files = a->n_files;
	for (size_t k = 0; k < a->n_files; k++)
		to->files[k] = xstrdup(a->files[k]);
}

static bool is_holding_of(const struct holding *h, const struct assignment *a, size_t i)
{
	const struct rows rows = a->rows[i];
	bool by_files = !i && a->files;

	if (by_files != (h->files != NULL) || h->rows.first != rows.first)
		return false;
	if (!by_files)
		return h->rows.end == rows.end;
	if (h->n_files != a->n_files)
		return false;
	for (size_t k = 0; k < a->n_files; k++)
		if (!str_eq(h->files[k], a->files[k]))
			return false;
	return true;
}

static bool is_gone(const struct holding *h)
{
	return h->state == CACHE_FAILED || h->state == CACHE_WAITING;
}

static bool is_same_table(const struct holdings *h, const struct assignment *a)
{
	return h->total == a->total && str_eq(h->snapshot, a->snapshot);
}

/* Is this already the current assignment? */
static bool is_assigned(struct holdings *h, const struct assignment *a)
{
	bool same;

	pthread_mutex_lock(&h->lock);
	same = h->n == a->n && is_same_table(h, a) && !is_gone(&h->list[0]);
	for (size_t i = 0; same && i < a->n; i++)
		same = is_holding_of(&h->list[i], a, i);
	pthread_mutex_unlock(&h->lock);
	return same;
}

/* ---- loading ----------------------------------------------------------------------- */

/* Memory for the rows of holding i besides the loaded ones. */
static uint64_t memory_for(struct holdings *h, size_t i)
{
	uint64_t limit = h->conf->memory, left, used = 0;

	pthread_mutex_lock(&h->lock);
	for (size_t k = 0; k < h->n; k++)
		if (h->list[k].table)
			used += memtable_bytes(h->list[k].table) -
				memtable_spilled(h->list[k].table);
	pthread_mutex_unlock(&h->lock);
	if (limit)
		limit -= cache_decode_memory(h->conf) + OTHER;
	left = !limit ? UINT64_MAX : limit > used ? limit - used : 0;
	return i && room_left() < left ? room_left() : left;
}

static int check_total(const struct holdings *h, struct dataset *d, struct error *err)
{
	int64_t total = table_rows(dataset_table(d));

	if (total == h->total)
		return 0;
	return error_set(err, ERR_CONFLICT,
			 "%s: %" PRId64 " rows, but the head found %" PRId64,
			 h->conf->location, total, h->total);
}

static int load(struct holdings *h, size_t i, struct memtable **ret, struct error *err)
{
	const struct holding *it = &h->list[i];
	struct memtable_conf conf = {
		.memory = memory_for(h, i),
		.spill = h->conf->spill,
		.stop = &h->cancel,
		.loaded = &h->loaded,
	};
	const struct dataset_files only = { it->files, it->n_files };
	struct rows rows = it->rows;
	struct dataset *d;

	if (cache_open(&d, h->conf, h->snapshot, it->files ? &only : NULL, err))
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
	struct holding *it = &h->list[i];
	struct memtable *table = NULL;
	struct error err = { 0 };
	int64_t start = clock_ms();
	int rc;

	h->loaded = 0;
	log_info("loading", LOG_INT("first", it->rows.first),
		 LOG_INT("end", it->rows.end));
	rc = load(h, i, &table, &err);
	xmalloc_trim(); /* what decoding needed */
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

static void *run_loader(void *ctx)
{
	struct holdings *h = ctx;

	for (size_t i = 0; i < h->n && !h->cancel; i++)
		if (h->list[i].state == CACHE_LOADING)
			load_one(h, i);
	return NULL;
}

static void stop_loading(struct holdings *h)
{
	if (!h->has_loader)
		return;
	h->cancel = true;
	pthread_join(h->loader, NULL);
	h->cancel = false;
	h->has_loader = false;
}

/* Move holdings that are also in the new assignment, with their last errors. */
static void take_old(struct holding *to, struct holdings *h, const struct assignment *a,
		     size_t i)
{
	for (size_t k = 0; k < h->n; k++) {
		struct holding *old = &h->list[k];

		if ((!i) != (!k) || !is_holding_of(old, a, i) || !is_same_table(h, a))
			continue;
		holding_release(to);
		*to = *old;
		*old = (struct holding){ 0 };
		if (!i && is_gone(to))
			to->state = CACHE_LOADING;
		return;
	}
}

/* Free the old rows first: there may not be memory for both. */
static void replace(struct holdings *h, const struct assignment *a)
{
	struct holding *list = xcalloc(a->n + 1, sizeof(*list)), *old = h->list;
	size_t n = h->n;

	pthread_mutex_lock(&h->lock);
	for (size_t i = 0; i < a->n; i++) {
		holding_init(&list[i], a, i);
		take_old(&list[i], h, a, i);
	}
	h->list = list;
	h->n = a->n;
	h->total = a->total;
	free(h->snapshot);
	h->snapshot = a->snapshot ? xstrdup(a->snapshot) : NULL;
	pthread_mutex_unlock(&h->lock);
	for (size_t i = 0; i < n; i++)
		holding_release(&old[i]);
	free(old);
}

int holdings_assign(struct holdings *h, const struct assignment *a, struct error *err)
{
	int rc = 0;

	pthread_mutex_lock(&h->assigning);
	if (!is_assigned(h, a)) {
		stop_loading(h);
		replace(h, a);
		rc = thread_start(&h->loader, run_loader, h, err);
		h->has_loader = !rc;
	}
	pthread_mutex_unlock(&h->assigning);
	return rc;
}

/* ---- state ------------------------------------------------------------------------- */

struct holdings *holdings_new(const struct cache_conf *conf)
{
	struct holdings *h = xcalloc(1, sizeof(*h));

	h->conf = conf;
	pthread_mutex_init(&h->assigning, NULL);
	pthread_mutex_init(&h->lock, NULL);
	h->list = xcalloc(1, sizeof(*h->list));
	h->n = 1; /* no own rows yet */
	return h;
}

void holdings_free(struct holdings *h)
{
	stop_loading(h);
	for (size_t i = 0; i < h->n; i++)
		holding_release(&h->list[i]);
	free(h->list);
	free(h->snapshot);
	pthread_mutex_destroy(&h->assigning);
	pthread_mutex_destroy(&h->lock);
	free(h);
}

bool holdings_ready(struct holdings *h)
{
	bool ready;

	pthread_mutex_lock(&h->lock);
	ready = h->list[0].state == CACHE_READY;
	pthread_mutex_unlock(&h->lock);
	return ready;
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
	describe(doc, h, &h->list[0]);
	json_put_int(doc, h->total, "rows");
	if (h->snapshot)
		json_put_str(doc, h->snapshot, "snapshot");
	more = json_list(doc, "more");
	for (size_t i = 1; i < h->n; i++) {
		cJSON *one = cJSON_CreateObject();

		describe(one, h, &h->list[i]);
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

static int find(struct holdings *h, struct rows rows, struct memtable **ret,
		struct error *err)
{
	const struct holding *it;
	size_t i = 0;
	int rc = 0;

	pthread_mutex_lock(&h->lock);
	while (i < h->n &&
	       (rows.first >= h->list[i].rows.end || rows.end <= h->list[i].rows.first))
		i++;
	it = &h->list[i < h->n ? i : 0];
	if (it->table)
		*ret = memtable_ref(it->table);
	else
		rc = not_loaded(h, it, err);
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
