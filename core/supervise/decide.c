/* decide.c - the rules of a restart in place (supervise/decide.h). */
#include "supervise/decide.h"

/* Processes that lose their parent by a KILL become children a moment later. */
enum { KILL_AGAIN_MS = 50 };

enum { FAILED = 1, KILLED = 128 + 9, TERMED = 128 + 15 };

static enum supervise_action clear(struct supervise_state *s,
				   const struct supervise_rules *rules, int64_t now)
{
	s->clearing = true;
	s->kill_at = now + rules->grace_ms;
	return SUPERVISE_TERM;
}

/*
 * With 0, the Job would never start this rank again, and the others, which have not ended
 * yet, could not go on without it.
 */
static bool ends_too_early(const struct supervise_state *s, int status)
{
	return s->stop_requested && !status && !s->free && !s->alone;
}

/*
 * The command has ended by itself, and nothing is started again. A status of TERM or KILL
 * would say that the pod was lost: its Job would replace it, and call that one's success
 * the job's.
 */
static enum supervise_action end_free(struct supervise_state *s)
{
	bool as_lost = s->status == TERMED || s->status == KILLED;

	if (as_lost && !s->stop_requested && !s->alone)
		s->status = FAILED;
	return SUPERVISE_END;
}

static enum supervise_action on_end(struct supervise_state *s, int status)
{
	s->ended = true;
	s->status = ends_too_early(s, status) ? TERMED : status;
	if (s->free)
		return end_free(s);
	return s->stop_requested ? SUPERVISE_END : SUPERVISE_WAIT;
}

static enum supervise_action start(struct supervise_state *s, int64_t restart)
{
	s->idle = s->ended = false;
	s->restart = restart;
	return SUPERVISE_START;
}

static enum supervise_action on_empty(struct supervise_state *s)
{
	s->clearing = false;
	s->kill_at = -1;
	if (ends_too_early(s, s->status))
		s->status = TERMED;
	if (s->stop_requested || s->free)
		return SUPERVISE_END;
	s->idle = true;
	return SUPERVISE_WAIT;
}

static enum supervise_action on_stop_request(struct supervise_state *s, int status)
{
	s->stop_requested = true;
	if (s->clearing || !(s->idle || s->ended))
		return SUPERVISE_WAIT;
	if (!s->ended || ends_too_early(s, s->status))
		s->status = status;
	return SUPERVISE_END;
}

enum supervise_action supervise_decide(struct supervise_state *s,
				       enum supervise_event event, int status,
				       int64_t now)
{
	if (event == SUPERVISE_STOP_REQUESTED)
		return on_stop_request(s, status);
	if (event == SUPERVISE_ENDED && !s->clearing)
		return on_end(s, status);
	if (!s->clearing)
		return SUPERVISE_WAIT;
	if (event == SUPERVISE_ENDED) { /* by our TERM; a failure before it counts */
		s->status = s->ended ? s->status : status;
		s->ended = true;
	}
	if (event == SUPERVISE_EMPTY)
		return on_empty(s);
	if (now < s->kill_at)
		return SUPERVISE_WAIT;
	s->kill_at = now + KILL_AGAIN_MS;
	return SUPERVISE_KILL;
}

enum supervise_action supervise_apply_order(struct supervise_state *s,
					    const struct supervise_rules *rules,
					    const struct hub_order *order, int64_t now)
{
	switch (order->order) {
	case ORDER_FREE:
		s->free = true;
		if (s->clearing || !(s->idle || s->ended))
			return SUPERVISE_WAIT;
		return s->idle ? SUPERVISE_END : end_free(s);
	case ORDER_STOP:
		s->next = order->epoch;
		if (s->idle || s->clearing || s->stop_requested)
			return SUPERVISE_WAIT;
		return clear(s, rules, now);
	case ORDER_START:
		if (!s->idle || order->epoch < s->next)
			return SUPERVISE_WAIT;
		return start(s, order->epoch);
	case ORDER_DUMP:
		return SUPERVISE_DUMP;
	}
	return SUPERVISE_WAIT;
}

struct peer_state supervise_peer_state(const struct supervise_state *s)
{
	struct peer_state state = { .leaving = s->stop_requested };

	if (s->idle && s->next) {
		state.phase = PEER_READY;
		state.epoch = (uint32_t)s->next;
	} else if (!s->idle) {
		state.phase = s->ended && !s->clearing ? PEER_ENDED : PEER_RUNNING;
		state.epoch = (uint32_t)s->restart;
	}
	if (state.phase == PEER_ENDED) {
		state.status = (uint32_t)s->status & 0xff;
		state.cause = s->cause;
	}
	return state;
}
