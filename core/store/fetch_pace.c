/* Decides how many connections to use; see fetch_pace.h. */
#include "store/fetch_pace.h"

enum {
	FAST = 100 << 20,   /* bytes/s of one connection that make more unnecessary */
	ENOUGH = 100 << 20, /* bytes/s of all: below it more connections do no harm */
	WINDOW_MS = 200,    /* for measuring a rate */
	WARM_UP_MS = 300,   /* new connections need a while */
	SILENCE_MS = 1000,  /* to wait for the first byte before deciding */
	PAUSE_MS = 1000,
	MAX_PAUSE_MS = 30000,
};

/* Doubling the connections must increase the rate by at least a third. */
static bool has_helped(const struct pace *p, int64_t rate)
{
	return p->before < ENOUGH || rate >= p->before + p->before / 3;
}

static unsigned evaluate(struct pace *p, unsigned now, int64_t rate)
{
	unsigned from = p->from;

	p->from = 0;
	if (has_helped(p, rate)) {
		p->pause_ms = 0;
		return now;
	}
	p->pause_ms = p->pause_ms ? 2 * p->pause_ms : PAUSE_MS;
	if (p->pause_ms > MAX_PAUSE_MS)
		p->pause_ms = MAX_PAUSE_MS;
	p->next_ms = p->ms + p->pause_ms;
	return from;
}

static void measure(struct pace *p, int64_t bytes, int64_t ms)
{
	p->ms = ms;
	p->bytes = bytes;
	p->due_ms = ms + WINDOW_MS;
}

static unsigned try_more(struct pace *p, unsigned now, unsigned max, int64_t rate)
{
	if (p->cpu_bound || now >= max || p->ms < p->next_ms ||
	    rate >= (int64_t)now * FAST)
		return now;
	p->before = rate;
	p->from = now;
	p->warming_up = rate >= ENOUGH;
	if (p->warming_up)
		p->due_ms = p->ms + WARM_UP_MS;
	return 2 * now < max ? 2 * now : max;
}

unsigned pace_adjust(struct pace *p, unsigned now, unsigned max, int64_t bytes,
		     int64_t ms)
{
	int64_t rate;

	if (!p->due_ms || (!p->bytes && ms < p->begin_ms + SILENCE_MS))
		measure(p, bytes, ms); /* from the first byte on */
	if (ms < p->due_ms)
		return now;
	rate = (bytes - p->bytes) * 1000 / (ms > p->ms ? ms - p->ms : 1);
	measure(p, bytes, ms);
	if (p->warming_up) {
		p->warming_up = false;
		return now;
	}
	if (p->from)
		now = evaluate(p, now, rate);
	return try_more(p, now, max, rate);
}
