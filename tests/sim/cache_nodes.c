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

enum {
	SLICE_MS = 400,
	SLOWEST_MS = 40 * 1000,
	STEP_MS = 5,
	NOTICED_MS = 15 * 1000,
	STAY_MS = 10 * 1000
};

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
	n->left = n->left < SLOWEST_MS ? n->left : SLOWEST_MS;
}

/* Loads of a worker that may fail: own rows are tried again after a while, as loans. */
static int failures(const struct node *n)
{
	return 20 + (int)((clock_ms() - n->started_ms) / 500);
}

/* Ends the load: stopped, failed, too large, or with the rows. */
static void end_load(struct node *n)
{
	struct cache *c = n->c;
	struct holdings *h = n->worker.holdings;
	struct rows rows = n->it->rows;
	struct error err = { 0 };

	if (h->cancel)
		error_set(&err, ERR_STOPPED, STOPPED);
	else if ((!c->calm && c->storage_down) || PERCENT(c, c->fail))
		error_set(&err, ERR_IO, "the storage does not answer");
	else if (rows_held(h) + rows.end - rows.first > c->room)
		error_set(&err, ERR_LIMIT, "the rows need more memory");
	else if (!n->it->files && holdings_check(h, &c->lake->table, &err))
		sim_note(c->sim, "worker %d finds another table", n->i);
	if (err.kind && err.kind != ERR_STOPPED && n->failed++ > failures(n))
		sim_broken(c->sim, "worker %d has tried to load %d times", n->i,
			   n->failed);
	if (err.kind && err.kind != ERR_STOPPED)
		cache_fault(c, "worker %d cannot load: %s", n->i, err.msg);
	holdings_end(h, n->it, err.kind ? NULL : lake_load(c, n->it), &err);
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
	n->started_ms = clock_ms();
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

bool node_has(const struct node *n, struct rows rows)
{
	const struct holdings_set *now = &n->worker.holdings->now;

	for (size_t i = 0; i < now->n; i++)
		if (now->list[i].table && now->list[i].rows.first <= rows.first &&
		    rows.end <= now->list[i].rows.end)
			return true;
	return rows.first == rows.end;
}

int node_put(struct node *n, struct rows rows, struct error *err)
{
	const struct table *t = &n->c->lake->table;
	char *files[CACHE_FILES];
	struct assignment a = { .rows = &rows, .n = 1, .files = files };

	if (node_has(n, rows))
		return 0;
	if (n->put_ms && clock_ms() - n->put_ms < FAILED_MS)
		return error_set(err, ERR_BUSY, "it has not loaded its files");
	n->put_ms = clock_ms();
	for (size_t i = 0; i < t->n_units; i++) {
		char *file = (char *)(uintptr_t)t->units[i].file->path;

		if (rows_meet(t->units[i].rows, rows).end &&
		    (!a.n_files || files[a.n_files - 1] != file))
			files[a.n_files++] = file;
	}
	holdings_assign(n->worker.holdings, &a);
	return error_set(err, ERR_BUSY, "it has not loaded its files");
}

/* ---- the head's polls ---- */

static void on_poll(void *ctx);

static int keep(void *ctx, const void *data, size_t len, struct error *err)
{
	struct poller *p = ctx;
	struct iovec body;

	if (!len) /* of DoPut */
		return 0;
	if (pb_bytes(&body, (struct iovec){ (void *)(uintptr_t)data, len }, 1, err))
		return -1;
	cJSON_Delete(STEAL(p->doc));
	return json_parse(&p->doc, body.iov_base, body.iov_len, err);
}

static void send(struct poller *p, const char *path, const struct iovec *message,
		 void (*on_end)(void *ctx, int rc, const struct error *err))
{
	p->call = call_new(p->leader->c, p->i, path, message);
	snprintf(p->call->claim, sizeof(p->call->claim), "%s",
		 p->leader->conf.head_auth.judge ? TOKEN : p->r->fleet->secret);
	p->call->on_message = keep;
	p->call->on_end = on_end;
	p->call->ctx = p;
	call_send(p->call);
}

static void ask(struct poller *p, const char *action, const char *body,
		void (*on_end)(void *ctx, int rc, const struct error *err))
{
	cleanup_buf struct buf message = { .max = SIZE_MAX / 2 };

	pb_put_str(&message, 1, action);
	pb_put_str(&message, 2, body);
	send(p, FLIGHT "DoAction", &(struct iovec){ message.data, message.len }, on_end);
}

/*
 * Rows are lent once all workers had theirs, if theirs does not answer; and until it has
 * had them for a while.
 */
static void check_lending(struct poller *p, bool lent)
{
	struct cache *c = p->leader->c;

	if (lent && !p->r->n_loans && clock_ms() - p->ready_ms < STAY_MS)
		sim_broken(c->sim,
			   "rows of worker %d are lent no more, for readers' old "
			   "tickets",
			   p->i);
	if (lent || !p->r->n_loans)
		return;
	if (clock_ms() - p->answered_ms < c->conf.takeover_ms)
		sim_broken(c->sim, "rows of worker %d are lent, but it answered", p->i);
	if (!c->was_ready && c->n_leaders == 1)
		sim_broken(c->sim, "rows of worker %d are lent before all had theirs",
			   p->i);
}

static void end_poll(struct poller *p)
{
	struct cache *c = p->leader->c;
	bool was = p->r->ready, lent = p->r->n_loans;

	cJSON_Delete(STEAL(p->doc));
	fleet_poll_end(p->r, p->ready, p->trouble);
	p->node = p->answers;
	if (!was)
		p->ready_ms = clock_ms();
	check_lending(p, lent);
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

static void record_answer(struct poller *p, int rc, const struct error *err)
{
	struct node *n = STEAL(p->call)->node;

	if (rc && err->kind == ERR_IO)
		return;
	p->answers = n;
	p->answered_ms = clock_ms();
}

/* As upstream_poll(). */
static void on_put(void *ctx, int rc, const struct error *err)
{
	struct poller *p = ctx;
	bool answers = !rc || err->kind == ERR_BUSY;

	record_answer(p, rc, err);
	p->ready = !rc;
	p->trouble[0] = 0;
	p->r->unanswered_ms = 0;
	if (!answers)
		p->ready = fleet_poll_silence(p->r, err->msg, p->trouble);
	p->r->upstream = answers;
	end_poll(p);
}

static void on_health(void *ctx, int rc, const struct error *err)
{
	struct poller *p = ctx;
	bool wants = false;

	record_answer(p, rc, err);
	if (rc && err->kind == ERR_UNSUPPORTED) {
		if (!p->r->fleet->by_files)
			cache_fault(p->leader->c, "head: whole files from now on");
		p->ready = fleet_poll_upstream(p->r, p->trouble);
	} else if (rc) {
		p->ready = fleet_poll_silence(p->r, err->msg, p->trouble);
	} else {
		p->ready = fleet_poll_answer(p->r, p->doc, &wants, p->trouble);
	}
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
	if (p->r->upstream)
		send(p, FLIGHT "DoPut",
		     &(struct iovec){ &p->r->polled_rows, sizeof(struct rows) }, on_put);
	else
		ask(p, ACTION_HEALTH, "", on_health);
}

void leader_start(struct cache *c)
{
	struct leader *l = arena_alloc(&c->arena, sizeof(*l));
	struct error err = { 0 };

	l->c = c;
	l->lake = c->lake;
	l->conf = c->conf;
	if (c->snapshots)
		l->conf.snapshot = c->lake == c->lakes ? "before" : "after";
	l->head = (struct head){ .table = &l->lake->table, .scheme = FLIGHT_PLAIN };
	if (fleet_new(&l->head.fleet, &l->conf, &l->lake->table, &err))
		abort();
	c->n_leaders++;
	for (int i = 0; i < c->conf.n_workers; i++)
		if (c->nodes[i])
			c->nodes[i]->obeyed_ms = 0;
	for (int i = 0; i < c->conf.n_workers; i++) {
		struct poller *p = &l->pollers[i];

		*p = (struct poller){ .leader = l, .i = i, .answered_ms = clock_ms() };
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

/* Has a late copy of an old assignment arrived, which the head has yet to notice? */
static bool is_copied(const struct cache *c)
{
	return c->copied_ms && clock_ms() - c->copied_ms < NOTICED_MS;
}

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

/* Has the worker these rows, as the head says, unless something befell it since? */
static void check_words(struct cache *c, const struct remote *r, struct rows rows)
{
	const struct poller *p = &c->leader->pollers[r - c->leader->head.fleet->remotes];

	if (is_copied(c) || !p->node || c->nodes[p->i] != p->node ||
	    node_has(p->node, rows))
		return;
	sim_broken(c->sim, "the head says that worker %d has rows %lld to %lld", p->i,
		   (long long)rows.first, (long long)rows.end - 1);
}

static void check_ready(struct cache *c, const struct remote *r)
{
	if (r->ready)
		check_words(c, r, r->rows);
	for (size_t k = 0; !r->ready && k < r->n_loans; k++)
		if (r->loans[k].ready && r->loans[k].holder->ready)
			check_words(c, r->loans[k].holder, r->loans[k].rows);
}

void leader_check(struct cache *c)
{
	const struct fleet *f = c->leader ? c->leader->head.fleet : NULL;
	int64_t next = 0;
	int n_ready = 0;

	for (int i = 0; f && i < f->n_remotes; i++) {
		check_loans(c, &f->remotes[i]);
		check_ready(c, &f->remotes[i]);
		n_ready += f->remotes[i].ready;
		if (f->remotes[i].rows.first != next)
			sim_broken(c->sim, "worker %d does not begin at row %lld", i,
				   (long long)next);
		next = f->remotes[i].rows.end;
	}
	c->was_ready = c->was_ready || (f && n_ready == f->n_remotes);
	if (f && next != f->rows)
		sim_broken(c->sim, "no worker has row %lld", (long long)next);
}

/* The head has yet to notice that the process that said so is gone. */
static bool is_behind(const struct cache *c, const struct remote *r)
{
	const struct poller *p = &c->leader->pollers[r - c->leader->head.fleet->remotes];

	return r->ready && c->nodes[p->i] != p->node;
}

bool leader_settled(struct cache *c)
{
	const struct fleet *f = c->leader ? c->leader->head.fleet : NULL;

	if (is_copied(c))
		return false;
	for (int i = 0; f && i < f->n_remotes; i++)
		if (is_behind(c, &f->remotes[i]) ||
		    (!f->remotes[i].ready && !f->remotes[i].n_loans &&
		     f->remotes[i].rows.first < f->remotes[i].rows.end))
			return false;
	return f != NULL;
}
