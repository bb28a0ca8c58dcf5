/* hub.c - the rules of a restart of all ranks (supervise/hub.h). */
#include "supervise/hub.h"

enum { STALLED = 128 + 6 }; /* the status of a command that ABRT ended */

void hub_init(struct hub *h, const struct supervise_rules *rules, struct hub_rank *ranks,
	      uint32_t n, int64_t now)
{
	*h = (struct hub){ .rules = rules,
			   .ranks = ranks,
			   .n = n,
			   .order = { .order = ORDER_STOP },
			   .first_failed = NO_RANK,
			   .decide_at = -1,
			   .stall = { .after = rules->stall_after_ms },
			   .log_line = { .max = 200 } };
	account_init(&h->account, now);
	for (uint32_t i = 0; i < n; i++)
		ranks[i].away_since = -1;
}

static bool failed(const struct hub_rank *r)
{
	return r->state.phase == PEER_ENDED && r->state.status;
}

/* In this epoch. */
static bool has_started(const struct hub *h, const struct hub_rank *r)
{
	return r->state.phase >= PEER_RUNNING && r->state.epoch == h->order.epoch;
}

/* ---- the barrier ---- */

/* A new one may still have the order to start in the epoch before: it answers the next. */
static bool is_ready(const struct hub *h, const struct hub_rank *r)
{
	enum peer_phase ready = h->order.epoch ? PEER_READY : PEER_NEW;

	return r->joined && r->state.phase == ready && r->state.epoch == h->order.epoch;
}

static void start_if_ready(struct hub *h, int64_t now)
{
	for (uint32_t i = 0; i < h->n; i++)
		if (h->dev.held || !is_ready(h, &h->ranks[i]))
			return;
	h->order.order = ORDER_START;
	h->first_failed = NO_RANK;
	stall_start(&h->stall, now);
	account_start(&h->account, now);
}

/* Continue after the epoch of a rank that has seen a later one than this new hub. */
static void adopt_epoch(struct hub *h, const struct peer_state *s)
{
	uint32_t epoch = s->epoch + (s->phase == PEER_RUNNING || s->phase == PEER_ENDED);

	if (s->phase == PEER_NEW)
		return;
	if (h->dev.on && !h->order.epoch) { /* rank 0's files may be older than theirs */
		h->dev.held = h->dev.lost = true;
		h->dev.since = -1;
	}
	if (s->counted > h->order.counted)
		h->order.counted = s->counted;
	if (epoch > h->order.epoch)
		h->order.epoch = epoch;
}

/* ---- failures ---- */

static void stop(struct hub *h, int64_t now)
{
	h->order.epoch++;
	h->order.order = ORDER_STOP;
	h->decide_at = -1;
	account_stop(&h->account, now);
	for (uint32_t i = 0; i < h->n; i++)
		h->ranks[i].away_since = -1;
}

void hub_hold(struct hub *h, int64_t now)
{
	h->dev.held = true;
	h->dev.since = -1;
	if (h->order.order != ORDER_STOP)
		stop(h, now);
}

void hub_release(struct hub *h, int64_t now)
{
	h->dev.held = false;
	if (h->order.order == ORDER_STOP)
		start_if_ready(h, now);
}

/* The run has ended: append to h->log_line, which names the cause. */
static void end_run(struct hub *h, struct hub_dev how, int64_t now)
{
	h->dev.lost = how.lost;
	h->dev.rank = how.rank;
	h->dev.status = how.status;
	buf_adds(&h->log_line, "; waiting for 'kftrainer rerun'");
	hub_hold(h, now);
}

static void stop_lost(struct hub *h, uint32_t rank, const char *how, int64_t now)
{
	if (h->dev.on) {
		buf_printf(&h->log_line, "rank %u %s", rank, how);
		end_run(h, (struct hub_dev){ .lost = true, .rank = rank }, now);
		return;
	}
	buf_printf(&h->log_line, "rank %u %s; restart %u, which does not count", rank,
		   how, h->order.epoch + 1);
	h->counts.lost++;
	stop(h, now);
}

