/* events.c - runs schedules, and shortens those that fail (events.h). */
#include "tests/sim/events.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/str.h"
#include "base/xmalloc.h"

enum {
	START_MS = 1000 * 1000,
	TRIES = 3000,      /* to shorten a schedule */
	PAGE = 55,         /* lines of a trace in its shortest form */
	WIDTH = 160,       /* of them */
	CHOICES = 1 << 20, /* of a schedule in a process of its own, at most */
	SANITIZED = 50,    /* one schedule of so many is run with the sanitizers, too */
	STEPS = 1000000,   /* of a schedule: most have a thousand */
};

void __asan_init(void)
	__attribute__((weak)); /* NULL: this is not the sanitizers' build */
int __llvm_profile_write_file(void) __attribute__((weak)); /* coverage.sh */

struct event {
	int64_t at;
	uint64_t order; /* of events at the same time */
	void (*run)(void *ctx);
	void *ctx;
};

struct sim {
	uint64_t seed, state, n_events, steps;
	int64_t now;
	struct event *heap;
	size_t n, cap;
	int64_t *choices; /* those made; `given` of them are not thrown */
	size_t made, given, cap_choices;
	bool replays; /* after the given ones, all are 0 */
	enum trace { TRACE_NONE, TRACE_ALL, TRACE_PAGE } trace;
	char page[PAGE][WIDTH]; /* its last lines, in a ring */
	size_t lines;           /* all that there were */
	bool broken;
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

uint64_t sim_number(const struct sim *s)
{
	return s->seed;
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

	if (s->steps++ == STEPS)
		sim_broken(s, "no end after %d steps", STEPS);
	if (!s->n || s->steps > STEPS)
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

/* Was it said lately? Then a page leaves it out. */
static bool is_repeated(const struct sim *s, const char *text)
{
	for (size_t k = 1; k <= 8 && k <= s->lines; k++)
		if (str_ends(s->page[(s->lines - k) % PAGE], text))
			return true;
	return false;
}

static void say(struct sim *s, const char *word, const char *text)
{
	int64_t ms = s->now - START_MS;
	char line[WIDTH];

	if (s->trace == TRACE_NONE || (s->trace == TRACE_PAGE && is_repeated(s, text)))
		return;
	snprintf(line, sizeof(line), "# %4" PRId64 ".%03d %s%s", ms / 1000,
		 (int)(ms % 1000), word, text);
	if (s->trace == TRACE_ALL)
		puts(line);
	memcpy(s->page[s->lines++ % PAGE], line, sizeof(line));
}

static void print_page(const struct sim *s)
{
	size_t first = s->lines > PAGE ? s->lines - PAGE : 0;

	if (first)
		printf("# (%zu lines before)\n", first);
	for (size_t k = first; k < s->lines; k++)
		puts(s->page[k % PAGE]);
}

void sim_note(struct sim *s, const char *fmt, ...)
{
	char text[WIDTH];
	va_list args;

	if (s->trace == TRACE_NONE)
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

static void run_here(struct sim *s, const struct sim_conf *conf)
{
	s->state = mix(s->seed);
	s->now = START_MS;
	s->n = s->n_events = s->steps = s->made = 0;
	s->broken = false;
	running = s;
	conf->world(s);
	running = NULL;
}

/*
 * In a process of its own, which begins as this one is, ends with what the schedule
 * left, and may crash.
 */
static void run(struct sim *s, const struct sim_conf *conf)
{
	int status = 0;
	pid_t pid;

	if (!conf->forks) {
		run_here(s, conf);
		return;
	}
	fflush(stdout);
	pid = fork();
	if (!pid) {
		s->heap = NULL;
		s->cap = 0;
		run_here(s, conf);
		fflush(stdout);
		if (__llvm_profile_write_file)
			__llvm_profile_write_file();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	if (status)
		sim_broken(s, "the program died: status 0x%x", (unsigned)status);
}

static struct sim *sim_new(const struct sim_conf *conf)
{
	size_t size = sizeof(struct sim) + CHOICES * sizeof(int64_t);
	struct sim *s;

	if (!conf->forks)
		return xcalloc(1, sizeof(*s));
	s = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s == MAP_FAILED)
		abort();
	s->choices = (int64_t *)(s + 1);
	s->cap_choices = CHOICES;
	return s;
}

static void sim_free(struct sim *s, const struct sim_conf *conf)
{
	if (conf->forks) {
		munmap(s, sizeof(*s) + CHOICES * sizeof(int64_t));
		return;
	}
	free(s->heap);
	free(s->choices);
	free(s);
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

/* ---- the shortest schedule that fails as this one does ---- */

struct shortening {
	struct sim *s;
	const struct sim_conf *conf;
	int64_t *best; /* its choices */
	size_t n;
	char why[sizeof(((struct sim *)0)->why)];
	int tries;
	bool better; /* in this round */
};

/* Does it fail without `gone` choices after the first `at`? Then it is the best so far. */
static bool attempt(struct shortening *h, size_t at, size_t gone)
{
	struct sim *s = h->s;

	if (h->tries++ >= TRIES)
		return false;
	memmove(s->choices + at, s->choices + at + gone,
		(h->n - at - gone) * sizeof(*s->choices));
	s->given = h->n - gone;
	run(s, h->conf);
	if (!s->broken || !is_same_failure(s->why, h->why) || s->made > h->n)
		return false;
	h->n = s->made;
	memcpy(h->best, s->choices, h->n * sizeof(*h->best));
	h->better = true;
	return true;
}

static int64_t *candidate(struct shortening *h)
{
	memcpy(h->s->choices, h->best, h->n * sizeof(*h->best));
	return h->s->choices;
}

static bool has_some(const int64_t *choices, size_t n)
{
	while (n && !choices[n - 1])
		n--;
	return n > 0;
}

/* Blocks of choices are left out, or are the calmest. */
static void shorten_blocks(struct shortening *h)
{
	for (size_t block = h->n; block; block /= 2)
		for (size_t at = 0; at < h->n; at += block) {
			size_t len = block < h->n - at ? block : h->n - at;

			if (!has_some(h->best + at, len))
				continue;
			memset(candidate(h) + at, 0, len * sizeof(*h->best));
			if (!attempt(h, at, 0) && len < 8) {
				candidate(h);
				attempt(h, at, len);
			}
		}
}

/* A choice is calmer; as it may be a number of actors, also without choices of theirs. */
static void shorten_one(struct shortening *h, size_t at)
{
	for (int64_t v = 0; at < h->n && v < h->best[at]; v += 1 + v / 2)
		for (size_t gone = 0; gone < 4 && at + 1 + gone < h->n; gone++) {
			candidate(h)[at] = v;
			if (attempt(h, at + 1, gone))
				return;
		}
}

static void shorten(struct sim *s, const struct sim_conf *conf)
{
	struct shortening h = { .s = s, .conf = conf, .n = s->made, .better = true };
	cleanup_free int64_t *best = xcalloc(s->made + 1, sizeof(*best));

	memcpy(h.why, s->why, sizeof(h.why));
	memcpy(best, s->choices, s->made * sizeof(*best));
	h.best = best;
	s->replays = true;
	while (h.better && h.tries < TRIES) {
		h.better = false;
		shorten_blocks(&h);
		for (size_t at = 0; at < h.n; at++)
			shorten_one(&h, at);
	}
	candidate(&h);
	s->given = h.n;
}

/* Run the schedule of a seed; if it fails, print its shortest form: a page. */
static bool try(const struct sim_conf *conf, uint64_t seed, bool trace)
{
	struct sim *s = sim_new(conf);
	bool broken;

	s->seed = seed;
	s->trace = trace ? TRACE_ALL : TRACE_NONE;
	if (trace)
		printf("# seed %" PRIu64 "\n", seed);
	run(s, conf);
	broken = s->broken;
	if (broken) {
		printf("# seed %" PRIu64 ": %s\n", seed, s->why);
		s->trace = TRACE_NONE;
		shorten(s, conf);
		s->trace = TRACE_PAGE;
		s->lines = 0;
		run(s, conf);
		print_page(s);
	}
	sim_free(s, conf);
	return broken;
}

static void tell(int number, bool broken, const char *name, const char *what)
{
	printf("%sok %d - %s: %s\n", broken ? "not " : "", number, name, what);
}

struct options {
	uint64_t first, n;
	bool trace, counted, chosen; /* a seed was: the known ones are left out */
};

static struct options read_options(const struct sim_conf *conf, int argc, char **argv)
{
	struct options o = { .first = 1, .n = conf->schedules };

	if (__asan_init) /* each costs more; others than those without */
		o = (struct options){ .first = 1 + o.n, .n = o.n / SANITIZED };
	for (int i = 1; i < argc; i++) {
		uint64_t number = i + 1 < argc ? strtoull(argv[i + 1], NULL, 10) : 0;

		if (str_eq(argv[i], "--trace")) {
			o.trace = true;
			continue;
		}
		if (str_eq(argv[i], "--schedules") && number)
			o = (struct options){ o.first, number, o.trace, true, o.chosen };
		else if (str_eq(argv[i], "--seed") && number)
			o = (struct options){ number, o.counted ? o.n : 1, o.trace,
					      o.counted, true };
		else
			exit((fprintf(stderr,
				      "usage: %s [--seed N] [--schedules N] [--trace]\n",
				      argv[0]),
			      2));
		i++;
	}
	return o;
}

int sim_main(const struct sim_conf *conf, int argc, char **argv)
{
	struct options o = read_options(conf, argc, argv);
	bool bad = false;
	char what[80];
	int tests = 0;

	log_setup(LOG_LEVEL_ERROR, LOG_FORMAT_TEXT, open("/dev/null", O_WRONLY));
	for (const struct sim_seed *k = conf->known; !o.chosen && k->seed; k++) {
		bool broken = try(conf, k->seed, false);

		bad |= broken;
		tell(++tests, broken, conf->name, k->fault);
	}
	for (uint64_t i = 0; i < o.n && !bad; i++)
		bad = try(conf, o.first + i, o.trace);
	snprintf(what, sizeof(what), "%" PRIu64 " schedules from seed %" PRIu64, o.n,
		 o.first);
	tell(++tests, bad, conf->name, what);
	printf("1..%d\n", tests);
	return bad;
}
