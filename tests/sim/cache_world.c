/* cache_world.c - runs one schedule of world two (cache.h). */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "tests/sim/cache.h"

enum {
	CALM_MS = 40 * 1000,   /* at most, after which nothing fails anymore */
	BOUND_MS = 120 * 1000, /* after that, all readers have ended */
	REST_MS = 60 * 1000,   /* then all is as at the beginning */
	PAUSE_MS = 12 * 1000,  /* between faults, at most */
	AWAY_MS = 30 * 1000,
	LOOK_MS = 3 * 1000,
	CALLS_PER_S = 25, /* of a head to a worker, at most */
};

void cache_fault(struct cache *c, const char *fmt, ...)
{
	char text[200];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	c->faults++;
	sim_note(c->sim, "%s", text);
}

/* ---- faults: each ends after a while ---- */

struct fault {
	struct cache *c;
	int a, b;
};

static struct fault *fault(struct cache *c, int a, int b)
{
	struct fault *f = arena_alloc(&c->arena, sizeof(*f));

	*f = (struct fault){ c, a, b };
	return f;
}

static void on_return(void *ctx)
{
	const struct fault *f = ctx;

	if (f->c->over || f->a == f->c->away)
		return;
	if (f->a == HEAD && !f->c->leader)
		leader_start(f->c);
	else if (f->a != HEAD && !f->c->nodes[f->a])
		node_start(f->c, f->a);
}

static void kill_one(struct cache *c)
{
	int i = (int)sim_dice(c->sim, c->conf.n_workers + 1);
	int64_t away = 10 + sim_dice(c->sim, sim_dice(c->sim, 2) ? 1000 : AWAY_MS);

	i = i == c->conf.n_workers ? HEAD : i;
	cache_fault(c, "%s %d dies for %lld ms", i == HEAD ? "head" : "worker", i,
		    (long long)away);
	if (i == HEAD)
		leader_kill(c);
	else
		node_kill(c, i);
	sim_after(c->sim, away, on_return, fault(c, i, 0));
}

static void on_joined(void *ctx)
{
	const struct fault *f = ctx;

	f->c->apart[f->a][f->b] = false;
}

static void part(struct cache *c)
{
	int to = sim_dice(c->sim, c->conf.n_workers);
	int from = sim_dice(c->sim, 2) ? HEAD : to;

	c->apart[from][to] = true;
	cache_fault(c, "worker %d does not hear %s", to,
		    from == HEAD ? "the head" : "readers");
	sim_after(c->sim, sim_dice(c->sim, AWAY_MS), on_joined, fault(c, from, to));
}

static void on_storage(void *ctx)
{
	const struct fault *f = ctx;

	f->c->storage_down = false;
}

static void lose_storage(struct cache *c)
{
	c->storage_down = true;
	cache_fault(c, "the storage does not answer");
	sim_after(c->sim, sim_dice(c->sim, AWAY_MS), on_storage, fault(c, 0, 0));
}

/* New files replace those of the table; the head that runs keeps to the old ones. */
static void replace(struct cache *c)
{
	if (!c->changes || c->lake == &c->lakes[1])
		return;
	c->lake = &c->lakes[1];
	cache_fault(c, "the table is replaced: %lld rows",
		    (long long)c->lake->table.rows);
}

static void on_fault(void *ctx)
{
	static void (*const faults[])(struct cache * c) = { kill_one,     kill_one,
							    kill_one,     part,
							    lose_storage, replace };
	struct cache *c = ctx;

	if (c->calm)
		return;
	faults[sim_dice(c->sim, N_ELEMENTS(faults))](c);
	sim_after(c->sim, PAUSE_MS - sim_dice(c->sim, PAUSE_MS), on_fault, c);
}

/* Has the worker its rows, as a head finds that restarts now? */
static bool has_own(const struct cache *c, int i)
{
	const struct fleet *f = c->leader->head.fleet;
	const struct node *n = c->nodes[i];

	return n && n->worker.holdings->now.list[0].table &&
	       str_eq(n->worker.holdings->now.table, f->table_name);
}

/* Of which worker can the others take the rows over? `anew`: the head has just started. */
static int choose_away(struct cache *c, bool anew)
{
	const struct fleet *f = c->leader->head.fleet;
	int n = c->conf.n_workers, away = sim_dice(c->sim, n), others = 0;

	if (!c->conf.takeover_ms || c->room != INT64_MAX || !sim_dice(c->sim, 2))
		return -1;
	for (int i = 0; i < n; i++)
		others += i != away && i != c->theirs &&
			  (anew ? has_own(c, i) : f->ever_ready || f->resumed);
	return others ? away : -1;
}

