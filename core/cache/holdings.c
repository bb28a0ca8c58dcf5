/* holdings.c - holds the rows of a worker (cache/holdings.h). */
#include "cache/holdings_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/thread.h"
#include "base/xmalloc.h"

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
	free(it->table);
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
	ret->table = a->table ? xstrdup(a->table) : NULL;
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
	return a->total == b->total && str_eq(a->snapshot, b->snapshot) &&
	       str_eq(a->table, b->table);
}

/* Is this the current assignment, of which no rows have failed to load? */
static bool is_assigned(const struct holdings *h, const struct holdings_set *wanted)
{
	const struct holdings_set *has = h->next ? h->next : &h->now;
	bool same = has->n == wanted->n && is_same_table(has, wanted);

	for (size_t i = 0; same && i < has->n; i++)
		same = is_same_holding(&has->list[i], &wanted->list[i]) &&
		       !is_gone(&has->list[i]);
	return same;
}

/* ---- loading ----------------------------------------------------------------------- */

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
			if (is_gone(to))
				to->state = CACHE_LOADING;
			break;
		}
}

void holdings_next(struct holdings *h)
{
	struct holdings_set old = { 0 };

	pthread_mutex_lock(&h->lock);
	if (h->next) {
		old = h->now;
		h->now = *h->next;
		free(STEAL(h->next));
		keep_same(&h->now, &old);
		h->cancel = h->stopping;
	}
	pthread_mutex_unlock(&h->lock);
	set_release(&old);
}

struct holding *holdings_begin(struct holdings *h, struct holding *last)
{
	struct holding *it = last ? last + 1 : h->now.list;

	while (it < h->now.list + h->now.n && it->state != CACHE_LOADING)
		it++;
	if (it == h->now.list + h->now.n || h->cancel)
		return NULL;
	h->loaded = 0;
	return it;
}

void holdings_end(struct holdings *h, struct holding *it, struct memtable *take_table,
		  const struct error *err)
{
	pthread_mutex_lock(&h->lock);
	if (take_table)
		it->rows = memtable_rows(take_table);
	it->table = take_table;
	if (take_table || err->kind != ERR_STOPPED) {
		it->state = take_table ? CACHE_READY : CACHE_FAILED;
		snprintf(it->error, sizeof(it->error), "%s", err->msg);
	}
	pthread_mutex_unlock(&h->lock);
}

int holdings_check(const struct holdings *h, const struct table *t, struct error *err)
{
	const char *where = h->conf->location;
	char name[TABLE_NAME + 1];

	if (table_rows(t) != h->now.total)
		return error_set(err, ERR_CONFLICT,
				 "%s: %" PRId64 " rows, but the head found %" PRId64,
				 where, table_rows(t), h->now.total);
	table_name(t, name);
	if (h->now.table && !str_eq(name, h->now.table))
		return error_set(err, ERR_CONFLICT,
				 "%s: not the files that the head found: restart the "
				 "head if they were replaced",
				 where);
	return 0;
}

void holdings_assign(struct holdings *h, const struct assignment *a)
{
	struct holdings_set *wanted = set_new(a);

	pthread_mutex_lock(&h->lock);
	if (!is_assigned(h, wanted)) {
		set_free(h->next);
		h->next = STEAL(wanted);
		h->cancel = true;
		pthread_cond_signal(&h->news);
	}
	pthread_mutex_unlock(&h->lock);
	set_free(wanted);
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
	holdings_stop(h);
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
	json_put_str(doc, h->now.table ? h->now.table : "", "table");
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

/* The holding to read from: holdings have no rows in common. */
static const struct holding *holding_with(const struct holdings *h, struct rows rows)
{
	for (size_t i = 0; i < h->now.n; i++) {
		const struct holding *it = &h->now.list[i];

		if ((it->table && has_all(it, rows)) || has_some(it, rows))
			return it;
	}
	return &h->now.list[0];
}

static bool is_of(const struct ticket *t, const char *table)
{
	return !t->table.iov_len || !table ||
	       (strlen(table) == TABLE_NAME &&
		!memcmp(table, t->table.iov_base, TABLE_NAME));
}

static int find(struct holdings *h, const struct ticket *t, struct memtable **ret,
		struct error *err)
{
	const struct rows rows = t->rows;
	const struct holding *it;
	int rc = 0;

	pthread_mutex_lock(&h->lock);
	it = holding_with(h, rows);
	if (!it->table)
		rc = not_loaded(h, it, err);
	else if (!is_of(t, h->now.table))
		rc = error_set(err, ERR_BUSY,
			       "the ticket is of another table, which the cache had "
			       "before: get a new FlightInfo from the head");
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

int holdings_read(struct holdings *h, const struct ticket *t, enum ipc_codec codec,
		  void **ret, struct error *err)
{
	struct view *view = NULL;
	struct memtable *m = NULL;
	const struct field *fields;
	size_t n;
	int rc = 0;

	if (find(h, t, &m, err))
		return -1;
	fields = memtable_columns(m, &n);
	if (t->view.iov_len || codec)
		rc = view_parse(&view, t->view.iov_base, t->view.iov_len, fields, n, err);
	if (view)
		view->codec = codec;
	if (rc)
		err->kind = ERR_INVALID;
	else
		*ret = memtable_read(m, t->rows, view);
	memtable_unref(m);
	return rc;
}
