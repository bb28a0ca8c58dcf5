/* stall.c - the time without activity (supervise/stall.h). */
#include "supervise/stall.h"

void stall_start(struct stall *s, int64_t now)
{
	s->last = now;
	s->reports = 0;
}

void stall_activity(struct stall *s, uint32_t reports, int64_t now)
{
	stall_found(s, now);
	s->last = now;
	s->reports = reports > s->reports ? reports : s->reports;
}

int64_t stall_due(const struct stall *s)
{
	int64_t limit = s->longest * STALL_TIMES;

	if (s->after < 0 || (!s->after && s->reports < STALL_REPORTS))
		return -1;
	if (s->after)
		limit = s->after * (s->reports < STALL_REPORTS ? STALL_TIMES : 1);
	else if (limit < STALL_LEAST_MS)
		limit = STALL_LEAST_MS;
	return s->last + limit + STALL_LATE_MS;
}

void stall_found(struct stall *s, int64_t now)
{
	s->longest = now - s->last > s->longest ? now - s->last : s->longest;
}
