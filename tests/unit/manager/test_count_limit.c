/* When statuses that only count pods are written: by a clock of the test's own. */

#include "manager/count_limit.h"
#include "tests/unit/unit.h"

enum { MAX_JOBS = 100, MAX_WRITES = 64 };

/* What the controller does: a change that has to wait is written with the later ones. */
struct sim {
	struct count_limit limit;
	struct count_bucket jobs[MAX_JOBS];
	int64_t due[MAX_JOBS];       /* 0: nothing waits */
	int64_t written[MAX_WRITES]; /* by job 0 */
	size_t n;                    /* of job 0 */
	size_t total;                /* of all */
};

static void write_now(struct sim *s, size_t job, bool count_only, int64_t now)
{
	count_limit_wrote(&s->limit, &s->jobs[job], count_only, now);
	s->due[job] = 0;
	s->total++;
	if (!job && s->n < MAX_WRITES)
		s->written[s->n++] = now;
}

static void change(struct sim *s, size_t job, int64_t now)
{
	int64_t wait = count_limit_delay(&s->limit, &s->jobs[job], now);

	if (!wait)
		write_now(s, job, true, now);
	else if (!s->due[job] || now + wait < s->due[job])
		s->due[job] = now + wait;
}

static void tick(struct sim *s, int64_t now)
{
	for (size_t i = 0; i < MAX_JOBS; i++)
		if (s->due[i] && s->due[i] <= now) {
			s->due[i] = 0;
			change(s, i, now);
		}
}

/* One TrainJob: conditions at 1000 ms, then changes of its counts; when they are written. */
TEST(test_alone)
{
	static const struct {
		int64_t changes[12], written[12];
	} rows[] = {
		{ { 1010 }, { 1010 } },
		{ { 1010, 1020, 1060 }, { 1010, 1020, 1060 } },
		/* of a job whose pods start one after the other: four, then four a second */
		{ { 1010, 1020, 1030, 1040, 1050, 1060, 1070, 1500 },
		  { 1010, 1020, 1030, 1040, 1260, 1510 } },
		/* later again at once */
		{ { 1010, 1020, 1030, 1040, 5000, 5001, 5002, 5003, 5004 },
		  { 1010, 1020, 1030, 1040, 5000, 5001, 5002, 5003, 5250 } },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct sim s = { .limit.lock = PTHREAD_MUTEX_INITIALIZER };
		size_t next = 0, n = 0;

		write_now(&s, 0, false, 1000);
		for (int64_t now = 1001; now < 7000; now++) {
			tick(&s, now);
			if (rows[i].changes[next] == now) {
				change(&s, 0, now);
				next++;
			}
		}
		while (rows[i].written[n])
			n++;
		assert_int_equal(s.n, n + 1);
		for (size_t k = 0; k < n; k++)
			assert_int_equal(s.written[k + 1], rows[i].written[k]);
	}
}

/*
 * A wave: a hundred TrainJobs, one each 10 ms, with three changes each within 100 ms. One
 * write of the conditions and one of the counts each, as without any burst.
 */
TEST(test_wave)
{
	struct sim s = { .limit.lock = PTHREAD_MUTEX_INITIALIZER };

	for (int64_t now = 1000; now < 4000; now++) {
		tick(&s, now);
		for (size_t job = 0; job < MAX_JOBS; job++) {
			int64_t since = now - 1000 - 10 * (int64_t)job;

			if (since == 0)
				write_now(&s, job, false, now);
			else if (since == 30 || since == 60 || since == 100)
				change(&s, job, now);
		}
	}
	assert_int_equal(s.total, 2 * MAX_JOBS);
	assert_int_equal(s.written[1], 1250);
}

/* The same of two: the other's writes count, its own do not. */
TEST(writes_of_the_other_job_delay)
{
	struct sim s = { .limit.lock = PTHREAD_MUTEX_INITIALIZER };

	write_now(&s, 0, false, 1000);
	write_now(&s, 1, false, 1100);
	write_now(&s, 0, false, 1110);
	assert_int_equal(count_limit_delay(&s.limit, &s.jobs[0], 1120), 240);
	assert_int_equal(count_limit_delay(&s.limit, &s.jobs[1], 1120), 230);
	assert_int_equal(count_limit_delay(&s.limit, &s.jobs[0], 1350), 0);
	assert_int_equal(count_limit_delay(&s.limit, &s.jobs[2], 1120), 0);
}

RUN_TESTS(NULL, NULL)
