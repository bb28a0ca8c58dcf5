/*
 * supervise_world.c - the supervisors of a job: ranks, their pods, the network between them.
 *
 * The program's own rules run: the hub (supervise/hub.c), what each rank does
 * (supervise/decide.c), and messages as bytes (supervise/message.c). Stand-ins are the
 * connections of star.c, which are slow, cut, and missed late; the processes and signals of
 * run.c; the Job, which replaces pods; a run directory that gets one checkpoint an attempt.
 *
 * Promises: all that runs is of one epoch; what the ranks know of epochs and restarts is not
 * forgotten; a rank succeeds once all have; a job fails once no restart is left; a checkpoint
 * is complete once all ranks have sent their files of that attempt; all ends.
 */
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "supervise/hub.h"
#include "tests/sim/events.h"

enum {
	RANKS = 5,
	FAULTS_MS = 90 * 1000,
	ENDS_MS = 40 * 60 *
		  1000, /* after the last fault: twice HUB_AWAY_MAX_MS, and work */
	WORK_MS = 20 * 1000,
	GONE_MS = 10 * 1000, /* of line.h: a connection without a word */
	TERMED = 128 + 15,
	KILLED = 128 + 9,
};

struct peerconn {
	struct rank *peer;
	bool cut, missed; /* the hub has missed it */
	bool stated, closed;
	int64_t heard, arrives[2]; /* the last message of each direction */
};

struct rank {
	struct world *w;
	uint32_t i;
	unsigned life; /* which of its pods */
	bool alive, over, succeeded;
	struct supervise_state state;
	struct peer_state reported;
	uint32_t counted, acked;
	struct hub_order order;
	bool news;
	struct peerconn *line; /* a peer's */
	int64_t lost_since, down_until;
	unsigned process; /* which; events of one before do not count */
	bool runs, held;
	uint32_t attempt, sent; /* of the run directory: begun, and its files are there */
	int64_t worked, last_epoch; /* the last epochs that ended with 0, that began */
};

struct world {
	struct sim *sim;
	struct arena arena;
	uint32_t n;
	struct supervise_rules rules;
	struct rank ranks[RANKS];
	struct hub hub; /* of rank 0's pod */
	struct hub_rank hub_ranks[RANKS];
	struct peerconn *by_rank[RANKS];
	uint32_t attempt, next_attempt, sync, asked; /* asked: the attempt of the sync */
	bool keeps, failed;
	int64_t calm_at;
};

struct event {
	struct world *w;
	struct rank *rank;
	struct peerconn *line;
	void (*run)(struct event *e);
	unsigned life, process;
	size_t len;
	char bytes[MESSAGE_MAX];
};

static void turn(struct rank *r);
static void dial(struct event *e);

static void on_event(void *ctx)
{
	struct event *e = ctx;

	if (!e->w->failed && (!e->rank || e->rank->life == e->life))
		e->run(e);
}

static struct event *later(struct rank *r, int64_t ms, void (*run)(struct event *e))
{
	struct event *e = arena_alloc(&r->w->arena, sizeof(*e));

	*e = (struct event){
		.w = r->w, .rank = r, .run = run, .life = r->life, .process = r->process
	};
	sim_after(r->w->sim, ms, on_event, e);
	return e;
}

static int64_t dice(struct rank *r, int64_t sides)
{
	return sim_dice(r->w->sim, sides);
}

/* ---- connections ---- */

static void take_from_peer(struct world *w, struct peerconn *l, const struct message *m);

static void arrive(struct event *e)
{
	struct peerconn *l = e->line;
	struct rank *r = e->rank;
	struct message m;
	size_t used;

	if (message_decode(&m, &used, e->bytes, e->len, IGNORED) || used != e->len) {
		sim_broken(e->w->sim, "a message is not understood");
	} else if (!r->i) {
		l->heard = clock_ms();
		if (!l->missed)
			take_from_peer(e->w, l, &m);
	} else if (r->line == l && m.type == MESSAGE_ORDER) {
		r->lost_since = -1;
		r->counted = m.order.counted;
		r->order = m.order;
		r->news = true;
		turn(r);
	}
}

