/* cache_nodes.c - head and workers as processes that start, poll, load and die. */
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/protobuf.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "cache/flight.h"
#include "tests/sim/cache.h"

enum { SLICE_MS = 400, STEP_MS = 5, NOTICED_MS = 15 * 1000 };

/* ---- a worker's rows ---- */

static int64_t rows_held(const struct holdings *h)
{
	int64_t n = 0;

	for (size_t i = 0; i < h->now.n; i++)
		if (h->now.list[i].table)
			n += h->now.list[i].rows.end - h->now.list[i].rows.first;
	return n;
}

static void begin_load(struct node *n, struct holding *it)
{
	struct cache *c = n->c;
	bool slow = it && PERCENT(c, c->slow);

	n->it = it;
	n->left = it ? it->rows.end - it->rows.first : 0;
	n->left *= slow ? 1 + sim_dice(c->sim, 2000) : 1;
}

/* Ends the load: stopped, failed, too large, or with the rows. */
static void end_load(struct node *n)
{
	struct cache *c = n->c;
	struct holdings *h = n->worker.holdings;
	struct rows rows = n->it->rows;
	struct error err = { 0 };

	if (h->cancel)
		error_set(&err, ERR_STOPPED, "loading was interrupted");
	else if ((!c->calm && c->storage_down) || PERCENT(c, c->fail))
		error_set(&err, ERR_IO, "the storage does not answer");
	else if (rows_held(h) + rows.end - rows.first > c->room)
		error_set(&err, ERR_LIMIT, "the rows need more memory");
	if (err.kind == ERR_IO || err.kind == ERR_LIMIT)
		cache_fault(c, "worker %d cannot load: %s", n->i, err.msg);
	holdings_end(h, n->it, err.kind ? NULL : lake_load(c, rows), &err);
	begin_load(n, holdings_begin(h, n->it));
}

static void on_load(void *ctx)
{
	struct node *n = ctx;
	struct holdings *h = n->worker.holdings;

	n->loads = false;
	if (n->dead)
		return;
	n->left -= SLICE_MS;
	if (n->it && (n->left <= 0 || h->cancel)) {
		end_load(n);
	} else if (n->it) {
		h->loaded += 1;
	} else if (h->next) {
		holdings_next(h);
		begin_load(n, holdings_begin(h, NULL));
	}
	node_load(n);
}

void node_load(struct node *n)
{
	bool waits = n->worker.holdings->next && !n->it;

	if (n->loads || (!n->it && !waits))
		return;
	n->loads = true;
	sim_after(n->c->sim, waits || n->left < SLICE_MS ? STEP_MS : SLICE_MS, on_load,
		  n);
}

void node_start(struct cache *c, int i)
{
	struct node *n = arena_alloc(&c->arena, sizeof(*n));

	n->c = c;
	n->i = i;
	n->worker.holdings = holdings_new(&c->conf);
	n->worker.claim = claim_new(&c->conf);
	c->nodes[i] = n;
	sim_note(c->sim, "worker %d starts", i);
}

void node_kill(struct cache *c, int i)
{
	struct node *n = c->nodes[i];

	if (!n)
		return;
	n->dead = true;
	holdings_free(n->worker.holdings);
	claim_free(n->worker.claim);
	c->nodes[i] = NULL;
}

/* ---- the head's polls ---- */

static void on_poll(void *ctx);

static int keep(void *ctx, const void *data, size_t len, struct error *err)
{
	struct poller *p = ctx;
	struct iovec body;

	if (pb_bytes(&body, (struct iovec){ (void *)(uintptr_t)data, len }, 1, err))
		return -1;
	cJSON_Delete(STEAL(p->doc));
	return json_parse(&p->doc, body.iov_base, body.iov_len, err);
}

static void ask(struct poller *p, const char *action, const char *body,
		void (*on_end)(void *ctx, int rc, const struct error *err))
{
	struct cache *c = p->leader->c;
	cleanup_buf struct buf message = { .max = SIZE_MAX / 2 };

	pb_put_str(&message, 1, action);
	pb_put_str(&message, 2, body);
	p->call = call_new(c, p->i, FLIGHT "DoAction",
			   &(struct iovec){ message.data, message.len });
	snprintf(p->call->claim, sizeof(p->call->claim), "%s", p->r->fleet->secret);
	p->call->on_message = keep;
	p->call->on_end = on_end;
	p->call->ctx = p;
	call_send(p->call);
}

