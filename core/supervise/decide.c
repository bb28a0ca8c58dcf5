/* decide.c - the rules of a restart in place (supervise/decide.h). */
#include "supervise/decide.h"

/* Processes that lose their parent by a KILL become children a moment later. */
enum { KILL_AGAIN_MS = 50 };

static enum supervise_action on_end(struct supervise_state *s,
				    const struct supervise_rules *rules, int status,
				    int64_t now)
{
	s->status = status;
	if (!status || s->asked || s->restart >= rules->restarts ||
	    rules->final[status & 0xff])
		return SUPERVISE_END;
	s->clearing = true;
	s->kill_at = now + rules->grace_ms;
	return SUPERVISE_TERM;
}

static enum supervise_action start_again(struct supervise_state *s)
{
	s->clearing = false;
	s->kill_at = -1;
	if (s->asked)
		return SUPERVISE_END;
	s->restart++;
	return SUPERVISE_START;
}

enum supervise_action supervise_decide(struct supervise_state *s,
				       const struct supervise_rules *rules,
				       enum supervise_event event, int status,
				       int64_t now)
{
	s->asked |= event == SUPERVISE_ASKED;
	if (!s->clearing)
		return event == SUPERVISE_ENDED ? on_end(s, rules, status, now)
						: SUPERVISE_WAIT;
	if (event == SUPERVISE_EMPTY)
		return start_again(s);
	if (now < s->kill_at)
		return SUPERVISE_WAIT;
	s->kill_at = now + KILL_AGAIN_MS;
	return SUPERVISE_KILL;
}
