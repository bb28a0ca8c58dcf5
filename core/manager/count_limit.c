/* count_limit.c - limit the writes of pod counts to a status (manager/count_limit.h). */
#include "manager/count_limit.h"

/* Has no other TrainJob's status been written for a while? */
static bool is_alone(struct count_limit *l, const struct count_bucket *b, int64_t now)
{
	int64_t other;

	pthread_mutex_lock(&l->lock);
	other = l->last == b ? l->other_ms : l->last_ms;
	pthread_mutex_unlock(&l->lock);
	return !other || now - other >= COUNT_MS;
}

int64_t count_limit_delay(struct count_limit *l, const struct count_bucket *b,
			  int64_t now)
{
	int64_t left;

	if (!b->written_ms)
		return 0;
	if (is_alone(l, b, now))
		left = b->full_ms - (COUNT_BURST - 1) * COUNT_MS - now;
	else
		left = b->written_ms + COUNT_MS - now;
	return left > 0 ? left : 0;
}

void count_limit_wrote(struct count_limit *l, struct count_bucket *b, bool count_only,
		       int64_t now)
{
	b->written_ms = now;
	if (count_only)
		b->full_ms = (b->full_ms > now ? b->full_ms : now) + COUNT_MS;
	pthread_mutex_lock(&l->lock);
	if (l->last != b)
		l->other_ms = l->last_ms;
	l->last = b;
	l->last_ms = now;
	pthread_mutex_unlock(&l->lock);
}