static void send(struct peerconn *l, struct rank *to, const struct message *m)
{
	cleanup_buf struct buf bytes = { .max = MESSAGE_MAX };
	int64_t *last = &l->arrives[to->i == 0], now = clock_ms(), at;
	struct event *e;

	if (l->cut)
		return;
	message_add(&bytes, m);
	at = now + dice(to, dice(to, 8) == 7 ? 3000 : 5);
	*last = at > *last ? at : *last + 1; /* in their order */
	e = later(to, *last - now, arrive);
	e->line = l;
	e->len = bytes.len;
	memcpy(e->bytes, bytes.data, bytes.len);
}

static void apply_hub(struct world *w, const struct hub_order *before);

static void leave(struct world *w, struct peerconn *l)
{
	struct hub_order before = w->hub.order;

	l->missed = true;
	if (w->by_rank[l->peer->i] != l)
		return;
	if (l->closed)
		hub_closed(&w->hub, l->peer->i);
	w->by_rank[l->peer->i] = NULL;
	hub_left(&w->hub, l->peer->i, l->heard, clock_ms());
	apply_hub(w, &before);
}

static void hub_misses(struct event *e)
{
	leave(e->w, e->line);
	turn(e->rank);
}

static void peer_is_alone(struct event *e)
{
	struct rank *r = e->rank;

	if (r->lost_since < 0 || clock_ms() < r->lost_since + HUB_AWAY_MAX_MS)
		return;
	r->order = (struct hub_order){ .order = ORDER_FREE };
	r->news = true;
	turn(r);
}

static void peer_misses(struct event *e)
{
	struct rank *r = e->rank;

	if (r->line != e->line)
		return;
	r->line = NULL;
	if (r->lost_since < 0 && r->order.order)
		r->lost_since = clock_ms();
	if (r->order.order == ORDER_FREE)
		return;
	later(r, HUB_AWAY_MAX_MS, peer_is_alone);
	later(r, 50, dial);
}

/* Until an end misses it; of one that the other end closes, what was sent arrives. */
static int64_t missed_after(struct peerconn *l, bool to_hub, bool closed)
{
	int64_t ms = 1 + dice(l->peer, closed ? 50 : GONE_MS);
	int64_t arrived = l->arrives[to_hub] - clock_ms();

	return closed && arrived >= ms ? arrived + 1 : ms;
}

static void cut(struct peerconn *l, bool closed)
{
	struct rank *peer = l->peer, *hub = peer->w->ranks;

	if (l->cut)
		return;
	l->cut = true;
	l->closed = closed && peer->state.free;
	later(peer, missed_after(l, false, closed), peer_misses)->line = l;
	later(hub, missed_after(l, true, closed), hub_misses)->line = l;
}

static struct message state_of(struct rank *r)
{
	r->reported.counted = r->counted;
	return (struct message){ .type = MESSAGE_STATE, .state = r->reported };
}

static void dial(struct event *e)
{
	struct rank *r = e->rank, *hub = e->w->ranks;
	struct message hello = { .type = MESSAGE_HELLO,
				 .hello = { MESSAGE_VERSION, r->i, e->w->n } };
	struct message state = state_of(r);

	if (r->line || r->over)
		return;
	if (!hub->alive || clock_ms() < r->down_until || clock_ms() < hub->down_until) {
		later(r, 50 + dice(r, 950), dial);
		return;
	}
	r->line = arena_alloc(&e->w->arena, sizeof(*r->line));
	*r->line = (struct peerconn){ .peer = r, .heard = clock_ms() };
	send(r->line, hub, &hello);
	send(r->line, hub, &state);
}

/* ---- the hub ---- */

static void on_hub_time(struct event *e)
{
	struct hub_order before = e->w->hub.order;

	hub_time(&e->w->hub, clock_ms());
	apply_hub(e->w, &before);
	turn(e->rank);
}

