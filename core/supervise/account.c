/* account.c - the time of a job, by what it was for (supervise/account.h). */
#include "supervise/account.h"

void account_init(struct account *a, int64_t now)
{
	*a = (struct account){ .since = now, .waiting = SUPERVISION_STARTING };
}

/* Put the time until `now` into its slices. */
static void add_time(struct account *a, int64_t now)
{
	int64_t begun = a->output < 0 ? now : a->output;

	if (!a->running) {
		a->ms[a->waiting] += now - a->since;
	} else if (a->reported) {
		a->ms[a->higher ? SUPERVISION_PRODUCTIVE : SUPERVISION_REPEATED] +=
			now - a->since;
	} else {
		begun = begun < a->since ? a->since : begun;
		a->ms[SUPERVISION_STARTING] += begun - a->since;
		a->ms[SUPERVISION_PRODUCTIVE] += now - begun;
	}
	a->since = now;
}

void account_start(struct account *a, int64_t now)
{
	add_time(a, now);
	a->running = true;
	a->reported = false;
	a->output = -1;
	a->last = now;
}

void account_activity(struct account *a, bool report, bool higher, int64_t now)
{
	if (!a->running)
		return;
	a->last = now;
	if (a->output < 0)
		a->output = now;
	if (!report)
		return;
	if (a->reported)
		a->higher = higher;
	else
		a->output = -1; /* until now it was starting */
	add_time(a, now);
	a->reported = true;
	a->higher = higher;
}

void account_stall(struct account *a, int64_t now)
{
	add_time(a, a->last > a->since ? a->last : a->since);
	a->ms[SUPERVISION_STALLED] += now - a->since;
	a->since = now;
	account_stop(a, now);
}

void account_stop(struct account *a, int64_t now)
{
	add_time(a, now);
	a->running = false;
	a->waiting = SUPERVISION_RESTARTING;
}

void account_read(const struct account *a, int64_t ret[SUPERVISION_SLICES], int64_t now)
{
	struct account copy = *a;

	add_time(&copy, now);
	for (int i = 0; i < SUPERVISION_SLICES; i++)
		ret[i] = copy.ms[i];
}
