/* A worker of the data cache: serve.h. */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/thread.h"
#include "base/xmalloc.h"
#include "cache/flight.h"
#include "cache/memtable.h"
#include "cache/serve_impl.h"
#include "cache/ticket.h"

enum { TEXT_MAX = 1000 };

struct worker {
	const struct cache_conf *conf;
	atomic_bool cancel;          /* what is being loaded */
	atomic_int_least64_t loaded; /* rows of it */
	pthread_t loader;
	bool has_loader; /* the handlers', under `assigning` */
	pthread_mutex_t assigning, lock;

	/* Under the lock. */
	enum cache_state state;
	struct rows rows;       /* assigned */
	int64_t total;          /* rows of the table, as the head says */
	struct memtable *table; /* in CACHE_READY */
	char error[TEXT_MAX];
};

/* ---- loading ----------------------------------------------------------------------- */

static int load(struct worker *w, struct memtable **ret, struct error *err)
{
	uint64_t decode = cache_decode_memory(w->conf);
	const struct memtable_conf conf = {
		.memory = w->conf->memory ? w->conf->memory - decode : UINT64_MAX,
		.spill = w->conf->spill,
		.stop = &w->cancel,
		.loaded = &w->loaded,
	};
	struct dataset *d;
	int64_t total;

	if (cache_open(&d, w->conf, err))
		return -1;
	total = table_rows(dataset_table(d));
	if (total != w->total) {
		dataset_free(d);
		return error_set(err, ERR_CONFLICT,
				 "%s: %" PRId64 " rows, but the head found %" PRId64,
				 w->conf->location, total, w->total);
	}
	return memtable_load(ret, d, w->rows, &conf, err);
}