static void check_end(struct world *w)
{
	if (w->hub.first_failed != NO_RANK && w->hub.order.counted < w->rules.restarts)
		sim_broken(w->sim, "the job fails after %u of %lld restarts",
			   w->hub.order.counted, (long long)w->rules.restarts);
}

static void apply_hub(struct world *w, const struct hub_order *before)
{
	struct message m = { .type = MESSAGE_ORDER };
	struct rank *r = w->ranks;

	if (w->hub.log_line.len)
		sim_note(w->sim, "hub: %s", (const char *)w->hub.log_line.data);
	buf_clear(&w->hub.log_line);
	w->hub.order.attempt = w->attempt;
	w->hub.order.sync = w->sync;
	if (hub_until(&w->hub) >= 0)
		later(r, hub_until(&w->hub) - clock_ms(), on_hub_time);
	if (!memcmp(before, &w->hub.order, sizeof(*before)))
		return;
	r->order = m.order = w->hub.order;
	r->news = true;
	r->counted = r->order.counted;
	if (r->order.order == ORDER_FREE)
		check_end(w);
	for (uint32_t i = 0; i < w->n && r->order.order == ORDER_START; i++)
		if (w->ranks[i].alive && w->ranks[i].counted > r->order.counted)
			sim_broken(w->sim, "restart %u is forgotten",
				   w->ranks[i].counted);
	for (uint32_t i = 1; i < w->n; i++)
		if (w->by_rank[i] && w->by_rank[i]->stated)
			send(w->by_rank[i], &w->ranks[i], &m);
}

static void set_state(struct world *w, uint32_t rank, const struct peer_state *state)
{
	struct hub_order before = w->hub.order;

	hub_state(&w->hub, rank, state, clock_ms());
	apply_hub(w, &before);
}

static void take_from_peer(struct world *w, struct peerconn *l, const struct message *m)
{
	struct message order = { .type = MESSAGE_ORDER };
	uint32_t i = l->peer->i;
	struct peerconn *old = w->by_rank[i];

	if (m->type == MESSAGE_HELLO) {
		if (old) {
			leave(w, old);
			cut(old, true);
		}
		w->by_rank[i] = l;
	} else if (m->type == MESSAGE_STATE && w->by_rank[i] == l) {
		set_state(w, i, &m->state);
		order.order = w->hub.order;
		if (!l->stated)
			send(l, l->peer, &order);
		l->stated = true;
	}
	turn(w->ranks);
}

/* ---- pods ---- */

static void begin_pod(struct event *e)
{
	struct rank *r = e->rank;
	struct world *w = e->w;
	struct rank fresh = {
		.w = w,
		.i = r->i,
		.life = r->life,
		.process = r->process + 1,
		.alive = true,
		.state = { .kill_at = -1, .idle = true, .alone = w->n == 1 },
		.lost_since = -1,
		.last_epoch = -1,
		.worked = r->worked,
		.sent = r->sent, /* it outlives the pod */
		.down_until = r->down_until
	};

	*r = fresh;
	sim_note(w->sim, "rank %u has pod %u", r->i, r->life);
	if (r->i) {
		dial(e);
		return;
	}
	buf_release(&w->hub.log_line);
	memset(w->hub_ranks, 0, sizeof(w->hub_ranks));
	memset(w->by_rank, 0, sizeof(w->by_rank));
	hub_init(&w->hub, &w->rules, w->hub_ranks, w->n, clock_ms());
	w->attempt = ++w->next_attempt;
	w->sync = w->asked = 0;
	set_state(w, 0, &r->reported);
	turn(r);
}

/* Of a node that is lost nobody says so to its peers. */
static void end_pod(struct rank *r, bool closed)
{
	struct world *w = r->w;

	r->alive = r->runs = false;
	if (r->line)
		cut(r->line, closed);
	for (uint32_t i = 1; i < w->n && !r->i; i++)
		if (w->ranks[i].line)
			cut(w->ranks[i].line, closed);
	r->life++; /* its events are over */
}

