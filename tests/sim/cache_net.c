/* cache_net.c - calls that are lost, repeated, late, refused or cut. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/protobuf.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "cache/flight.h"
#include "tests/sim/cache.h"

enum { INFO_ENDPOINT = 3, ENDPOINT_LOCATION = 2 };
enum {
	CALL_MS = 10 * 1000,
	RESET_MS = 30 * 1000,
	LATE_MS = 20 * 1000,
	CLAIM_MS = 10 * 1000
};

static void release(struct call *call)
{
	if (--call->events)
		return;
	if (call->reading)
		memtable_read_release(call->reading);
	buf_release(&call->message);
	buf_release(&call->answer);
	free(call);
}

static void later(struct call *call, int64_t ms, void (*run)(void *ctx))
{
	call->events++;
	sim_after(call->c->sim, ms, run, call);
}

static void stop_reading(struct call *call)
{
	if (call->reading)
		memtable_read_release(STEAL(call->reading));
}

static void end(struct call *call, int rc, const struct error *err)
{
	if (call->ended)
		return;
	call->ended = true;
	stop_reading(call);
	call->on_end(call->ctx, rc, err);
}

static void fail(struct call *call, const char *why)
{
	struct error err = { 0 };

	error_set(&err, ERR_IO, "%s", why);
	end(call, -1, &err);
}

static bool is_apart(const struct call *call)
{
	int from = call->claim[0] ? HEAD : call->to;

	return call->c->apart[from][call->to];
}

static int64_t latency(struct cache *c)
{
	if (PERCENT(c, c->delay))
		return sim_dice(c->sim, 12 * 1000);
	return 1 + sim_dice(c->sim, 20);
}

/* ---- answers ---- */

static void on_reset(void *ctx)
{
	struct call *call = ctx;

	if (!call->ended)
		cache_fault(call->c, "a call to %d has no answer in time", call->to);
	fail(call, "no answer in time");
	release(call);
}

static void on_answer(void *ctx)
{
	struct call *call = ctx;
	struct error err = { 0 };
	int rc = -1;

	if (!call->ended && call->err.kind)
		end(call, -1, &call->err);
	if (!call->ended)
		rc = call->on_message(call->ctx, call->answer.data, call->answer.len,
				      &err);
	end(call, rc, &err);
	release(call);
}

/* Messages of a piece, each with its prefix. */
static int take(struct call *call, const struct h2_piece *piece, struct error *err)
{
	const uint8_t *at = piece->data, *stop = at + piece->len;

	while (at < stop) {
		size_t len = (size_t)at[1] << 24 | at[2] << 16 | at[3] << 8 | at[4];

		at += GRPC_PREFIX;
		if (call->on_message(call->ctx, at, len, err))
			return -1;
		at += len;
	}
	return 0;
}

static void on_stream(void *ctx)
{
	struct call *call = ctx;
	struct h2_piece piece = { 0 };
	struct error err = { 0 };
	int rc = 0;

	if (call->ended || call->node->dead || is_apart(call) ||
	    PERCENT(call->c, call->c->cut)) {
		fail(call, "connection reset");
		release(call);
		return;
	}
	memtable_read_next(call->reading, &piece);
	if (piece.len)
		rc = take(call, &piece, &err);
	free(piece.take);
	if (rc || !piece.len)
		end(call, rc, &err);
	else
		later(call, latency(call->c), on_stream);
	release(call);
}

/* ---- requests ---- */

/* Another location for each endpoint: any worker, which may not have the rows. */
static void add_locations(struct cache *c, struct buf *info)
{
	struct pb_reader in = pb_read(info->data, info->len);
	struct buf out = { .max = SIZE_MAX / 2 };
	struct pb_field f;
	struct error err = { 0 };

	while (pb_more(&in) && !pb_next(&in, &f, &err)) {
		cleanup_buf struct buf e = { .max = SIZE_MAX / 2 }, at = { .max = 100 };
		char uri[] = FLIGHT_PLAIN "w0:1";

		uri[sizeof(FLIGHT_PLAIN)] += (char)sim_dice(c->sim, c->conf.n_workers);
		pb_put_str(&at, 1, uri);
		if (f.number != INFO_ENDPOINT) {
			if (f.data)
				pb_put_bytes(&out, f.number, f.data, f.len);
			else
				pb_put_uint(&out, f.number, f.value);
			continue;
		}
		buf_add(&e, f.data, f.len);
		pb_put_bytes(&e, ENDPOINT_LOCATION, at.data, at.len);
		pb_put_bytes(&out, INFO_ENDPOINT, e.data, e.len);
	}
	buf_release(info);
	*info = out;
}

static void ask_head(struct call *call)
{
	const struct iovec message = { call->message.data, call->message.len };
	struct cache *c = call->c;

	call->lake = c->leader->lake;
	call->answer.max = SIZE_MAX / 2;
	if (!head_info(&c->leader->head, message, &call->answer, &call->err) &&
	    c->mirrors)
		add_locations(c, &call->answer);
}

