#include "kube/workqueue.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/thread.h"
#include "tests/unit/base/base_test.h"

static void add(struct workqueue *q, const char *key)
{
	workqueue_add(q, key, WORKQUEUE_NORMAL);
}

static void assert_next(struct workqueue *q, const char *want)
{
	const char *key;

	assert_true(workqueue_length(q) > 0);
	key = workqueue_get(q);
	assert_non_null(key);
	assert_string_equal(key, want);
}

TEST(test_a_key_is_queued_once)
{
	struct workqueue *q = workqueue_new("t", NULL);

	add(q, "b");
	add(q, "a");
	add(q, "b");
	assert_int_equal(workqueue_length(q), 2);
	assert_next(q, "b");
	assert_next(q, "a");
	workqueue_done(q, "b");
	workqueue_done(q, "a");
	workqueue_done(q, "a"); /* harmless */
	workqueue_done(q, "never added");
	assert_int_equal(workqueue_length(q), 0);
	workqueue_free(q);
}

TEST(test_added_while_worked_on)
{
	struct workqueue *q = workqueue_new("t", NULL);

	add(q, "a");
	assert_next(q, "a");
	add(q, "a");
	add(q, "a");
	assert_int_equal(workqueue_length(q), 0); /* not for a second worker */
	add(q, "b");
	workqueue_done(q, "a");
	assert_int_equal(workqueue_length(q), 2);
	assert_next(q, "b");
	assert_next(q, "a");
	workqueue_done(q, "a");
	assert_int_equal(workqueue_length(q), 0);
	workqueue_free(q);
}

static void assert_later(struct workqueue *q, const char *want)
{
	assert_int_equal(workqueue_length(q), 0);
	assert_string_equal(workqueue_get(q), want);
}

TEST(test_what_may_wait)
{
	struct workqueue *q = workqueue_new("t", NULL);

	workqueue_add(q, "a", WORKQUEUE_LATER);
	workqueue_add(q, "b", WORKQUEUE_LATER);
	workqueue_add(q, "c", WORKQUEUE_LATER);
	workqueue_add(q, "d", WORKQUEUE_LATER);
	add(q, "n");
	add(q, "b");                            /* brought forward, from the middle */
	add(q, "d");                            /* from the end */
	workqueue_add(q, "n", WORKQUEUE_LATER); /* not put back */
	workqueue_add(q, "e", WORKQUEUE_LATER);
	assert_int_equal(workqueue_length(q), 3);
	assert_next(q, "n");
	assert_next(q, "b");
	assert_next(q, "d");
	assert_later(q, "a");
	workqueue_add(q, "a", WORKQUEUE_LATER); /* under way: comes back, later or not */
	workqueue_add(q, "b", WORKQUEUE_LATER);
	add(q, "b");
	workqueue_done(q, "a");
	workqueue_done(q, "b");
	assert_next(q, "b");
	assert_later(q, "c");
	assert_later(q, "e");
	assert_later(q, "a");
	workqueue_shut_down(q);
	assert_null(workqueue_get(q));
	workqueue_free(q);
}

/* Whatever else comes, it gets its turn. */
TEST(test_what_may_wait_is_not_forgotten)
{
	struct workqueue *q = workqueue_new("t", NULL);
	int before = 0;
	char key[16];

	workqueue_add(q, "old", WORKQUEUE_LATER);
	for (int i = 0; i < 100; i++) {
		snprintf(key, sizeof(key), "new%d", i);
		add(q, key);
	}
	while (strcmp(workqueue_get(q), "old") != 0)
		before++;
	assert_in_range(before, 1, 20);
	workqueue_free(q);
}

/* A suspend or a resume is taken next, whatever a wave of new ones has brought. */
TEST(test_what_exists_goes_ahead_of_a_wave)
{
	struct workqueue *q = workqueue_new("t", NULL);
	char key[16];

	for (int i = 0; i < 500; i++) {
		snprintf(key, sizeof(key), "a/new%d", i);
		add(q, key);
	}
	workqueue_add(q, "a/old", WORKQUEUE_FIRST);
	workqueue_add(q, "a/new7", WORKQUEUE_FIRST); /* brought forward */
	assert_next(q, "a/old");
	assert_next(q, "a/new7");
	assert_next(q, "a/new0");
	workqueue_add(q, "a/new0", WORKQUEUE_FIRST); /* under way: comes back first */
	workqueue_done(q, "a/new0");
	assert_next(q, "a/new0");
	workqueue_free(q);
}

