/* The head of the data cache: serve.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/str.h"
#include "base/thread.h"
#include "base/xmalloc.h"
#include "cache/flight.h"
#include "cache/plan.h"
#include "cache/serve_impl.h"
#include "net/grpc_client.h"
#include "net/protobuf.h"

enum {
	TEXT_MAX = 1000,
	LOOK_MS = 100,        /* between two looks at a worker that loads */
	READY_LOOK_MS = 1000, /* and at one that is ready */
	CALL_MS = 10 * 1000,
	FAILED_MS = 5000,    /* before a worker that failed is told to try again */
	SAME_MS = 60 * 1000, /* before the same trouble is logged again */
	MAX_ORIGIN = 300,
};

#define LOADING "loading" /* how the trouble of a worker begins that has none */

/* Of what the head knows about a worker, what changes is under the head's lock. */
struct remote {
	struct head *head;
	const struct cache_worker_place *place;
	char origin[MAX_ORIGIN];
	struct rows rows;
	pthread_t thread;
	struct http_client *http;
	struct log_last said;
	int64_t failed_ms; /* since when it is failed; 0: it is not */

	bool ready; /* as of the last look */
	char trouble[TEXT_MAX];
};

struct head {
	const struct cache_conf *conf;
	struct dataset *dataset;
	const struct table *table;
	int64_t n; /* rows */
	struct remote *remotes;
	int n_remotes;
	pthread_mutex_t lock;
	bool was_ready; /* all workers were, once */
};

/* ---- workers ----------------------------------------------------------------------- */

static int keep_document(void *ctx, const void *data, size_t len, struct error *err)
{
	cJSON **doc = ctx;
	struct pb_reader r = pb_read(data, len);
	struct pb_field f;
	bool more;

	if (pb_next(&r, &f, &more, err))
		return -1;
	if (!more || f.number != 1 || !f.data || *doc)
		return error_set(err, ERR_FORMAT, "not the answer of a worker");
	return json_parse(doc, f.data, f.len, err);
}

/* Its answer to an action: a document. */
static int call(struct remote *r, const char *action, const char *body, cJSON **ret,
		struct error *err)
{
	cleanup_buf struct buf message = { .max = 4096 };
	const struct grpc_request req = {
		.origin = r->origin,
		.path = FLIGHT "DoAction",
		.timeout_ms = CALL_MS,
		.on_message = keep_document,
		.ctx = ret,
	};
	struct grpc_request with = req;

	pb_put_str(&message, 1, action);
	pb_put_str(&message, 2, body);
	with.message = message.data;
	with.len = message.len;
	*ret = NULL;
	if (!grpc_request(r->http, &with, err))
		return *ret ? 0 : error_set(err, ERR_FORMAT, "no answer");
	cJSON_Delete(*ret);
	*ret = NULL;
	return -1;
}

static int give_rows(struct remote *r, cJSON **ret, struct error *err)
{
	cleanup_json cJSON *doc = cJSON_CreateObject();
	cleanup_free char *text = NULL;

	json_put_int(doc, r->rows.first, "first");
	json_put_int(doc, r->rows.end, "end");
	json_put_int(doc, r->head->n, "rows");
	text = json_text(doc);
	return call(r, ACTION_ASSIGN, text, ret, err);
}

static bool has_rows(const struct remote *r, const cJSON *doc)
{
	return json_int(doc, -1, "first") == r->rows.first &&
	       json_int(doc, -1, "end") == r->rows.end &&
	       json_int(doc, -1, "rows") == r->head->n;
}

/* One that failed tries again: what it could not read may be readable by now. */
static bool needs_rows(struct remote *r, const cJSON *doc, const char *state)
{
	if (!str_eq(state, cache_state_words[CACHE_FAILED])) {
		r->failed_ms = 0;
		return str_eq(state, cache_state_words[CACHE_WAITING]) ||
		       !has_rows(r, doc);
	}
	if (r->failed_ms && clock_ms() - r->failed_ms < FAILED_MS)
		return !has_rows(r, doc);
	r->failed_ms = clock_ms();
	return true;
}

/* True if the worker has its rows; else what it waits for is in `trouble`. */
static bool look(struct remote *r, char trouble[TEXT_MAX])
{
	cleanup_json cJSON *doc = NULL, *given = NULL;
	struct error err = { 0 };
	const char *state, *why;

	trouble[0] = 0;
	if (call(r, ACTION_HEALTH, "", &doc, &err)) {
		snprintf(trouble, TEXT_MAX, "%s", err.msg);
		return false;
	}
	state = json_str(doc, "state");
	why = json_str(doc, "error");
	if (str_eq(state, cache_state_words[CACHE_READY]) && has_rows(r, doc))
		return true;
	if (why)
		snprintf(trouble, TEXT_MAX, "%s", why);
	else
		snprintf(trouble, TEXT_MAX, LOADING ": %" PRId64 " of %" PRId64 " rows",
			 json_int(doc, 0, "loaded"), r->rows.end - r->rows.first);
	if (needs_rows(r, doc, state) && give_rows(r, &given, &err))
		snprintf(trouble, TEXT_MAX, "%s", err.msg);
	return false;
}

