/* worker.c - a worker of the data cache (cache/serve.h). */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "cache/answers.h"
#include "cache/flight.h"
#include "cache/index.h"
#include "cache/memtable.h"
#include "cache/ticket.h"

enum {
	MAX_MORE = 4096, /* maximum of loans */
	VIEW_COST = 32,  /* bytes of a view's values for one of its text, at most */
};

/* ---- assignments ------------------------------------------------------------------- */

static int bad_rows(struct error *err)
{
	return error_set(err, ERR_INVALID, "assign: want 0 <= first <= end <= rows");
}

static bool are_rows(struct rows r, int64_t total)
{
	return r.first >= 0 && r.first <= r.end && r.end <= total;
}

static int read_more(struct rows *to, size_t *ret_n, const cJSON *more, int64_t total,
		     struct error *err)
{
	const cJSON *node;

	json_each(node, more) {
		struct rows r;

		if (!json_int_of(cJSON_GetArrayItem(node, 0), &r.first) ||
		    !json_int_of(cJSON_GetArrayItem(node, 1), &r.end) ||
		    !are_rows(r, total) || *ret_n > MAX_MORE)
			return bad_rows(err);
		to[(*ret_n)++] = r;
	}
	return 0;
}

/* Read an assignment into `rows`; the snapshot is in the document. */
static int read_assignment(struct assignment *a, struct rows *rows, cJSON **doc,
			   struct iovec body, struct error *err)
{
	if (json_parse(doc, body.iov_base, body.iov_len, err)) {
		err->kind = ERR_INVALID;
		return error_wrap(err, "assign");
	}
	a->total = json_int(*doc, -1, "rows");
	a->snapshot = json_str(*doc, "snapshot");
	a->table = json_str(*doc, "table");
	rows[0] = (struct rows){ json_int(*doc, -1, "first"), json_int(*doc, -1, "end") };
	if (!are_rows(rows[0], a->total))
		return bad_rows(err);
	return read_more(rows, &a->n, json_get((const cJSON *)*doc, "more"), a->total,
			 err);
}

static int do_assign(struct holdings *h, struct iovec body, struct error *err)
{
	cleanup_json cJSON *doc = NULL;
	cleanup_free struct rows *rows = xcalloc(MAX_MORE + 2, sizeof(*rows));
	struct assignment a = { .rows = rows, .n = 1 };

	if (read_assignment(&a, rows, &doc, body, err))
		return -1;
	holdings_assign(h, &a);
	return 0;
}

/* An assignment of upstream's head: files, loaded in the order of their names. */
static int do_put_files(struct worker *w, struct grpc_call *call, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct index index = { 0 };
	struct rows rows = { 0 };
	struct assignment a = { .rows = &rows, .n = 1 };
	struct iovec message;
	bool done = false;

	while (!done && grpc_next(call, &message))
		if (index_read(&index, message, &done, &arena, err))
			return -1;
	if (!done || !index.n_files)
		return error_set(err, ERR_FORMAT, "no files in upstream's index table");
	rows.first = rows.end = index.first;
	a.files = index.files;
	a.n_files = index.n_files;
	holdings_assign(w->holdings, &a);
	return 0;
}

/* ---- methods ----------------------------------------------------------------------- */

static void fail(struct grpc_call *call, const struct error *err, enum grpc_code other)
{
	grpc_fail(call,
		  err->kind == ERR_INVALID  ? GRPC_INVALID_ARGUMENT
		  : err->kind == ERR_DENIED ? GRPC_PERMISSION_DENIED
					    : other,
		  "%s", err->msg);
}

static bool begin_put(void *ctx, struct grpc_call *call)
{
	struct worker *w = ctx;
	struct error err = { 0 };
	int rc = claim_check(w->claim, grpc_metadata(call, CLAIM_HEADER), true, &err);

	if (rc)
		fail(call, &err, GRPC_INTERNAL);
	return !rc;
}