/* Changes without end do not keep new ones from their turn, nor these those found. */
TEST(test_every_way_gets_its_turn)
{
	struct workqueue *q = workqueue_new("t", NULL);
	int n = 0, now = 0, later = 0;
	const char *got;
	char key[16];

	for (int i = 0; i < 200; i++) {
		snprintf(key, sizeof(key), "c%d", i);
		workqueue_add(q, key, WORKQUEUE_FIRST);
	}
	add(q, "now");
	add(q, "now2");
	workqueue_add(q, "later", WORKQUEUE_LATER);
	while ((!now || !later) && workqueue_length(q)) {
		got = workqueue_get(q);
		n++;
		now = *got == 'n' ? n : now;
		later = *got == 'l' ? n : later;
	}
	assert_in_range(now, 1, 40);
	assert_in_range(later, 1, 120);
	workqueue_free(q);
}

/* However much one tenant brings, another's only key is among the next two. */
TEST(test_namespaces_take_turns)
{
	struct workqueue *q = workqueue_new("t", NULL);
	static const char *const want[] = { "a/0", "a/1", "b/x", "a/2", "c/x",
					    "a/3", "c/y", "a/4", "none" };
	char key[16];

	for (int i = 0; i < 5; i++) {
		snprintf(key, sizeof(key), "a/%d", i);
		add(q, key);
	}
	assert_next(q, want[0]);
	add(q, "b/x");
	assert_next(q, want[1]);
	add(q, "c/x");
	assert_next(q, want[2]);
	add(q, "c/y");
	for (int i = 3; i < 8; i++)
		assert_next(q, want[i]);
	add(q, want[8]); /* of no namespace */
	assert_next(q, want[8]);
	assert_int_equal(workqueue_length(q), 0);
	workqueue_free(q);
}

TEST(test_delays_keep_the_earliest)
{
	struct workqueue *q = workqueue_new("t", NULL);
	int64_t start = clock_ms();

	workqueue_add_after(q, "later", 60 * 1000);
	workqueue_add_after(q, "never", INT64_MAX);
	workqueue_add_after(q, "c", 90);
	workqueue_add_after(q, "a", 30);
	workqueue_add_after(q, "b", 3600 * 1000);
	workqueue_add_after(q, "b", 60);
	workqueue_add_after(q, "b", 3600 * 1000);
	assert_int_equal(workqueue_length(q), 0);
	for (const char *want = "abc"; *want; want++) {
		const char *key = workqueue_get(q);

		assert_int_equal(*key, *want);
		assert_true(clock_ms() - start >= 30 * (want[0] - 'a' + 1));
		workqueue_done(q, key);
	}
	assert_int_equal(workqueue_length(q), 0);
	workqueue_add_after(q, "now", 0);
	workqueue_add_after(q, "at once", -5);
	assert_next(q, "now");
	assert_next(q, "at once");
	workqueue_free(q);
}

/*
 * Many delays in a scrambled order come out in order. Of those keys that were worked on
 * meanwhile no delay is left.
 */
TEST(test_heap)
{
	enum { N = 300 };
	struct workqueue *q = workqueue_new("t", NULL);
	int64_t due[N], before = 0, slack = 0; /* its clock is read later than ours */
	unsigned seed = 7;
	char key[16];

	for (int round = 0; round < 3; round++)
		for (int i = 0; i < N; i++) {
			int64_t now = clock_ms(), took, ms;

			ms = 500 + ((seed = seed * 1103515245 + 12345) >> 16) % 100;
			snprintf(key, sizeof(key), "%d", i);
			due[i] = round && due[i] < now + ms ? due[i] : now + ms;
			workqueue_add_after(q, key, ms);
			took = clock_ms() - now;
			slack = took > slack ? took : slack;
		}
	for (int i = 0; i < N; i += 3) {
		snprintf(key, sizeof(key), "%d", i);
		add(q, key);
	}
	for (int i = 0; i < N; i += 3) {
		snprintf(key, sizeof(key), "%d", i);
		assert_next(q, key);
	}
	for (int i = 0; i < N - N / 3; i++) {
		const char *got = workqueue_get(q);
		int64_t n = strtol(got, NULL, 10);

		assert_true(n % 3 && due[n] <= clock_ms());
		assert_true(due[n] + slack >= before);
		before = due[n];
		workqueue_done(q, got);
	}
	clock_sleep_ms(5);
	assert_int_equal(workqueue_length(q), 0);
	workqueue_free(q);
}