static void note(struct remote *r, bool ready, const char *trouble)
{
	struct head *h = r->head;
	bool was, all = true;

	pthread_mutex_lock(&h->lock);
	was = r->ready;
	r->ready = ready;
	snprintf(r->trouble, sizeof(r->trouble), "%s", trouble);
	for (int i = 0; i < h->n_remotes; i++)
		all = all && h->remotes[i].ready;
	if (all && !h->was_ready)
		log_info("ready", LOG_INT("rows", h->n),
			 LOG_INT("workers", h->n_remotes));
	h->was_ready = h->was_ready || all;
	pthread_mutex_unlock(&h->lock);
	if (ready && !was)
		log_info("worker is ready", LOG_STR("worker", r->origin),
			 LOG_INT("first", r->rows.first), LOG_INT("end", r->rows.end));
	else if (!ready && !str_starts(trouble, LOADING) &&
		 log_is_news(&r->said, trouble, SAME_MS))
		log_warn("worker is not ready", LOG_STR("worker", r->origin),
			 LOG_STR("why", trouble));
}

static void *run_remote(void *ctx)
{
	struct remote *r = ctx;
	char trouble[TEXT_MAX];
	bool ready = false;

	do {
		ready = look(r, trouble);
		if (stop_requested())
			break;
		note(r, ready, trouble);
	} while (!stop_wait(ready ? READY_LOOK_MS : LOOK_MS));
	return NULL;
}

static int remote_start(struct head *h, struct remote *r, struct error *err)
{
	const struct http_conf http = { .h2c = true, .proxy = "" };
	const char *host = r->place->host;

	snprintf(r->origin, sizeof(r->origin),
		 strchr(host, ':') ? "http://[%s]:%d" : "http://%s:%d", host,
		 r->place->port);
	if (http_client_new(&r->http, &http, err))
		return -1;
	r->head = h;
	if (!thread_start(&r->thread, run_remote, r, err))
		return 0;
	http_client_free(r->http);
	return -1;
}

/* ---- methods ----------------------------------------------------------------------- */

/* Who has some of these rows; for no rows the first worker has the schema. */
static bool concerns(const struct remote *r, struct rows rows)
{
	if (rows.first == rows.end)
		return r == r->head->remotes;
	return r->rows.first < rows.end && rows.first < r->rows.end;
}

static bool concerns_any(const struct remote *r, const struct plan *p)
{
	bool any = false;

	for (size_t i = 0; i < p->n; i++)
		any = any || concerns(r, p->parts[i]);
	return any;
}

/* False after grpc_fail(): some of the rows cannot be read now. */
static bool check_workers(struct head *h, struct grpc_call *c, const struct plan *plan)
{
	const struct remote *bad = NULL;

	pthread_mutex_lock(&h->lock);
	for (int i = 0; i < h->n_remotes; i++) {
		const struct remote *r = &h->remotes[i];

		if (r->ready || (h->was_ready && !concerns_any(r, plan)))
			continue;
		if (!bad || str_starts(bad->trouble, LOADING))
			bad = r;
	}
	if (bad)
		grpc_fail(c, GRPC_UNAVAILABLE,
			  "rows %" PRId64 " to %" PRId64
			  " cannot be read: worker %s: %.300s",
			  bad->rows.first, bad->rows.end - 1, bad->origin + 7,
			  bad->trouble[0] ? bad->trouble : "not asked yet");
	pthread_mutex_unlock(&h->lock);
	return !bad;
}

enum { INFO_SCHEMA = 1, INFO_DESCRIPTOR, INFO_RECORDS = 4, INFO_BYTES, INFO_ORDERED };

static void add_info(struct head *h, struct buf *info, struct iovec descriptor,
		     const struct plan *plan)
{
	const struct field *fields;
	size_t n;

	fields = table_columns(h->table, &n);
	flight_schema(info, INFO_SCHEMA, fields, n, dataset_form(h->dataset));
	pb_put_bytes(info, INFO_DESCRIPTOR, descriptor.iov_base, descriptor.iov_len);
	for (size_t part = 0; part < plan->n; part++)
		for (int i = 0; i < h->n_remotes; i++) {
			const struct remote *r = &h->remotes[i];

			if (concerns(r, plan->parts[part]))
				flight_endpoint(info, r->place->host, r->place->port,
						plan->parts[part]);
		}
	pb_put_uint(info, INFO_RECORDS, (uint64_t)plan_rows(plan));
	pb_put_uint(info, INFO_BYTES, UINT64_MAX); /* -1: not known here */
	pb_put_uint(info, INFO_ORDERED, true);
}

static void get_flight_info(void *ctx, struct grpc_call *c)
{
	cleanup_buf struct buf info = { .max = SIZE_MAX / 2 };
	struct head *h = ctx;
	struct descriptor d;
	struct error err = { 0 };
	struct iovec message;
	struct plan plan;

	if (!flight_message(c, &message))
		return;
	if (descriptor_read(&d, message, &err) || plan_read(&plan, &d, h->n, &err)) {
		grpc_fail(c,
			  err.kind == ERR_LIMIT ? GRPC_OUT_OF_RANGE
						: GRPC_INVALID_ARGUMENT,
			  "%s", err.msg);
		return;
	}
	if (!check_workers(h, c, &plan))
		return;
	add_info(h, &info, message, &plan);
	grpc_send(c, info.data, info.len);
}