/* Answer before the rows are loaded: upstream's head ends the call after 60 s. */
static void do_put(void *ctx, struct grpc_call *call)
{
	struct error err = { 0 };

	if (do_put_files(ctx, call, &err))
		fail(call, &err, GRPC_INVALID_ARGUMENT);
	else
		grpc_send(call, "", 0);
}

/* Check the caller's claim, which a head renews by polling "health". */
static int answer_head(struct worker *w, const char *claim, bool assigns,
		       struct iovec body, struct error *err)
{
	int rc = claim_check(w->claim, claim, false, err);

	if (assigns)
		return rc ? rc : do_assign(w->holdings, body, err);
	if (!rc)
		holdings_report(w->holdings);
	return 0;
}

int worker_action(struct worker *w, struct iovec message, const char *claim, cJSON **ret,
		  struct error *err)
{
	char type[FLIGHT_ACTION_MAX];
	struct iovec body;
	bool assigns;

	if (flight_action(type, &body, message, err)) {
		err->kind = ERR_INVALID;
		return -1;
	}
	assigns = str_eq(type, ACTION_ASSIGN);
	if (!assigns && !str_eq(type, ACTION_STATS) && !str_eq(type, ACTION_HEALTH))
		return error_set(err, ERR_UNSUPPORTED, "action '%s' does not exist",
				 type);
	if (!str_eq(type, ACTION_STATS) && answer_head(w, claim, assigns, body, err))
		return -1;
	*ret = holdings_describe(w->holdings);
	return 0;
}

static void do_action(void *ctx, struct grpc_call *call)
{
	cleanup_json cJSON *doc = NULL;
	struct error err = { 0 };
	struct iovec message;

	if (!flight_message(call, &message))
		return;
	if (worker_action(ctx, message, grpc_metadata(call, CLAIM_HEADER), &doc, &err))
		fail(call, &err,
		     err.kind == ERR_UNSUPPORTED ? GRPC_UNIMPLEMENTED : GRPC_INTERNAL);
	else
		cache_reply_json(call, doc);
}

int worker_read(struct worker *w, struct iovec message, enum ipc_codec codec, void **ret,
		struct error *err)
{
	struct iovec bytes;
	struct ticket ticket;

	if (flight_ticket(&bytes, message, err) || ticket_read(&ticket, bytes, err))
		return error_set(err, ERR_INVALID, "Invalid ticket format");
	return holdings_read(w->holdings, &ticket, codec, ret, err);
}

static void do_get(void *ctx, struct grpc_call *call)
{
	struct grpc_source source = { .next = memtable_read_next,
				      .release = memtable_read_release };
	struct error err = { 0 };
	struct iovec message;
	enum ipc_codec codec;

	if (!flight_message(call, &message) || !flight_codec(call, &codec))
		return;
	source.held = message.iov_len * VIEW_COST;
	if (worker_read(ctx, message, codec, &source.ctx, &err))
		fail(call, &err, GRPC_UNAVAILABLE);
	else
		grpc_send_from(call, &source);
}

static const struct grpc_method methods[] = {
	{ FLIGHT "DoGet", do_get, 0, NULL },
	{ FLIGHT "DoPut", do_put, CACHE_MAX_REQUEST, begin_put },
	{ FLIGHT "DoAction", do_action, 0, NULL },
	{ NULL, NULL, 0, NULL },
};

static bool is_ready(void *ctx)
{
	const struct worker *w = ctx;

	return holdings_ready(w->holdings);
}

int cache_worker_run(const struct cache_conf *conf, struct error *err)
{
	struct worker w = { holdings_new(conf), claim_new(conf) };
	const struct cache_servers_conf servers = { conf, methods, is_ready, &w };
	int rc = holdings_start(w.holdings, err) || cache_servers_run(&servers, err) ? -1
										     : 0;

	holdings_free(w.holdings);
	claim_free(w.claim);
	return rc;
}
