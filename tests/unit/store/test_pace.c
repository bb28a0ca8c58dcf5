#include <pthread.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "store/cpu_wait.h"
#include "store/fetch.h"
#include "store/fetch_pace.h"
#include "tests/unit/unit.h"

enum { MB = 1000000, TICK = 100, FEW = 4, MAX = 16 };

/* What comes in a second of n connections. */
struct link {
	const char *what;
	int64_t of_one, of_all; /* MB/s */
	unsigned wanted; /* after 1.6 seconds, before what did not pay is tried again */
};

static unsigned run(const struct link *l, int ticks)
{
	struct pace p = { 0 };
	unsigned now = FEW;
	int64_t bytes = 0;

	for (int i = 1; i <= ticks; i++) {
		int64_t rate = now * l->of_one < l->of_all ? now * l->of_one : l->of_all;

		bytes += rate * MB * TICK / 1000;
		now = pace_adjust(&p, now, MAX, bytes, (int64_t)i * TICK);
	}
	return now;
}

TEST(test_links)
{
	static const struct link links[] = {
		{ "a limit for each connection", 50, 100000, 16 },
		{ "a slow one for each", 1, 100000, 16 },
		{ "the machine is the narrow place", 350, 350, 4 },
		{ "so is the link", 150, 300, 4 },
		{ "slower than what could hurt", 12, 12, 16 },
		{ "eight are enough", 50, 400, 8 },
		{ "fast without company", 250, 1000, 4 },
		{ "nothing comes for long", 0, 0, 16 },
	};

	for (size_t i = 0; i < N_ELEMENTS(links); i++)
		if (run(&links[i], 16) != links[i].wanted)
			fail_msg("%s: %u, wanted %u", links[i].what, run(&links[i], 16),
				 links[i].wanted);
}

/* What did not pay is tried again, and again later each time. */
TEST(test_pauses)
{
	struct pace p = { 0 };
	unsigned now = FEW, tries = 0;
	int64_t bytes = 0;

	for (int64_t ms = TICK; ms <= 60000; ms += TICK) {
		unsigned before = now;

		bytes += 20 * MB;
		now = pace_adjust(&p, now, MAX, bytes, ms);
		tries += now > before;
	}
	assert_int_equal(now, FEW);
	assert_in_range(tries, 4, 6);
}

/* One that grows up to the most allowed, and not beyond. */
TEST(connections_grow_up_to_the_maximum)
{
	struct pace p = { 0 };
	unsigned now = 1;
	int64_t bytes = 0;

	for (int64_t ms = TICK; ms <= 2000; ms += TICK) {
		bytes += now * MB;
		now = pace_adjust(&p, now, 3, bytes, ms);
		assert_in_range(now, 1, 3);
	}
	assert_int_equal(now, 3);
}

/* A slow link asks for more connections; a machine that has no time does not get them. */
TEST(test_short_of_processors)
{
	struct pace p = { .cpu_bound = true };
	unsigned now = FEW;
	int64_t bytes = 0, ms = TICK;

	for (; ms <= 5000; ms += TICK) {
		bytes += MB;
		now = pace_adjust(&p, now, MAX, bytes, ms);
		assert_int_equal(now, FEW);
	}
	p.cpu_bound = false;
	for (; ms <= 10000; ms += TICK) {
		bytes += MB;
		now = pace_adjust(&p, now, MAX, bytes, ms);
	}
	assert_int_equal(now, MAX);
}

static void *spin(void *over)
{
	while (!__atomic_load_n((bool *)over, __ATOMIC_RELAXED))
		;
	return NULL;
}

/* Four threads a processor wait three quarters of the time; one that sleeps does not. */
TEST(test_waiting_for_processors)
{
	unsigned n = 4 * (unsigned)sysconf(_SC_NPROCESSORS_ONLN), started = 0;
	struct cpu_wait s = { 0 };
	pthread_t threads[256];
	bool over = false;
	struct error err;

	if (access("/proc/self/schedstat", R_OK) || n > 256)
		skip();
	cpu_wait_high(&s, clock_ms()); /* all the time there has been */
	usleep(500000);
	assert_false(cpu_wait_high(&s, clock_ms()));
	while (started < n && !thread_start(&threads[started], spin, &over, &err))
		started++;
	usleep(500000);
	assert_true(cpu_wait_high(&s, clock_ms()));
	assert_true(cpu_wait_high(&s, clock_ms())); /* too soon for another */
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
}

TEST(test_receive_bytes)
{
	assert_int_equal(fetch_receive_bytes(1), 1 << 20);
	assert_int_equal(fetch_receive_bytes(0), fetch_receive_bytes(FETCH_CONNECTIONS));
	for (unsigned n = 1; n <= 2 * FETCH_MAX_CONNECTIONS; n++) {
		unsigned used = n < FETCH_MAX_CONNECTIONS ? n : FETCH_MAX_CONNECTIONS;

		assert_in_range(fetch_receive_bytes(n), 256 * 1024, 1 << 20);
		assert_in_range(used * fetch_receive_bytes(n), 1 << 20, 16 << 20);
	}
}

RUN_TESTS(NULL, NULL)