/* What a worker says: a load that was interrupted has not failed. */
static void check_words(const struct node *n)
{
	const struct holdings_set *now = &n->worker.holdings->now;

	for (size_t i = 0; i < now->n; i++)
		if (str_eq(now->list[i].error, STOPPED))
			sim_broken(n->c->sim, "worker %d says: %s", n->i, STOPPED);
}

/* A worker does not obey a head that has died while it hears the one that runs. */
static void check_claim(const struct call *call, int rc)
{
	struct cache *c = call->c;
	struct node *n = c->nodes[call->to];
	bool runs = c->leader && str_eq(call->claim, c->leader->head.fleet->secret);

	if (rc || c->conf.head_auth.judge ||
	    call->message.len < sizeof(ACTION_ASSIGN) + 1 ||
	    memcmp(call->message.data + 2, ACTION_ASSIGN, sizeof(ACTION_ASSIGN) - 1) != 0)
		return;
	if (runs)
		n->obeyed_ms = clock_ms();
	else if (c->leader && n->obeyed_ms && clock_ms() - n->obeyed_ms < CLAIM_MS)
		sim_broken(c->sim, "worker %d obeys a head that has died", n->i);
}

/* The body of an answer to an action, as cache_reply_json() sends it. */
static void act(struct call *call, struct node *n, bool again)
{
	const struct iovec message = { call->message.data, call->message.len };
	cleanup_free char *text = NULL;
	struct error err = { 0 };
	cJSON *doc = NULL;
	int rc;

	if (!again)
		call->node = n;
	rc = n->i == n->c->theirs
		     ? error_set(&err, ERR_UNSUPPORTED, "there are no actions")
		     : worker_action(&n->worker, message, call->claim, &doc, &err);
	check_words(n);
	check_claim(call, rc);
	if (rc) {
		call->err = again ? call->err : err;
		return;
	}
	text = json_text(doc);
	cJSON_Delete(doc);
	call->answer.max = SIZE_MAX / 2;
	if (!again)
		pb_put_str(&call->answer, 1, text);
	node_load(n);
}

static void read_rows(struct call *call, struct node *n)
{
	const struct iovec message = { call->message.data, call->message.len };

	if (worker_read(&n->worker, message, IPC_PLAIN, &call->reading, &call->err))
		return;
	call->node = n;
}

/* Upstream's worker is asked for its rows, and for its files if it has none. */
static void put_files(struct call *call, struct node *n)
{
	struct rows rows;

	memcpy(&rows, call->message.data, sizeof(rows));
	call->node = n;
	if (n->i != n->c->theirs)
		error_set(&call->err, ERR_IO, "no files are put here");
	else if (!node_put(n, rows, &call->err))
		call->answer.max = SIZE_MAX / 2;
	node_load(n);
}

static void on_request(void *ctx)
{
	struct call *call = ctx;
	struct cache *c = call->c;
	struct node *n = call->to == HEAD ? NULL : c->nodes[call->to];

	if (call->ended || is_apart(call)) {
		release(call);
		return;
	}
	if (call->to == HEAD ? !c->leader : !n) {
		fail(call, "connection refused");
		release(call);
		return;
	}
	call->served_ms = clock_ms();
	call->faults = leader_settled(c) ? c->faults : UINT64_MAX;
	if (call->to == HEAD)
		ask_head(call);
	else if (str_ends(call->path, "DoPut"))
		put_files(call, n);
	else if (str_ends(call->path, "DoGet"))
		read_rows(call, n);
	else
		act(call, n, false);
	if (PERCENT(c, c->lose)) {
		cache_fault(c, "an answer of %d is lost", call->to);
		stop_reading(call);
	} else {
		later(call, latency(c), call->reading ? on_stream : on_answer);
	}
	release(call);
}

/* A copy of the request arrives late, even if its caller has ended. */
static void on_copy(void *ctx)
{
	struct call *call = ctx;
	struct node *n = call->c->nodes[call->to];

	if (n) {
		cache_fault(call->c, "a request to %d arrives again", call->to);
		call->c->copied_ms = clock_ms();
		act(call, n, true);
	}
	release(call);
}

struct call *call_new(struct cache *c, int to, const char *path, const struct iovec *body)
{
	struct call *call = xcalloc(1, sizeof(*call));

	call->c = c;
	call->to = to;
	call->path = path;
	call->message.max = SIZE_MAX / 2;
	buf_add(&call->message, body->iov_base, body->iov_len);
	return call;
}

void call_send(struct call *call)
{
	struct cache *c = call->c;

	c->calls++;
	later(call, call->claim[0] ? CALL_MS : RESET_MS, on_reset);
	if (PERCENT(c, c->lose))
		cache_fault(c, "a request to %d is lost", call->to);
	else
		later(call, latency(c), on_request);
	if (call->claim[0] && PERCENT(c, c->repeat))
		later(call, sim_dice(c->sim, LATE_MS), on_copy);
}

void call_cancel(struct call *call)
{
	if (!call)
		return;
	call->ended = true;
	stop_reading(call);
}
