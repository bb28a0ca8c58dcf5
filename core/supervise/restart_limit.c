/* restart_limit.c - limit restarts by their progress (supervise/restart_limit.h) */
#include "supervise/restart_limit.h"

#include <stddef.h>

static bool raise(struct training_progress *to, struct training_progress at)
{
	bool higher = at.percent > to->percent || at.step > to->step;

	to->percent = at.percent > to->percent ? at.percent : to->percent;
	to->step = at.step > to->step ? at.step : to->step;
	return higher;
}

bool restart_limit_report(struct restart_limit *g, struct training_progress at)
{
	bool higher = raise(&g->high, at);

	g->reported = true;
	raise(&g->now, at);
	if (higher)
		g->without = 0;
	return higher;
}

const char *restart_limit_refuse(const struct restart_limit *g, bool memory)
{
	if (!g->reported)
		return NULL;
	if (memory && g->memory && g->now.percent == g->last.percent &&
	    g->now.step == g->last.step)
		return "out of memory at the same step twice";
	return g->without >= RESTART_LIMIT ? "three restarts without progress" : NULL;
}

void restart_limit_restart(struct restart_limit *g, bool memory)
{
	g->without++;
	g->memory = memory;
	g->last = g->now;
	g->now = (struct training_progress){ 0, 0 };
}
