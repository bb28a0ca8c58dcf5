/* When a job stands still. */
#include "supervise/stall.h"

#include "tests/unit/base/base_test.h"

TEST(test_by_the_times_seen)
{
	struct stall s = { 0 };

	stall_start(&s, 0);
	assert_int_equal(stall_due(&s), -1);
	stall_activity(&s, 1, 600000); /* a slow first step */
	stall_activity(&s, 2, 601000);
	assert_int_equal(stall_due(&s), -1);
	stall_activity(&s, 3, 602000);
	assert_int_equal(stall_due(&s), 602000 + 5 * 600000 + STALL_LATE_MS);
	stall_start(&s, 700000); /* what was seen remains; the reports are new */
	assert_int_equal(stall_due(&s), -1);
	stall_activity(&s, 3, 700001);
	assert_int_equal(stall_due(&s), 700001 + 5 * 600000 + STALL_LATE_MS);
	s = (struct stall){ 0 };
	stall_start(&s, 0);
	stall_activity(&s, 3, 1);
	assert_int_equal(stall_due(&s), 1 + 60000 + STALL_LATE_MS);
	stall_found(&s, 1 + 60000); /* a pause that was taken for one */
	stall_start(&s, 100000);
	stall_activity(&s, 3, 100000);
	assert_int_equal(stall_due(&s), 100000 + 5 * 60000 + STALL_LATE_MS);
}

TEST(test_a_job_that_reports_no_progress)
{
	struct stall s = { 0 };

	stall_start(&s, 0);
	stall_activity(&s, 0, 1000); /* output */
	assert_int_equal(stall_due(&s), -1);
	stall_activity(&s, 0, 100 * 3600 * 1000);
	assert_int_equal(stall_due(&s), -1);
	s.after = 700; /* only by the user's time */
	assert_int_equal(stall_due(&s), 100 * 3600 * 1000 + 5 * 700 + STALL_LATE_MS);
}

TEST(test_by_the_users_time)
{
	struct stall s = { .after = 700 };

	stall_start(&s, 0);
	assert_int_equal(stall_due(&s), 5 * 700 + STALL_LATE_MS);
	stall_activity(&s, 1, 600);
	assert_int_equal(stall_due(&s), 600 + 5 * 700 + STALL_LATE_MS);
	stall_activity(&s, 3, 2000);
	assert_int_equal(stall_due(&s), 2700 + STALL_LATE_MS);
	stall_activity(&s, 3, 2500);
	assert_int_equal(stall_due(&s), 3200 + STALL_LATE_MS);
	s.after = -1;
	assert_int_equal(stall_due(&s), -1);
}

RUN_TESTS(NULL, NULL)