TEST(test_retries_back_off)
{
	struct workqueue *q = workqueue_new("t", NULL);
	int64_t start;

	for (int64_t want = 5; want <= 160; want *= 2) {
		start = clock_ms();
		workqueue_retry(q, "a");
		workqueue_done(q, workqueue_get(q));
		assert_true(clock_ms() - start >= want - 1);
	}
	workqueue_forget(q, "a");
	workqueue_retry(q, "a"); /* 5 ms again, and not 320 */
	workqueue_add_after(q, "z", 60 * 1000);
	assert_string_equal(workqueue_get(q), "a");
	for (int i = 0; i < 100; i++) /* no further than 1000 s, and nothing overflows */
		workqueue_retry(q, "b");
	workqueue_done(q, workqueue_get(q));
	workqueue_retry_within(q, "b", 20); /* and not 1000 s */
	assert_string_equal(workqueue_get(q), "b");
	workqueue_forget(q, "not there");
	workqueue_free(q);
}

TEST(test_shut_down_drains)
{
	struct workqueue *q = workqueue_new("t", NULL);

	add(q, "a");
	add(q, "b");
	workqueue_add_after(q, "late", 60 * 1000);
	assert_next(q, "a");
	workqueue_shut_down(q);
	add(q, "c");
	workqueue_retry(q, "d");
	workqueue_done(q, "a");
	assert_next(q, "b");
	assert_null(workqueue_get(q));
	assert_null(workqueue_get(q));
	workqueue_free(q);
}

/* ---- workers --------------------------------------------------------------------- */

enum { WORKERS = 4, KEYS = 20, ADDS = 4000 };

struct shop {
	struct workqueue *q;
	pthread_mutex_t lock;
	int working[KEYS], seen[KEYS], wanted[KEYS], twice;
};

static void *work(void *ctx)
{
	struct shop *s = ctx;
	const char *key;

	while ((key = workqueue_get(s->q))) {
		long k = strtol(key, NULL, 10);

		pthread_mutex_lock(&s->lock);
		s->twice += s->working[k]++ > 0;
		s->seen[k] = s->wanted[k];
		pthread_mutex_unlock(&s->lock);
		if (k % 5 == 0)
			clock_sleep_ms(1);
		pthread_mutex_lock(&s->lock);
		s->working[k]--;
		pthread_mutex_unlock(&s->lock);
		workqueue_done(s->q, key);
	}
	return NULL;
}

/* Never two at one key, and none misses the last addition. */
TEST(test_workers)
{
	struct shop s = { .q = workqueue_new("t", NULL),
			  .lock = PTHREAD_MUTEX_INITIALIZER };
	pthread_t threads[WORKERS];
	unsigned seed = 3;
	struct error err;
	char key[16];

	for (int i = 0; i < WORKERS; i++)
		assert_int_equal(thread_start(&threads[i], work, &s, &err), 0);
	for (int i = 0; i < ADDS; i++) {
		unsigned k = ((seed = seed * 1103515245 + 12345) >> 16) % KEYS;

		snprintf(key, sizeof(key), "%u", k);
		pthread_mutex_lock(&s.lock);
		s.wanted[k]++;
		pthread_mutex_unlock(&s.lock);
		workqueue_add_after(s.q, key, seed >> 20 & 1);
	}
	clock_sleep_ms(20); /* the last delays are 1 ms */
	assert_true(workqueue_length(s.q) <= KEYS);
	workqueue_shut_down(s.q);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(s.twice, 0);
	for (int k = 0; k < KEYS; k++)
		assert_int_equal(s.seen[k], s.wanted[k]);
	workqueue_free(s.q);
}

static void assert_lines(struct metrics *m, const char *const *want)
{
	cleanup_buf struct buf out = { .max = 65536 };

	metrics_print(&out, m);
	for (; *want; want++)
		if (!strstr((const char *)out.data, *want))
			fail_msg("no %s in\n%s", *want, (const char *)out.data);
}