static void all_have_succeeded(struct rank *r)
{
	struct world *w = r->w;

	if (w->hub.order.order == ORDER_FREE && w->hub.first_failed != NO_RANK)
		return; /* another one fails the job */
	for (uint32_t i = 0; i < w->n; i++)
		if (w->ranks[i].worked < 0 || w->ranks[i].worked != r->worked)
			sim_broken(w->sim,
				   "rank %u has succeeded in epoch %lld, rank %u has not",
				   r->i, (long long)r->worked, i);
}

static void exit_pod(struct rank *r)
{
	int status = r->state.status;

	sim_note(r->w->sim, "rank %u: its pod ends with %d", r->i, status);
	if (!status)
		all_have_succeeded(r);
	r->succeeded = !status;
	end_pod(r, true);
	if (!status)
		return;
	if (status == TERMED || status == KILLED)
		later(r, 1 + dice(r, 20000), begin_pod);
	else
		r->w->failed = true; /* its Job fails, and with it the JobSet */
}

/* ---- commands ---- */

static void check_start(struct rank *r)
{
	struct world *w = r->w;

	for (uint32_t i = 0; i < w->n; i++) {
		const struct rank *o = &w->ranks[i];

		if (!o->alive)
			continue;
		if (o != r && o->runs && o->state.restart != r->state.restart)
			sim_broken(w->sim, "rank %u runs epoch %lld, rank %u begins %lld",
				   i, (long long)o->state.restart, r->i,
				   (long long)r->state.restart);
		if (o->last_epoch > r->state.restart)
			sim_broken(w->sim, "epoch %lld begins after %lld",
				   (long long)r->state.restart, (long long)o->last_epoch);
	}
}

static void decide(struct rank *r, enum supervise_event event, int status);

static void end_command(struct rank *r, int status)
{
	r->runs = false;
	r->process++;
	sim_note(r->w->sim, "rank %u: epoch %lld ends with %d", r->i,
		 (long long)r->state.restart, status);
	if (r->state.clearing || (status && !r->state.stop_requested) || !r->w->keeps)
		decide(r, SUPERVISE_ENDED, status);
	else
		r->held = true;
	if (!status && !r->state.clearing)
		r->worked = r->state.restart;
}

/* Collective: it ends well once all have begun it, and hangs or fails without the others. */
static void on_work_done(struct event *e)
{
	struct rank *r = e->rank;
	bool fails = clock_ms() < e->w->calm_at && dice(r, 8) == 7, hangs = false;

	if (!r->runs || r->process != e->process)
		return;
	for (uint32_t i = 0; i < e->w->n; i++) {
		const struct rank *o = &e->w->ranks[i];

		hangs |= o->worked != r->state.restart &&
			 (!o->runs || o->state.restart != r->state.restart);
	}
	if (hangs && !fails) {
		later(r, 1000, on_work_done);
		return;
	}
	end_command(r, fails ? 1 : 0);
	turn(r);
}

static void on_saved(struct event *e)
{
	struct rank *r = e->rank;

	if (!r->runs || r->process != e->process)
		return;
	r->sent = r->attempt;
	if (!r->i && e->w->asked != r->attempt) {
		e->w->asked = r->attempt;
		e->w->sync++;
	}
	turn(r);
}

static void on_termed(struct event *e)
{
	if (!e->rank->runs || e->rank->process != e->process)
		return;
	end_command(e->rank, TERMED);
	turn(e->rank);
}

static void on_kill_time(struct event *e)
{
	decide(e->rank, SUPERVISE_TIME, 0);
	turn(e->rank);
}

static void start(struct rank *r)
{
	check_start(r);
	sim_note(r->w->sim, "rank %u begins epoch %lld", r->i,
		 (long long)r->state.restart);
	r->held = false;
	r->runs = true;
	r->process++;
	r->last_epoch = r->state.restart;
	r->worked = -1;
	r->attempt = r->order.attempt;
	r->acked = 0;
	later(r, 1 + dice(r, WORK_MS), on_work_done);
	if (r->w->keeps)
		later(r, 1 + dice(r, WORK_MS), on_saved);
}

