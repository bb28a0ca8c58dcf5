/* worker.c - a worker of the data cache (cache/serve.h). */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "cache/claim.h"
#include "cache/flight.h"
#include "cache/holdings.h"
#include "cache/index.h"
#include "cache/memtable.h"
#include "cache/serve_impl.h"
#include "cache/ticket.h"

enum { MAX_MORE = 4096 }; /* maximum of loans */

struct worker {
	struct holdings *holdings;
	struct claim *claim;
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

/* Check the caller's claim, which a head renews by polling "health". */
static int check_claim(struct worker *w, const struct grpc_call *call, bool puts,
		       struct error *err)
{
	return claim_check(w->claim, grpc_metadata(call, CLAIM_HEADER), puts, err);
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
	return holdings_assign(h, &a, err);
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
	return holdings_assign(w->holdings, &a, err);
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
	struct error err = { 0 };
	int rc = check_claim(ctx, call, true, &err);

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

/* Answer the head's actions; the answer has the worker's state. */
static int answer_head(struct worker *w, struct grpc_call *call, const char *type,
		       struct iovec body, struct error *err)
{
	if (str_eq(type, ACTION_ASSIGN))
		return check_claim(w, call, false, err) ||
				       do_assign(w->holdings, body, err)
			       ? -1
			       : 0;
	if (!check_claim(w, call, false, IGNORED))
		holdings_report(w->holdings);
	return 0;
}

static void do_action(void *ctx, struct grpc_call *call)
{
	struct worker *w = ctx;
	char type[FLIGHT_ACTION_MAX];
	struct error err = { 0 };
	struct iovec message, body;
	cleanup_json cJSON *doc = NULL;

	if (!flight_message(call, &message))
		return;
	if (flight_action(type, &body, message, &err)) {
		grpc_fail(call, GRPC_INVALID_ARGUMENT, "%s", err.msg);
	} else if (!str_eq(type, ACTION_STATS) && !str_eq(type, ACTION_HEALTH) &&
		   !str_eq(type, ACTION_ASSIGN)) {
		grpc_fail(call, GRPC_UNIMPLEMENTED, "action '%s' does not exist", type);
	} else if (!str_eq(type, ACTION_STATS) &&
		   answer_head(w, call, type, body, &err)) {
		fail(call, &err, GRPC_INTERNAL);
	} else {
		doc = holdings_describe(w->holdings);
		cache_reply_json(call, doc);
	}
}

static void do_get(void *ctx, struct grpc_call *call)
{
	struct worker *w = ctx;
	struct grpc_source source = { .next = memtable_read_next,
				      .release = memtable_read_release };
	struct iovec message, ticket;
	enum ipc_codec codec;
	struct error err = { 0 };
	struct rows rows;

	if (!flight_message(call, &message) || !flight_codec(call, &codec))
		return;
	if (flight_ticket(&ticket, message, &err) ||
	    ticket_read(&rows, ticket.iov_base, ticket.iov_len, &err)) {
		grpc_fail(call, GRPC_INVALID_ARGUMENT, "Invalid ticket format");
		return;
	}
	if (holdings_read(w->holdings, rows, ticket_view(ticket.iov_base, ticket.iov_len),
			  codec, &source.ctx, &err))
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
	int rc = cache_servers_run(&servers, err);

	holdings_free(w.holdings);
	claim_free(w.claim);
	return rc;
}