static void end_poll(struct poller *p)
{
	struct cache *c = p->leader->c;
	bool was = p->r->ready;

	cJSON_Delete(STEAL(p->doc));
	fleet_poll_end(p->r, p->ready, p->trouble);
	if (was != p->r->ready)
		sim_note(c->sim, "head: worker %d is %s", p->i,
			 p->r->ready ? "ready" : p->trouble);
	leader_check(c);
	sim_after(c->sim, p->ready ? FLEET_READY_POLL_MS : FLEET_POLL_MS, on_poll, p);
}

static void on_assigned(void *ctx, int rc, const struct error *err)
{
	struct poller *p = ctx;

	p->call = NULL;
	if (rc && !p->ready)
		snprintf(p->trouble, sizeof(p->trouble), "%s", err->msg);
	end_poll(p);
}

static void on_health(void *ctx, int rc, const struct error *err)
{
	struct poller *p = ctx;
	bool wants = false;

	p->call = NULL;
	if (rc)
		p->ready = fleet_poll_silence(p->r, err->msg, p->trouble);
	else
		p->ready = fleet_poll_answer(p->r, p->doc, &wants, p->trouble);
	if (wants) {
		cleanup_free char *text = fleet_assignment(p->r);

		ask(p, ACTION_ASSIGN, text, on_assigned);
	} else {
		end_poll(p);
	}
}

static void on_poll(void *ctx)
{
	struct poller *p = ctx;

	if (p->leader->dead)
		return;
	fleet_poll_begin(p->r);
	ask(p, ACTION_HEALTH, "", on_health);
}

void leader_start(struct cache *c)
{
	struct leader *l = arena_alloc(&c->arena, sizeof(*l));
	struct error err = { 0 };

	l->c = c;
	l->head = (struct head){ .table = &c->lake.table, .scheme = FLIGHT_PLAIN };
	if (fleet_new(&l->head.fleet, &c->conf, &c->lake.table, &err))
		abort();
	for (int i = 0; i < c->conf.n_workers; i++) {
		struct poller *p = &l->pollers[i];

		*p = (struct poller){ .leader = l, .i = i };
		p->r = &l->head.fleet->remotes[i];
		sim_after(c->sim, 1 + sim_dice(c->sim, 50), on_poll, p);
	}
	c->leader = l;
	sim_note(c->sim, "the head starts");
}

void leader_kill(struct cache *c)
{
	struct leader *l = c->leader;

	if (!l)
		return;
	l->dead = true;
	for (int i = 0; i < c->conf.n_workers; i++) {
		call_cancel(l->pollers[i].call);
		cJSON_Delete(l->pollers[i].doc);
	}
	fleet_free(l->head.fleet);
	c->leader = NULL;
}

/* ---- invariants ---- */

/* The loans of a worker are its rows, in order. */
static void check_loans(struct cache *c, const struct remote *r)
{
	int64_t next = r->rows.first;

	for (size_t k = 0; k < r->n_loans; k++) {
		if (r->loans[k].rows.first != next || !r->loans[k].holder)
			sim_broken(c->sim, "loan %zu does not begin at row %lld", k,
				   (long long)next);
		next = r->loans[k].rows.end;
	}
	if (r->n_loans && next != r->rows.end)
		sim_broken(c->sim, "loans end at row %lld", (long long)next);
}

void leader_check(struct cache *c)
{
	const struct fleet *f = c->leader ? c->leader->head.fleet : NULL;
	int64_t next = 0;

	for (int i = 0; f && i < f->n_remotes; i++) {
		check_loans(c, &f->remotes[i]);
		if (f->remotes[i].rows.first != next)
			sim_broken(c->sim, "worker %d does not begin at row %lld", i,
				   (long long)next);
		next = f->remotes[i].rows.end;
	}
	if (f && next != f->rows)
		sim_broken(c->sim, "no worker has row %lld", (long long)next);
}

bool leader_settled(struct cache *c)
{
	const struct fleet *f = c->leader ? c->leader->head.fleet : NULL;

	if (c->copied_ms && clock_ms() - c->copied_ms < NOTICED_MS)
		return false;
	for (int i = 0; f && i < f->n_remotes; i++)
		if (!f->remotes[i].ready && !f->remotes[i].n_loans &&
		    f->remotes[i].rows.first < f->remotes[i].rows.end)
			return false;
	return f != NULL;
}