static bool any_is(const struct hub *h, enum peer_cause cause)
{
	for (uint32_t i = 0; i < h->n; i++)
		if (failed(&h->ranks[i]) && h->ranks[i].state.cause == cause)
			return true;
	return false;
}

/* Why the job is not started again, or NULL. */
static const char *final_cause(const struct hub *h, bool memory)
{
	const char *cause = restart_limit_refuse(&h->restart_limit, memory);

	for (uint32_t i = 0; i < h->n; i++)
		if (failed(&h->ranks[i]) &&
		    h->rules->final[h->ranks[i].state.status & 0xff])
			return "an exit code that is final";
	if (any_is(h, CAUSE_PERMANENT) || any_is(h, CAUSE_FINISH))
		return "it would end so again";
	if (cause)
		return cause;
	return h->order.counted >= (uint64_t)h->rules->restarts ? "no restart is left"
								: NULL;
}

/* ---- the end ---- */

static bool is_awaited(const struct hub *h, uint32_t rank)
{
	return h->first_failed == NO_RANK && !h->ranks[rank].joined &&
	       !h->ranks[rank].done;
}

static void release(struct hub *h, int64_t now)
{
	h->order.order = ORDER_FREE;
	h->freed_at = now;
}

void hub_closed(struct hub *h, uint32_t rank)
{
	h->ranks[rank].done |= h->order.order == ORDER_FREE;
}

int64_t hub_over_at(const struct hub *h)
{
	int64_t wait = 0;

	for (uint32_t i = 1; i < h->n; i++) {
		if (is_awaited(h, i))
			return h->freed_at + HUB_AWAY_MAX_MS;
		if (h->ranks[i].joined)
			wait = HUB_LINGER_MS;
	}
	return h->freed_at + wait;
}

/* Start all again, which counts, or let them end. */
static void restart(struct hub *h, const char *cause, bool memory, int64_t now)
{
	h->decide_at = -1;
	if (cause) {
		buf_printf(&h->log_line, "not started again: %s", cause);
		release(h, now);
		return;
	}
	h->order.counted++;
	h->counts.restarts++;
	buf_printf(&h->log_line, "restart %u of at most %lld", h->order.counted,
		   (long long)h->rules->restarts);
	restart_limit_restart(&h->restart_limit, memory);
	stop(h, now);
}

static bool any_is_lost(const struct hub *h)
{
	for (uint32_t i = 0; i < h->n; i++)
		if (!h->ranks[i].joined || h->ranks[i].state.leaving)
			return true;
	return false;
}

static void handle_failure(struct hub *h, int64_t now)
{
	const struct peer_state *s = &h->ranks[h->first_failed].state;
	bool memory = any_is(h, CAUSE_MEMORY);

	h->counts.failed = true;
	h->counts.rank = h->first_failed;
	h->counts.status = s->status;
	if (h->n == 1)
		buf_printf(&h->log_line, "the command ended with status %u", s->status);
	else
		buf_printf(&h->log_line, "rank %u ended with status %u", h->first_failed,
			   s->status);
	if (h->dev.on) {
		end_run(h,
			(struct hub_dev){ .lost = any_is_lost(h),
					  .rank = h->first_failed,
					  .status = s->status },
			now);
		return;
	}
	buf_adds(&h->log_line, "; ");
	if (!any_is_lost(h)) {
		restart(h, final_cause(h, memory), memory, now);
		if ((h->n == 1 && !h->rules->restarts) || any_is(h, CAUSE_FINISH))
			buf_clear(&h->log_line); /* as if there were no supervisor */
		return;
	}
	if (h->n == 1) { /* the job was asked to end: nobody is left to restart */
		buf_clear(&h->log_line);
	} else {
		buf_printf(&h->log_line,
			   "restart %u, which does not count: a rank was lost",
			   h->order.epoch + 1);
		h->counts.lost++;
	}
	stop(h, now);
}