static void apply(struct rank *r, enum supervise_action action)
{
	switch (action) {
	case SUPERVISE_START:
		start(r);
		break;
	case SUPERVISE_TERM:
		if (!r->i)
			r->w->attempt = ++r->w->next_attempt;
		if (dice(r, 4) < 3)
			later(r, 1 + dice(r, 2000), on_termed);
		later(r, r->state.kill_at - clock_ms(), on_kill_time);
		break;
	case SUPERVISE_KILL:
		if (r->runs)
			end_command(r, KILLED);
		break;
	case SUPERVISE_END:
		r->over = true;
		break;
	case SUPERVISE_WAIT:
	case SUPERVISE_DUMP:
		break;
	}
}

static void decide(struct rank *r, enum supervise_event event, int status)
{
	if (!r->over)
		apply(r, supervise_decide(&r->state, event, status, clock_ms()));
}

/* ---- a supervisor ---- */

static void receive_orders(struct rank *r)
{
	r->news = false;
	if (!r->over)
		apply(r, supervise_apply_order(&r->state, &r->w->rules, &r->order,
					       clock_ms()));
	if (r->state.clearing && !r->runs)
		decide(r, SUPERVISE_EMPTY, 0);
}

static void check_complete(struct world *w)
{
	for (uint32_t i = 0; i < w->n; i++)
		if (w->ranks[i].sent != w->asked)
			sim_broken(
				w->sim,
				"the checkpoint of attempt %u is complete without rank %u",
				w->asked, i);
	sim_note(w->sim, "the checkpoint of attempt %u is complete", w->asked);
	w->asked = 0;
}

static void keep(struct rank *r)
{
	struct world *w = r->w;

	if (!w->keeps)
		return;
	if (r->i) {
		if (r->sent && r->sent == r->attempt && r->runs)
			r->acked = r->order.sync;
	} else if (w->asked && w->asked == r->attempt && w->sync <= hub_acked(&w->hub)) {
		check_complete(w);
	}
	if (!r->held || r->runs)
		return;
	r->held = false;
	if (!r->state.clearing)
		decide(r, SUPERVISE_ENDED, r->worked == r->state.restart ? 0 : TERMED);
}

static void report_state(struct rank *r)
{
	struct peer_state now = supervise_peer_state(&r->state);
	struct message m;

	now.acked = r->i ? r->acked : 0;
	now.counted = r->counted;
	if (now.phase == r->reported.phase && now.epoch == r->reported.epoch &&
	    now.status == r->reported.status && now.leaving == r->reported.leaving &&
	    now.acked == r->reported.acked)
		return;
	r->reported = now;
	m = state_of(r);
	if (!r->i)
		set_state(r->w, 0, &now);
	else if (r->line)
		send(r->line, r->w->ranks, &m);
}

static bool is_over(const struct rank *r)
{
	const struct hub *h = &r->w->hub;

	return r->over && (r->i || r->state.stop_requested ||
			   h->order.order != ORDER_FREE || clock_ms() >= hub_over_at(h));
}

static void on_linger(struct event *e)
{
	turn(e->rank);
}

/* As follow() of run.c, until nothing is left to do. */
static void turn(struct rank *r)
{
	struct hub_order before = r->w->hub.order;

	do {
		if (r->news)
			receive_orders(r);
		if (r->state.clearing && !r->runs)
			decide(r, SUPERVISE_EMPTY, 0);
		keep(r);
		report_state(r);
		if (!r->i) {
			apply_hub(r->w, &before);
			before = r->w->hub.order;
		}
	} while (r->news);
	if (!r->over)
		return;
	if (is_over(r))
		exit_pod(r);
	else
		later(r, 1000, on_linger);
}

/* ---- faults ---- */

static void ask_to_stop(struct rank *r)
{
	sim_note(r->w->sim, "rank %u: its pod is deleted", r->i);
	decide(r, SUPERVISE_STOP_REQUESTED, TERMED);
	later(r, 1 + dice(r, 2000), on_termed);
	turn(r);
}

