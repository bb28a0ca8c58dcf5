/* gains.c - the progress that restarts have made (supervise/gains.h) */
#include "supervise/gains.h"

#include <stddef.h>

static bool raise(struct place *to, struct place at)
{
	bool higher = at.percent > to->percent || at.step > to->step;

	to->percent = at.percent > to->percent ? at.percent : to->percent;
	to->step = at.step > to->step ? at.step : to->step;
	return higher;
}

bool gains_report(struct gains *g, struct place at)
{
	bool higher = raise(&g->high, at);

	g->reported = true;
	raise(&g->now, at);
	if (higher)
		g->without = 0;
	return higher;
}

const char *gains_refuse(const struct gains *g, bool memory)
{
	if (!g->reported)
		return NULL;
	if (memory && g->memory && g->now.percent == g->last.percent &&
	    g->now.step == g->last.step)
		return "out of memory at the same step twice";
	return g->without >= GAINS_RESTARTS ? "three restarts without progress" : NULL;
}

void gains_restart(struct gains *g, bool memory)
{
	g->without++;
	g->memory = memory;
	g->last = g->now;
	g->now = (struct place){ 0, 0 };
}