static void assert_depths(struct metrics *m, int now, int later)
{
	static const char form[] =
		"workqueue_depth{name=\"jobs\",controller=\"jobs\",priority=\"%s\"} %d\n";
	char lines[2][128];

	snprintf(lines[0], sizeof(lines[0]), form, "0", now);
	snprintf(lines[1], sizeof(lines[1]), form, "-100", later);
	assert_lines(m, (const char *const[]){ lines[0], lines[1], NULL });
}

/* Both depths, also when nothing is left. */
TEST(test_depths)
{
	struct metrics *m = metrics_new(workqueue_metrics);
	struct workqueue *q = workqueue_new("jobs", m);

	workqueue_add(q, "a", WORKQUEUE_LATER);
	workqueue_add(q, "b", WORKQUEUE_LATER);
	assert_depths(m, 0, 2);
	add(q, "b");
	assert_depths(m, 1, 1);
	workqueue_done(q, workqueue_get(q));
	workqueue_done(q, workqueue_get(q));
	assert_depths(m, 0, 0);
	workqueue_free(q);
	metrics_free(m);
}

TEST(test_metrics)
{
	static const char *const want[] = {
		"workqueue_depth{name=\"jobs\",controller=\"jobs\",priority=\"0\"} 1\n",
		"workqueue_adds_total{name=\"jobs\",controller=\"jobs\"} 4\n",
		"workqueue_retries_total{name=\"jobs\",controller=\"jobs\"} 1\n",
		"workqueue_queue_duration_seconds_count{name=\"jobs\",controller="
		"\"jobs\"} 3\n",
		"workqueue_work_duration_seconds_count{name=\"jobs\",controller=\"jobs\"} 1\n",
		"workqueue_unfinished_work_seconds{name=\"jobs\",controller=\"jobs\"} 0.",
		"workqueue_longest_running_processor_seconds{name=\"jobs\",controller=\"jobs\"} 0.",
		NULL,
	};
	struct metrics *m = metrics_new(workqueue_metrics);
	struct workqueue *q = workqueue_new("jobs", m);

	add(q, "a");
	add(q, "a");
	add(q, "b");
	workqueue_retry(q, "c");
	workqueue_done(q, workqueue_get(q));
	workqueue_get(q);
	workqueue_get(q);
	add(q, "c");
	clock_sleep_ms(2);
	workqueue_measure(q);
	assert_lines(m, want);
	workqueue_free(q);
	metrics_free(m);
}

static void *get_one(void *ctx)
{
	struct workqueue *q = ctx;

	return (void *)(uintptr_t)*workqueue_get(q);
}

/* Who waits for what is due in a minute gets what is due before it. */
TEST(test_an_earlier_one_wakes)
{
	struct workqueue *q = workqueue_new("t", NULL);
	int64_t start = clock_ms();
	pthread_t thread;
	struct error err;
	void *got;

	workqueue_add_after(q, "late", 60 * 1000);
	assert_int_equal(thread_start(&thread, get_one, q, &err), 0);
	clock_sleep_ms(50);
	workqueue_add_after(q, "soon", 50);
	pthread_join(thread, &got);
	assert_int_equal((uintptr_t)got, 's');
	assert_true(clock_ms() - start < 60 * 1000);
	workqueue_free(q);
}

/* All are there from the start, at 0; those of a priority since something had it. */
TEST(test_metrics_of_an_empty_one)
{
	static const char *const want[] = {
		"workqueue_depth{name=\"jobs\",controller=\"jobs\",priority=\"0\"} 0\n",
		"workqueue_adds_total{name=\"jobs\",controller=\"jobs\"} 0\n",
		"workqueue_retries_total{name=\"jobs\",controller=\"jobs\"} 0\n",
		NULL,
	};
	struct metrics *m = metrics_new(workqueue_metrics);
	struct workqueue *q = workqueue_new("jobs", m);
	cleanup_buf struct buf out = { .max = 65536 };

	workqueue_free(NULL);
	assert_lines(m, want);
	metrics_print(&out, m);
	assert_null(strstr((const char *)out.data, "priority=\"-100\""));
	workqueue_add(q, "a", WORKQUEUE_FIRST);
	assert_lines(m, (const char *const[]){ "priority=\"0\"} 0\n",
					       "priority=\"100\"} 1\n", NULL });
	workqueue_free(q);
	metrics_free(m);
}

RUN_TESTS(NULL, NULL)