static void lose_node(struct rank *r)
{
	sim_note(r->w->sim, "rank %u: its node is lost", r->i);
	end_pod(r, false);
	later(r, 1 + dice(r, 20000), begin_pod);
}

static void fail(struct rank *r)
{
	if (!r->runs)
		return;
	end_command(r, dice(r, 2) ? KILLED : 1);
	turn(r);
}

static void lose_line(struct rank *r)
{
	struct world *w = r->w;

	sim_note(w->sim, "rank %u is cut off", r->i);
	r->down_until = clock_ms() + dice(r, 30000);
	for (uint32_t i = 1; i < w->n; i++)
		if (w->ranks[i].line && (!r->i || r->i == i))
			cut(w->ranks[i].line, false);
}

/*
 * A pod that is lost between the last order and the news of its end has a successor that
 * knows no more than the hub's last order, or finds nobody: not here.
 */
static bool may_fault(const struct rank *r)
{
	const struct hub *h = &r->w->hub;

	return r->alive && !r->over && !r->w->ranks[0].succeeded && h->decide_at < 0 &&
	       !(r->state.ended && r->state.status) &&
	       !(h->order.order == ORDER_FREE && h->first_failed != NO_RANK);
}

static void on_fault(struct event *e)
{
	static void (*const faults[])(struct rank * r) = { lose_line, fail, ask_to_stop,
							   lose_node };
	struct world *w = e->w;
	struct rank *r = &w->ranks[sim_dice(w->sim, w->n)];

	if (clock_ms() >= w->calm_at)
		return;
	if (may_fault(r))
		faults[sim_dice(w->sim, 4)](r);
	e->rank = NULL;
	sim_after(w->sim, 1 + sim_dice(w->sim, 20000), on_event, e);
}

static bool is_done(const struct world *w)
{
	for (uint32_t i = 0; i < w->n; i++)
		if (!w->ranks[i].succeeded)
			return w->failed;
	return true;
}

static void world(struct sim *sim)
{
	struct world w = {
		.sim = sim,
	};
	int64_t began = clock_ms();
	struct event *faults;

	w.n = 1 + (uint32_t)sim_dice(sim, RANKS);
	w.rules = (struct supervise_rules){ .restarts = sim_dice(sim, 4),
					    .grace_ms = 1000 + sim_dice(sim, 5000),
					    .stall_after_ms = -1 };
	w.keeps = sim_dice(sim, 2);
	w.calm_at = sim_dice(sim, 4) ? began + FAULTS_MS : began;
	for (uint32_t i = 0; i < w.n; i++) {
		w.ranks[i] = (struct rank){ .w = &w, .i = i, .worked = -1 };
		later(&w.ranks[i], sim_dice(sim, 5000), begin_pod);
	}
	faults = later(w.ranks, 5000, on_fault);
	faults->rank = NULL;
	while (!sim_is_broken(sim) && !is_done(&w) && sim_step(sim))
		if (clock_ms() > began + FAULTS_MS + ENDS_MS)
			sim_broken(sim, "it has not ended");
	if (!sim_is_broken(sim) && !is_done(&w))
		sim_broken(sim, "nothing happens any more");
	buf_release(&w.hub.log_line);
	arena_clear(&w.arena);
}

int main(int argc, char **argv)
{
	static const struct sim_seed known[] = {
		{ 3, "a pod that is deleted before all have succeeded has succeeded" },
		{ 5, "a new hub does not learn the epoch" },
		{ 62, "a new hub does not learn the restarts" },
		{ 64, "a new rank is ready, which may still get an order before" },
		{ 85, "a command that was killed for good is a pod that was lost" },
		{ 3574, "the hub ends before a late rank has the last order" },
		{ 6654, "what a rank answered to the hub before counts" },
		{ 0 },
	};
	const struct sim_conf conf = { "supervisors", world, 2000, known, false };

	return sim_main(&conf, argc, argv);
}