/* The one there is: all rows, as a single rank gets them. */
static void list_flights(void *ctx, struct grpc_call *c)
{
	cleanup_buf struct buf info = { .max = SIZE_MAX / 2 };
	cleanup_buf struct buf descriptor = { .max = 64 };
	struct head *h = ctx;
	const struct plan plan = { .parts = { { 0, h->n } }, .n = 1 };

	if (!check_workers(h, c, &plan))
		return;
	descriptor_write(&descriptor, "0", "1");
	add_info(h, &info, (struct iovec){ descriptor.data, descriptor.len }, &plan);
	grpc_send(c, info.data, info.len);
}

static void get_schema(void *ctx, struct grpc_call *c)
{
	struct head *h = ctx;
	cleanup_buf struct buf out = { .max = SIZE_MAX / 2 };
	const struct field *fields;
	size_t n;

	fields = table_columns(h->table, &n);
	flight_schema(&out, 1, fields, n, dataset_form(h->dataset));
	grpc_send(c, out.data, out.len);
}

static cJSON *describe(struct head *h)
{
	cJSON *doc = cJSON_CreateObject(), *list;

	pthread_mutex_lock(&h->lock);
	json_put_str(doc, "head", "role");
	json_put_str(doc, cache_state_words[h->was_ready ? CACHE_READY : CACHE_LOADING],
		     "state");
	json_put_int(doc, h->n, "rows");
	list = json_list(doc, "workers");
	for (int i = 0; i < h->n_remotes; i++) {
		const struct remote *r = &h->remotes[i];
		cJSON *worker = cJSON_CreateObject();

		json_put_str(worker, r->origin + 7, "address");
		json_put_int(worker, r->rows.first, "first");
		json_put_int(worker, r->rows.end, "end");
		json_put_bool(worker, r->ready, "ready");
		if (r->trouble[0])
			json_put_str(worker, r->trouble, "error");
		cJSON_AddItemToArray(list, worker);
	}
	pthread_mutex_unlock(&h->lock);
	return doc;
}

static void do_action(void *ctx, struct grpc_call *c)
{
	char type[FLIGHT_ACTION_MAX];
	struct error err = { 0 };
	struct iovec message, body;

	if (!flight_message(c, &message))
		return;
	if (flight_action(type, &body, message, &err)) {
		grpc_fail(c, GRPC_INVALID_ARGUMENT, "%s", err.msg);
	} else if (str_eq(type, ACTION_HEALTH) || str_eq(type, ACTION_STATS)) {
		cleanup_json cJSON *doc = describe(ctx);

		cache_reply_json(c, doc);
	} else {
		grpc_fail(c, GRPC_UNIMPLEMENTED, "action '%s' does not exist", type);
	}
}

static const struct grpc_method methods[] = {
	{ FLIGHT "GetFlightInfo", get_flight_info },
	{ FLIGHT "GetSchema", get_schema },
	{ FLIGHT "ListFlights", list_flights },
	{ FLIGHT "DoAction", do_action },
	{ NULL, NULL },
};

static bool is_ready(void *ctx)
{
	struct head *h = ctx;
	bool ready;

	pthread_mutex_lock(&h->lock);
	ready = h->was_ready;
	pthread_mutex_unlock(&h->lock);
	return ready;
}

/* ---- running ----------------------------------------------------------------------- */

static int run(struct head *h, struct error *err)
{
	const struct cache_servers_conf conf = { h->conf, methods, is_ready, h };
	struct cache_servers *s;
	int started = 0, rc = 0;

	if (cache_servers_start(&s, &conf, err))
		return -1;
	while (started < h->n_remotes && !rc) {
		rc = remote_start(h, &h->remotes[started], err);
		started += !rc;
	}
	if (!rc)
		stop_wait(-1);
	else
		stop_request();
	cache_servers_stop(s);
	for (int i = 0; i < started; i++) {
		pthread_join(h->remotes[i].thread, NULL);
		http_client_free(h->remotes[i].http);
	}
	return rc;
}

int cache_head_run(const struct cache_conf *conf, struct error *err)
{
	cleanup_dataset struct dataset *dataset = NULL;
	cleanup_free struct remote *remotes = NULL;
	struct head h = { .conf = conf, .lock = PTHREAD_MUTEX_INITIALIZER };

	if (cache_open(&dataset, conf, err))
		return -1;
	h.dataset = dataset;
	h.table = dataset_table(dataset);
	h.n = table_rows(h.table);
	h.n_remotes = conf->n_workers;
	h.remotes = remotes = xcalloc((size_t)h.n_remotes + 1, sizeof(*remotes));
	for (int i = 0; i < h.n_remotes; i++) {
		remotes[i].head = &h;
		remotes[i].place = &conf->workers[i];
		remotes[i].rows = dataset_part(dataset, i, h.n_remotes);
	}
	return run(&h, err);
}