/* ---- stalls ---- */

static bool is_training(const struct hub *h)
{
	bool any = false;

	for (uint32_t i = 0; i < h->n; i++) {
		const struct hub_rank *r = &h->ranks[i];

		if (!r->joined || !has_started(h, r) || failed(r))
			return false;
		any = any || r->state.phase == PEER_RUNNING;
	}
	return any;
}

/* When the job is one that stalls, without another activity; -1: not as it is now. */
static int64_t stalls_at(const struct hub *h)
{
	int64_t due = h->order.order == ORDER_START ? stall_due(&h->stall) : -1;

	return due >= 0 && is_training(h) ? due : -1;
}

static void stall(struct hub *h, int64_t now)
{
	buf_printf(&h->log_line,
		   "stalled: no output and no progress of any rank for %lld s",
		   (long long)(now - h->stall.last) / 1000);
	h->counts.stalls++;
	h->counts.failed = false;
	stall_found(&h->stall, now);
	account_stall(&h->account, now);
	h->order.order = ORDER_DUMP;
	h->dumped_at = now + HUB_DUMP_MS;
	for (uint32_t i = 0; i < h->n; i++)
		h->ranks[i].dumped = false;
}

static void end_dump(struct hub *h, int64_t now)
{
	const char *cause = restart_limit_refuse(&h->restart_limit, false);

	if (!cause && h->order.counted >= (uint64_t)h->rules->restarts)
		cause = "no restart is left";
	if (h->dev.on) {
		buf_adds(&h->log_line, "after the stall");
		end_run(h, (struct hub_dev){ .status = STALLED }, now);
		return;
	}
	buf_printf(&h->log_line, "after the stall: ");
	restart(h, cause, false, now);
}

static void end_dump_if_all(struct hub *h, int64_t now)
{
	for (uint32_t i = 0; i < h->n; i++)
		if (h->ranks[i].joined && !h->ranks[i].dumped)
			return;
	end_dump(h, now);
}

/* ---- events ---- */

static void free_if_all_ended(struct hub *h, int64_t now)
{
	for (uint32_t i = 0; i < h->n; i++)
		if (h->ranks[i].state.phase != PEER_ENDED || failed(&h->ranks[i]))
			return;
	if (!h->dev.on) {
		release(h, now);
		return;
	}
	buf_adds(&h->log_line, "the command has ended");
	end_run(h, (struct hub_dev){ 0 }, now);
}

/* While the commands run; `before`: its last phase. */
static void running(struct hub *h, uint32_t rank, enum peer_phase before, int64_t now)
{
	const struct hub_rank *r = &h->ranks[rank];

	/* In development a new pod has other files, also before its first start. */
	if (r->state.phase == PEER_NEW &&
	    (before >= PEER_RUNNING || (h->dev.on && h->order.epoch))) {
		stop_lost(h, rank, "has a new pod", now);
	} else if (r->state.phase >= PEER_RUNNING && r->state.epoch != h->order.epoch) {
		stop_lost(h, rank, "was away", now);
	} else if (failed(r) && h->decide_at < 0) {
		h->first_failed = rank;
		h->decide_at = h->n > 1 ? now + HUB_FAILURE_WINDOW_MS : now;
	} else {
		free_if_all_ended(h, now);
	}
}

void hub_state(struct hub *h, uint32_t rank, const struct peer_state *state, int64_t now)
{
	struct hub_rank *r = &h->ranks[rank];
	enum peer_phase before = r->state.phase;

	if (!r->joined && h->order.order == ORDER_FREE)
		h->freed_at = now; /* the rank gets that order now */
	r->joined = true;
	r->state = *state;
	if (h->order.order == ORDER_STOP) {
		adopt_epoch(h, state);
		start_if_ready(h, now);
	} else if (h->order.order == ORDER_START) {
		running(h, rank, before, now);
	}
	r->away_since = -1;
}

