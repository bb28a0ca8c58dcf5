/* hub.c - the rules of a restart of all ranks (supervise/hub.h). */
#include "supervise/hub.h"

enum { NONE = UINT32_MAX };

void hub_init(struct hub *h, const struct supervise_rules *rules, struct hub_rank *ranks,
	      uint32_t n)
{
	*h = (struct hub){ .rules = rules,
			   .ranks = ranks,
			   .n = n,
			   .order = { .order = ORDER_STOP },
			   .first_failed = NONE,
			   .judge_at = -1,
			   .said = { .max = 200 } };
	for (uint32_t i = 0; i < n; i++)
		ranks[i].away_since = -1;
}

static bool failed(const struct hub_rank *r)
{
	return r->state.phase == PEER_ENDED && r->state.status;
}

/* ---- the barrier ---- */

static bool is_ready(const struct hub *h, const struct hub_rank *r)
{
	return r->joined &&
	       (r->state.phase == PEER_NEW ||
		(r->state.phase == PEER_READY && r->state.epoch == h->order.epoch));
}

static void start_if_ready(struct hub *h)
{
	for (uint32_t i = 0; i < h->n; i++)
		if (!is_ready(h, &h->ranks[i]))
			return;
	h->order.order = ORDER_START;
	h->first_failed = NONE;
}

/* A rank has seen an epoch that this hub, a new one, has not. */
static void learn(struct hub *h, const struct peer_state *s)
{
	uint32_t epoch = s->epoch + (s->phase == PEER_RUNNING || s->phase == PEER_ENDED);

	if (s->phase == PEER_NEW)
		return;
	if (s->counted > h->order.counted)
		h->order.counted = s->counted;
	if (epoch > h->order.epoch)
		h->order.epoch = epoch;
}

/* ---- failures ---- */

static void stop(struct hub *h)
{
	h->order.epoch++;
	h->order.order = ORDER_STOP;
	h->judge_at = -1;
	for (uint32_t i = 0; i < h->n; i++)
		h->ranks[i].away_since = -1;
}

static void stop_lost(struct hub *h, uint32_t rank, const char *how)
{
	buf_printf(&h->said, "rank %u %s; restart %u, which does not count", rank, how,
		   h->order.epoch + 1);
	stop(h);
}

/* The end of a rank after which the job is not started again, or NULL. */
static const char *final_cause(const struct hub *h)
{
	for (uint32_t i = 0; i < h->n; i++) {
		const struct hub_rank *r = &h->ranks[i];

		if (failed(r) && h->rules->final[r->state.status & 0xff])
			return "an exit code that is final";
		if (failed(r) && r->state.permanent)
			return "it would end so again";
	}
	return h->order.counted >= (uint64_t)h->rules->restarts ? "no restart is left"
								: NULL;
}

static bool somebody_is_lost(const struct hub *h)
{
	for (uint32_t i = 0; i < h->n; i++)
		if (!h->ranks[i].joined || h->ranks[i].state.leaving)
			return true;
	return false;
}

static void judge(struct hub *h)
{
	const struct peer_state *s = &h->ranks[h->first_failed].state;
	bool lost = somebody_is_lost(h);
	const char *cause = lost ? NULL : final_cause(h);

	if (h->n == 1)
		buf_printf(&h->said, "the command ended with status %u; ", s->status);
	else
		buf_printf(&h->said, "rank %u ended with status %u; ", h->first_failed,
			   s->status);
	if (cause) {
		buf_printf(&h->said, "not started again: %s", cause);
		if (h->n == 1 && !h->rules->restarts)
			buf_clear(&h->said); /* as if there were no supervisor */
		h->order.order = ORDER_FREE;
		h->judge_at = -1;
		return;
	}
	if (lost) {
		buf_printf(&h->said, "restart %u, which does not count: a rank was lost",
			   h->order.epoch + 1);
	} else {
		h->order.counted++;
		buf_printf(&h->said, "restart %u of at most %lld", h->order.counted,
			   (long long)h->rules->restarts);
	}
	stop(h);
}

/* ---- events ---- */

static void free_if_all_ended(struct hub *h)
{
	for (uint32_t i = 0; i < h->n; i++)
		if (h->ranks[i].state.phase != PEER_ENDED || failed(&h->ranks[i]))
			return;
	h->order.order = ORDER_FREE;
}

/* While the commands run; `before`: its last phase. */
static void running(struct hub *h, uint32_t rank, enum peer_phase before, int64_t now)
{
	const struct hub_rank *r = &h->ranks[rank];

	if (r->state.phase == PEER_NEW && before >= PEER_RUNNING) {
		stop_lost(h, rank, "has a new pod");
	} else if (r->state.phase >= PEER_RUNNING && r->state.epoch != h->order.epoch) {
		stop_lost(h, rank, "was away");
	} else if (failed(r) && h->judge_at < 0) {
		h->first_failed = rank;
		h->judge_at = h->n > 1 ? now + HUB_LOOK_MS : now;
	} else {
		free_if_all_ended(h);
	}
}

void hub_state(struct hub *h, uint32_t rank, const struct peer_state *state, int64_t now)
{
	struct hub_rank *r = &h->ranks[rank];
	enum peer_phase before = r->state.phase;

	r->joined = true;
	r->state = *state;
	if (h->order.order == ORDER_STOP) {
		learn(h, state);
		start_if_ready(h);
	} else if (h->order.order == ORDER_START) {
		running(h, rank, before, now);
	}
	r->away_since = -1;
}

void hub_left(struct hub *h, uint32_t rank, int64_t now)
{
	h->ranks[rank].joined = false;
	if (h->order.order == ORDER_START)
		h->ranks[rank].away_since = now;
}

void hub_time(struct hub *h, int64_t now)
{
	if (h->order.order != ORDER_START)
		return;
	if (h->judge_at >= 0 && now >= h->judge_at) {
		judge(h);
		return;
	}
	for (uint32_t i = 0; i < h->n; i++) {
		int64_t since = h->ranks[i].away_since;

		if (since < 0 || now < since + HUB_GONE_MS)
			continue;
		stop_lost(h, i, "is gone");
		return;
	}
}

int64_t hub_until(const struct hub *h)
{
	int64_t until = h->judge_at;

	if (h->order.order != ORDER_START)
		return -1;
	for (uint32_t i = 0; i < h->n; i++) {
		int64_t since = h->ranks[i].away_since;

		if (since >= 0 && (until < 0 || since + HUB_GONE_MS < until))
			until = since + HUB_GONE_MS;
	}
	return until;
}