static void *run_loader(void *ctx)
{
	struct worker *w = ctx;
	struct memtable *table = NULL;
	struct error err = { 0 };
	int64_t start = clock_ms();
	int rc = load(w, &table, &err);

	if (!rc)
		log_info("ready", LOG_INT("first", w->rows.first),
			 LOG_INT("end", w->rows.end),
			 LOG_INT("bytes", (int64_t)memtable_bytes(table)),
			 LOG_INT("ms", clock_ms() - start));
	else if (err.kind != ERR_STOPPED)
		log_error("cannot load rows", LOG_ERR(&err));
	xmalloc_trim(); /* what decoding needed */
	pthread_mutex_lock(&w->lock);
	w->table = table;
	w->state = rc ? CACHE_FAILED : CACHE_READY;
	snprintf(w->error, sizeof(w->error), "%s", err.msg);
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static void stop_loading(struct worker *w)
{
	if (!w->has_loader)
		return;
	w->cancel = true;
	pthread_join(w->loader, NULL);
	w->cancel = false;
	w->has_loader = false;
}

/* Whether these rows are what the worker has, or is about to have. */
static bool is_assigned(struct worker *w, struct rows rows, int64_t total)
{
	bool same;

	pthread_mutex_lock(&w->lock);
	same = (w->state == CACHE_LOADING || w->state == CACHE_READY) &&
	       w->rows.first == rows.first && w->rows.end == rows.end &&
	       w->total == total;
	pthread_mutex_unlock(&w->lock);
	return same;
}

/*
 * Rows it had are given back first: there may be no memory for both. Why the last attempt
 * failed stays until this one ends.
 */
static int assign(struct worker *w, struct rows rows, int64_t total, struct error *err)
{
	struct memtable *old;

	stop_loading(w);
	pthread_mutex_lock(&w->lock);
	old = STEAL(w->table);
	w->rows = rows;
	w->total = total;
	w->loaded = 0;
	w->state = CACHE_LOADING;
	pthread_mutex_unlock(&w->lock);
	memtable_unref(old);
	log_info("loading", LOG_INT("first", rows.first), LOG_INT("end", rows.end));
	if (thread_start(&w->loader, run_loader, w, err))
		return -1;
	w->has_loader = true;
	return 0;
}

/* ---- methods ----------------------------------------------------------------------- */

static cJSON *describe(struct worker *w)
{
	cJSON *doc = cJSON_CreateObject();

	pthread_mutex_lock(&w->lock);
	json_put_str(doc, "worker", "role");
	json_put_str(doc, cache_state_words[w->state], "state");
	json_put_int(doc, w->rows.first, "first");
	json_put_int(doc, w->rows.end, "end");
	json_put_int(doc, w->total, "rows");
	json_put_int(doc, w->loaded, "loaded");
	json_put_int(doc, w->table ? (int64_t)memtable_bytes(w->table) : 0, "bytes");
	json_put_int(doc, w->table ? (int64_t)memtable_spilled(w->table) : 0, "spilled");
	if (w->error[0])
		json_put_str(doc, w->error, "error");
	pthread_mutex_unlock(&w->lock);
	return doc;
}

static void do_assign(struct worker *w, struct grpc_call *call, struct iovec body)
{
	cleanup_json cJSON *doc = NULL;
	struct error err = { 0 };
	struct rows rows;
	int64_t total;

	if (json_parse(&doc, body.iov_base, body.iov_len, &err)) {
		grpc_fail(call, GRPC_INVALID_ARGUMENT, "assign: %s", err.msg);
		return;
	}
	rows.first = json_int(doc, -1, "first");
	rows.end = json_int(doc, -1, "end");
	total = json_int(doc, -1, "rows");
	if (rows.first < 0 || rows.end < rows.first || total < rows.end) {
		grpc_fail(call, GRPC_INVALID_ARGUMENT,
			  "assign: want 0 <= first <= end <= rows");
		return;
	}
	pthread_mutex_lock(&w->assigning);
	if (!is_assigned(w, rows, total) && assign(w, rows, total, &err))
		grpc_fail(call, GRPC_INTERNAL, "%s", err.msg);
	pthread_mutex_unlock(&w->assigning);
}

static void do_action(void *ctx, struct grpc_call *call)
{
	struct worker *w = ctx;
	char type[FLIGHT_ACTION_MAX];
	struct error err = { 0 };
	struct iovec message, body;

	if (!flight_message(call, &message))
		return;
	if (flight_action(type, &body, message, &err)) {
		grpc_fail(call, GRPC_INVALID_ARGUMENT, "%s", err.msg);
		return;
	}
	if (str_eq(type, ACTION_ASSIGN)) {
		do_assign(w, call, body);
	} else if (!str_eq(type, ACTION_HEALTH) && !str_eq(type, ACTION_STATS)) {
		grpc_fail(call, GRPC_UNIMPLEMENTED, "action '%s' does not exist", type);
		return;
	}
	{
		cleanup_json cJSON *doc = describe(w);

		cache_reply_json(call, doc);
	}
}

/* The table, with a reference; NULL after grpc_fail(). */
static struct memtable *table_of(struct worker *w, struct grpc_call *call)
{
	struct memtable *m = NULL;

	pthread_mutex_lock(&w->lock);
	if (w->table)
		m = memtable_ref(w->table);
	else if (w->state == CACHE_FAILED)
		grpc_fail(call, GRPC_UNAVAILABLE, "rows could not be loaded: %s",
			  w->error);
	else if (w->state == CACHE_LOADING)
		grpc_fail(call, GRPC_UNAVAILABLE,
			  "loading: %" PRId64 " of %" PRId64 " rows", (int64_t)w->loaded,
			  w->rows.end - w->rows.first);
	else
		grpc_fail(call, GRPC_UNAVAILABLE, "no rows assigned by the head yet");
	pthread_mutex_unlock(&w->lock);
	return m;
}

static void do_get(void *ctx, struct grpc_call *call)
{
	struct grpc_source source = { .next = memtable_read_next,
				      .release = memtable_read_release };
	struct iovec message, ticket;
	struct error err = { 0 };
	struct memtable *m;
	struct rows rows;

	if (!flight_message(call, &message))
		return;
	if (flight_ticket(&ticket, message, &err) ||
	    ticket_read(&rows, ticket.iov_base, ticket.iov_len, &err)) {
		grpc_fail(call, GRPC_INVALID_ARGUMENT, "Invalid ticket format");
		return;
	}
	m = table_of(ctx, call);
	if (!m)
		return;
	source.ctx = memtable_read(m, rows);
	memtable_unref(m);
	grpc_send_from(call, &source);
}

static const struct grpc_method methods[] = {
	{ FLIGHT "DoGet", do_get },
	{ FLIGHT "DoAction", do_action },
	{ NULL, NULL },
};

static bool is_ready(void *ctx)
{
	struct worker *w = ctx;
	bool ready;

	pthread_mutex_lock(&w->lock);
	ready = w->state == CACHE_READY;
	pthread_mutex_unlock(&w->lock);
	return ready;
}

int cache_worker_run(const struct cache_conf *conf, struct error *err)
{
	struct worker w = { .conf = conf,
			    .assigning = PTHREAD_MUTEX_INITIALIZER,
			    .lock = PTHREAD_MUTEX_INITIALIZER };
	const struct cache_servers_conf servers = { conf, methods, is_ready, &w };
	struct cache_servers *s;

	if (cache_servers_start(&s, &servers, err))
		return -1;
	stop_wait(-1);
	w.cancel = true;
	cache_servers_stop(s);
	stop_loading(&w);
	memtable_unref(w.table);
	return 0;
}