void hub_left(struct hub *h, uint32_t rank, int64_t received, int64_t now)
{
	h->ranks[rank].joined = false;
	if (h->order.order == ORDER_START)
		h->ranks[rank].away_since = received;
	else if (h->order.order == ORDER_DUMP)
		end_dump_if_all(h, now);
	else if (h->order.order == ORDER_FREE && is_awaited(h, rank) && !h->dev.on)
		buf_printf(&h->log_line,
			   "all have succeeded, but rank %u has left before it knew: "
			   "waiting for it for ten minutes",
			   rank);
}

void hub_activity(struct hub *h, const struct peer_activity *activity, int64_t now)
{
	bool report = activity->reports > h->stall.reports, higher = false;

	if (h->order.order != ORDER_START || activity->epoch != h->order.epoch)
		return;
	if (activity->reports)
		higher = restart_limit_report(
			&h->restart_limit,
			(struct training_progress){ activity->percent, activity->step });
	stall_activity(&h->stall, activity->reports, now);
	account_activity(&h->account, report, higher, now);
}

void hub_dumped(struct hub *h, uint32_t rank, int64_t now)
{
	if (h->order.order != ORDER_DUMP)
		return;
	h->ranks[rank].dumped = true;
	end_dump_if_all(h, now);
}

static void idle(struct hub *h, int64_t now)
{
	if (h->dev.since < 0)
		h->dev.since = now;
	if (now < h->dev.since + h->dev.idle_ms)
		return;
	buf_adds(&h->log_line, "no rerun within the idle time: the job ends");
	release(h, now);
}

void hub_time(struct hub *h, int64_t now)
{
	int64_t stalls = stalls_at(h);

	if (h->order.order == ORDER_STOP && h->dev.held)
		idle(h, now);
	if (h->order.order == ORDER_DUMP && now >= h->dumped_at)
		end_dump(h, now);
	if (h->order.order != ORDER_START)
		return;
	if (h->decide_at >= 0 && now >= h->decide_at) {
		handle_failure(h, now);
		return;
	}
	if (stalls >= 0 && now >= stalls && h->decide_at < 0) {
		stall(h, now);
		return;
	}
	for (uint32_t i = 0; i < h->n; i++) {
		int64_t since = h->ranks[i].away_since;

		if (since < 0 || now < since + HUB_LOST_MS)
			continue;
		stop_lost(h, i, "is gone", now);
		return;
	}
}

static void sooner(int64_t *until, int64_t at)
{
	if (at >= 0 && (*until < 0 || at < *until))
		*until = at;
}

int64_t hub_until(const struct hub *h)
{
	int64_t until = h->decide_at;

	if (h->order.order == ORDER_DUMP)
		return h->dumped_at;
	if (h->order.order == ORDER_STOP && h->dev.held)
		return h->dev.since < 0 ? 0 : h->dev.since + h->dev.idle_ms;
	if (h->order.order != ORDER_START)
		return -1;
	sooner(&until, stalls_at(h));
	for (uint32_t i = 0; i < h->n; i++)
		if (h->ranks[i].away_since >= 0)
			sooner(&until, h->ranks[i].away_since + HUB_LOST_MS);
	return until;
}

uint32_t hub_acked(const struct hub *h)
{
	uint32_t least = UINT32_MAX;

	for (uint32_t i = 1; i < h->n; i++) {
		const struct hub_rank *r = &h->ranks[i];
		uint32_t acked = has_started(h, r) ? r->state.acked : 0;

		least = acked < least ? acked : least;
	}
	return least;
}

bool hub_others_succeeded(const struct hub *h)
{
	for (uint32_t i = 1; i < h->n; i++) {
		const struct hub_rank *r = &h->ranks[i];

		if (!r->joined || r->state.phase != PEER_ENDED || r->state.status ||
		    r->state.epoch != h->order.epoch)
			return false;
	}
	return h->order.order == ORDER_START;
}