/* Faults end; one worker may remain away. */
static void on_calm(void *ctx)
{
	struct cache *c = ctx;
	int n = c->conf.n_workers, away;
	bool anew;

	if (c->over)
		return;
	if (c->leader && (c->leader->lake != c->lake || sim_dice(c->sim, 4) == 3)) {
		cache_fault(c, "the head dies");
		leader_kill(c);
	}
	c->calm = true;
	c->storage_down = false;
	memset(c->apart, 0, sizeof(c->apart));
	sim_note(c->sim, "no more faults");
	anew = !c->leader;
	if (anew)
		leader_start(c);
	away = choose_away(c, anew);
	if (away >= 0)
		cache_fault(c, "worker %d dies for good", away);
	for (int i = 0; i < n; i++)
		if (i == away)
			node_kill(c, i);
		else if (!c->nodes[i])
			node_start(c, i);
	c->away = away;
}

/* ---- who looks, and who has no right to ---- */

/* The head's stats: each row is some worker's, and what it says of loans is true. */
static void check_stats(struct cache *c)
{
	cleanup_json cJSON *doc = fleet_describe(c->leader->head.fleet);
	bool ready = fleet_ready(c->leader->head.fleet);
	const cJSON *worker, *one;
	int64_t next = 0;

	json_each(worker, json_get((const cJSON *)doc, "workers")) {
		bool has = json_bool(worker, false, "ready");
		int64_t lent = json_int(worker, -1, "first");

		if (lent != next)
			sim_broken(c->sim, "stats: no worker has row %lld",
				   (long long)next);
		next = json_int(worker, -1, "end");
		json_each(one, json_get(worker, "lent"))
			lent = json_int(one, -1, "first") == lent &&
					       (has || !ready ||
						json_bool(one, false, "ready"))
				       ? json_int(one, -1, "end")
				       : -1;
		if (ready && !has && lent != next)
			sim_broken(c->sim, "stats: ready, but rows to %lld are not",
				   (long long)next);
	}
}

static void check_strangers(struct cache *c, struct node *n)
{
	const bool hears = n->obeyed_ms && clock_ms() - n->obeyed_ms < 10 * 1000;
	struct error err = { 0 };

	if (!claim_check(n->worker.claim, NULL, false, &err))
		sim_broken(c->sim, "worker %d obeys a stranger", n->i);
	if (!claim_check(n->worker.claim, NULL, true, &err) &&
	    (hears || c->conf.head_auth.judge))
		sim_broken(c->sim, "worker %d takes files of a stranger", n->i);
	if (holdings_ready(n->worker.holdings) && !n->worker.holdings->now.list[0].table)
		sim_broken(c->sim, "worker %d is ready without rows", n->i);
}

static void on_look(void *ctx)
{
	struct cache *c = ctx;

	if (c->over)
		return;
	if (c->leader)
		check_stats(c);
	for (int i = 0; i < c->conf.n_workers; i++)
		if (c->nodes[i])
			check_strangers(c, c->nodes[i]);
	sim_after(c->sim, LOOK_MS, on_look, c);
}

/* ---- a schedule ---- */

static int64_t largest_of(const struct cache *c, const struct table *t)
{
	const struct rows all = { 0, t->rows };
	int64_t most = 0;

	for (int i = 0; i < c->conf.n_workers; i++) {
		struct rows r = table_part(t, all, i, c->conf.n_workers);

		most = r.end - r.first > most ? r.end - r.first : most;
		r = table_file_part(t, i, c->conf.n_workers);
		most = r.end - r.first > most ? r.end - r.first : most;
	}
	return most;
}

static int64_t largest(const struct cache *c)
{
	int64_t a = largest_of(c, &c->lakes[0].table);
	int64_t b = largest_of(c, &c->lakes[1].table);

	return a > b ? a : b;
}

/* Of workers that know the heads' token from a file. */
static int judge(void *ctx, const char *peer, const char *value, struct error *err)
{
	return str_eq(value, TOKEN) ? 0 : error_set(err, ERR_DENIED, "another token");
}

static void choose(struct cache *c)
{
	static const int some[] = { 0, 0, 2, 10 };
	int *const all[] = {
		&c->lose, &c->repeat, &c->delay, &c->cut, &c->slow, &c->fail
	};

	for (size_t i = 0; i < N_ELEMENTS(all); i++)
		*all[i] = some[sim_dice(c->sim, N_ELEMENTS(some))];
	c->conf.takeover_ms = sim_dice(c->sim, 4) ? 1000 * (1 + sim_dice(c->sim, 5)) : 0;
	c->conf.n_workers = 1 + sim_dice(c->sim, CACHE_WORKERS);
	c->changes = sim_dice(c->sim, 4) == 3;
	c->theirs = !c->changes && c->lake->table.rows && sim_dice(c->sim, 4) == 3
			    ? sim_dice(c->sim, c->conf.n_workers)
			    : -1;
	c->snapshots = sim_dice(c->sim, 4) == 3;
	if (sim_dice(c->sim, 4) == 3)
		c->conf.head_auth.judge = judge;
	c->mirrors = c->theirs < 0 && sim_dice(c->sim, 4) == 3;
	c->room = sim_dice(c->sim, 3) ? INT64_MAX : largest(c) + sim_dice(c->sim, 10);
	c->n_consumers = 1 + sim_dice(c->sim, CACHE_READERS);
}

