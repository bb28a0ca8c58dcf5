/* events.c - runs schedules, and shortens those that fail (events.h). */
#include "tests/sim/events.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "base/xmalloc.h"

enum { START_MS = 1000 * 1000, TRIES = 600 };

struct event {
	int64_t at;
	uint64_t order; /* of events at the same time */
	void (*run)(void *ctx);
	void *ctx;
};

struct sim {
	uint64_t seed, state, n_events;
	int64_t now;
	struct event *heap;
	size_t n, cap;
	int64_t *choices; /* those made; `given` of them are not thrown */
	size_t made, given, cap_choices;
	bool replays; /* after the given ones, all are 0 */
	bool trace, broken;
	char why[400];
};

static struct sim *running;

int64_t __wrap_clock_ms(void);
int64_t __wrap_clock_ms(void)
{
	return running ? running->now : START_MS;
}

/* splitmix64. */
static uint64_t mix(uint64_t z)
{
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

int64_t sim_dice(struct sim *s, int64_t sides)
{
	int64_t v = 0;

	if (sides < 2)
		return 0;
	if (s->made < s->given)
		v = s->choices[s->made] % sides;
	else if (!s->replays)
		v = (int64_t)(mix(s->state += 0x9e3779b97f4a7c15) % (uint64_t)sides);
	if (s->made == s->cap_choices) {
		s->cap_choices = 2 * s->cap_choices + 1024;
		s->choices =
			xreallocarray(s->choices, s->cap_choices, sizeof(*s->choices));
	}
	s->choices[s->made++] = v;
	return v;
}

/* ---- events: a binary heap ---- */

static bool is_before(const struct event *a, const struct event *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void swap(struct event *a, struct event *b)
{
	struct event t = *a;

	*a = *b;
	*b = t;
}

void sim_after(struct sim *s, int64_t ms, void (*run)(void *ctx), void *ctx)
{
	size_t i = s->n++;

	if (i == s->cap) {
		s->cap = 2 * s->cap + 64;
		s->heap = xreallocarray(s->heap, s->cap, sizeof(*s->heap));
	}
	s->heap[i] =
		(struct event){ s->now + ms, mix(s->seed + s->n_events++), run, ctx };
	for (; i && is_before(&s->heap[i], &s->heap[(i - 1) / 2]); i = (i - 1) / 2)
		swap(&s->heap[i], &s->heap[(i - 1) / 2]);
}

bool sim_step(struct sim *s)
{
	struct event next;
	size_t i = 0, least = 0;

	if (!s->n)
		return false;
	next = s->heap[0];
	s->heap[0] = s->heap[--s->n];
	do {
		i = least;
		for (size_t k = 2 * i + 1; k <= 2 * i + 2 && k < s->n; k++)
			if (is_before(&s->heap[k], &s->heap[least]))
				least = k;
		swap(&s->heap[i], &s->heap[least]);
	} while (least != i);
	s->now = next.at;
	next.run(next.ctx);
	return true;
}

/* ---- what happens ---- */

static void say(const struct sim *s, const char *word, const char *text)
{
	int64_t ms = s->now - START_MS;

	if (s->trace)
		printf("# %4" PRId64 ".%03d %s%s\n", ms / 1000, (int)(ms % 1000), word,
		       text);
}

void sim_note(struct sim *s, const char *fmt, ...)
{
	char text[400];
	va_list args;

	if (!s->trace)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	say(s, "", text);
}

void sim_broken(struct sim *s, const char *fmt, ...)
{
	va_list args;

	if (s->broken)
		return;
	s->broken = true;
	va_start(args, fmt);
	vsnprintf(s->why, sizeof(s->why), fmt, args);
	va_end(args);
	say(s, "BROKEN: ", s->why);
}

bool sim_is_broken(const struct sim *s)
{
	return s->broken;
}

/* ---- schedules ---- */

static void run(struct sim *s, const struct sim_conf *conf)
{
	s->state = mix(s->seed);
	s->now = START_MS;
	s->n = s->n_events = s->made = 0;
	s->broken = false;
	running = s;
	conf->world(s);
	running = NULL;
}

static void sim_release(struct sim *s)
{
	free(s->heap);
	free(s->choices);
}

/* Do two failures differ in their numbers only? */
static bool is_same_failure(const char *a, const char *b)
{
	for (;; a++, b++) {
		while (*a >= '0' && *a <= '9')
			a++;
		while (*b >= '0' && *b <= '9')
			b++;
		if (*a != *b || !*a)
			return *a == *b;
	}
}

/* Set choices to 0, in blocks of half the size each time, while the schedule fails. */
static void shorten(struct sim *s, const struct sim_conf *conf)
{
	size_t n = s->made, size = n * sizeof(int64_t);
	cleanup_free int64_t *best = xcalloc(n + 1, sizeof(*best));
	char why[sizeof(s->why)];
	int tries = 0;

	memcpy(why, s->why, sizeof(why));
	memcpy(best, s->choices, size);
	s->replays = true;
	s->given = n;
	for (size_t block = n; block && tries < TRIES; block /= 2)
		for (size_t at = 0; at < n && tries < TRIES; at += block, tries++) {
			size_t len = block < n - at ? block : n - at;

			memcpy(s->choices, best, size);
			memset(s->choices + at, 0, len * sizeof(*best));
			run(s, conf);
			if (s->broken && is_same_failure(s->why, why))
				memset(best + at, 0, len * sizeof(*best));
		}
	memcpy(s->choices, best, size);
}

/* Run the schedule of a seed; if it fails, print it in its shortest form. */
static bool try(const struct sim_conf *conf, uint64_t seed, bool trace)
{
	struct sim s = { .seed = seed, .trace = trace };
	bool broken;

	run(&s, conf);
	broken = s.broken;
	if (broken && !trace) {
		printf("# seed %" PRIu64 ": %s\n", seed, s.why);
		shorten(&s, conf);
		s.trace = true;
		run(&s, conf);
	}
	sim_release(&s);
	return broken;
}

static void tell(int number, bool broken, const char *name, const char *what)
{
	printf("%sok %d - %s: %s\n", broken ? "not " : "", number, name, what);
}

int sim_main(const struct sim_conf *conf, int argc, char **argv)
{
	uint64_t n = conf->schedules, seed = 0, first = 1;
	bool trace = false, bad = false, all = true;
	char what[60];
	int tests = 0;

	for (int i = 1; i < argc; i++)
		if (str_eq(argv[i], "--trace"))
			trace = true;
		else if (str_eq(argv[i], "--no-known"))
			all = false;
		else if (i + 1 < argc && str_eq(argv[i], "--seed"))
			seed = strtoull(argv[++i], NULL, 10);
		else if (i + 1 < argc && str_eq(argv[i], "--schedules"))
			n = strtoull(argv[++i], NULL, 10);
		else if (i + 1 < argc && str_eq(argv[i], "--first"))
			first = strtoull(argv[++i], NULL, 10);
	log_setup(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT, open("/dev/null", O_WRONLY));
	if (seed)
		return try(conf, seed, trace);
	for (const struct sim_seed *k = conf->known; all && k->seed; k++) {
		bool broken = try(conf, k->seed, false);

		bad |= broken;
		tell(++tests, broken, conf->name, k->fault);
	}
	for (seed = first; seed < first + n && !bad; seed++)
		bad = try(conf, seed, false);
	snprintf(what, sizeof(what), "%" PRIu64 " schedules", n);
	tell(++tests, bad, conf->name, what);
	printf("1..%d\n", tests);
	return bad;
}