static void begin(struct cache *c)
{
	static char hosts[CACHE_WORKERS][3] = { "w0", "w1", "w2", "w3" };

	lake_init(&c->lakes[0], c->sim);
	lake_init_next(&c->lakes[1], &c->lakes[0], c->sim);
	c->lake = c->lakes;
	choose(c);
	c->away = -1;
	c->conf.location = "the table";
	c->conf.workers = c->addresses;
	for (int i = 0; i < c->conf.n_workers; i++)
		c->addresses[i] = (struct cache_address){ hosts[i], 1 };
	sim_note(c->sim, "%lld rows, %d workers, %d readers, takeover %lld ms",
		 (long long)c->lake->table.rows, c->conf.n_workers, c->n_consumers,
		 (long long)c->conf.takeover_ms);
	leader_start(c);
	for (int i = 0; i < c->conf.n_workers; i++)
		if (sim_dice(c->sim, 12) == 11)
			sim_after(c->sim, sim_dice(c->sim, AWAY_MS), on_return,
				  fault(c, i, 0));
		else
			node_start(c, i);
	for (int i = 0; i < c->n_consumers; i++)
		consumer_start(c, i);
	sim_after(c->sim, LOOK_MS, on_look, c);
	sim_after(c->sim, 1 + sim_dice(c->sim, CALM_MS), on_calm, c);
	sim_after(c->sim, PAUSE_MS - sim_dice(c->sim, PAUSE_MS), on_fault, c);
}

static bool all_done(const struct cache *c)
{
	for (int i = 0; i < c->n_consumers; i++)
		if (!c->consumers[i].done)
			return false;
	return c->calm;
}

/* At rest: the rows of all but the missing worker are its own, and lent to nobody. */
static void check_rest(struct cache *c)
{
	const struct fleet *f = c->leader->head.fleet;

	if (!fleet_ready(c->leader->head.fleet))
		sim_broken(c->sim, "the head is not ready");
	for (int i = 0; i < f->n_remotes; i++) {
		const struct remote *r = &f->remotes[i];

		if (i != c->away && (!r->ready || r->n_loans))
			sim_broken(c->sim, "worker %d: %s", i,
				   r->ready ? "its rows are still lent" : r->trouble);
		if (c->nodes[i] && c->nodes[i]->worker.holdings->now.n > 1 && c->away < 0)
			sim_broken(c->sim, "worker %d still holds rows of others", i);
	}
}

static void end(struct cache *c)
{
	c->over = c->calm = true;
	leader_kill(c);
	for (int i = 0; i < c->conf.n_workers; i++)
		node_kill(c, i);
	for (int i = 0; i < c->n_consumers; i++) {
		call_cancel(c->consumers[i].call);
		if (c->consumers[i].r)
			client_end(c->consumers[i].r);
	}
	while (sim_step(c->sim)) /* events free their calls */
		;
	lake_check(c);
}

static void check_calls(struct cache *c, int64_t ms)
{
	uint64_t most =
		(uint64_t)(CALLS_PER_S * c->conf.n_workers) * (uint64_t)(ms / 1000 + 1);

	if (c->calls > most)
		sim_broken(c->sim, "%llu calls in %lld ms", (unsigned long long)c->calls,
			   (long long)ms);
}

static void world(struct sim *sim)
{
	struct cache *c = xcalloc(1, sizeof(*c));
	int64_t start = clock_ms(), until = INT64_MAX;

	c->sim = sim;
	begin(c);
	while (!sim_is_broken(sim) && sim_step(sim) && clock_ms() < until) {
		lake_check(c);
		if (until == INT64_MAX && all_done(c))
			until = clock_ms() + REST_MS;
		if (until == INT64_MAX && clock_ms() - start > CALM_MS + BOUND_MS)
			sim_broken(sim, "readers have not ended");
	}
	if (!sim_is_broken(sim))
		check_rest(c);
	check_calls(c, clock_ms() - start);
	end(c);
	free(c->tables);
	lake_release(&c->lakes[0]);
	lake_release(&c->lakes[1]);
	arena_clear(&c->arena);
	free(c);
}

static const struct sim_seed known[] = {
	{ 43, "a worker without rows is away" },
	{ 179, "a lost worker comes back between two calls of a reader" },
	{ 15, "rows are lent for a while after a return" },
	{ 920, "rows that nobody could load are tried again" },
	{ 7, "a head restarts while a worker is away" },
	{ 925, "a ticket of a table that has been replaced" },
	{ 209, "a worker starts after the table was replaced" },
	{ 1000154883, "a worker restarts, and cannot load the first of two loans" },
	{ 40017273, "a head has yet to notice that a worker is gone" },
	{ 0, NULL },
};

int main(int argc, char **argv)
{
	const struct sim_conf conf = { "the data cache", world, 10000, known, false };

	return sim_main(&conf, argc, argv);
}
