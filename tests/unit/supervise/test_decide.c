/* When a supervised command is stopped, started again and given up. */
#include "supervise/decide.h"

#include "tests/unit/base/base_test.h"

static const struct supervise_rules rules = { .restarts = 2,
					      .grace_ms = 100,
					      .final = { [2] = true } };

static struct supervise_state started(void)
{
	return (struct supervise_state){ .kill_at = -1 };
}

static enum supervise_action at(struct supervise_state *s, enum supervise_event event,
				int status, int64_t now)
{
	return supervise_decide(s, &rules, event, status, now);
}

TEST(test_a_restart)
{
	struct supervise_state s = started();

	assert_int_equal(at(&s, SUPERVISE_TIME, 0, 5), SUPERVISE_WAIT);
	assert_int_equal(at(&s, SUPERVISE_ENDED, 1, 10), SUPERVISE_TERM);
	assert_int_equal(at(&s, SUPERVISE_TIME, 0, 109), SUPERVISE_WAIT);
	assert_int_equal(at(&s, SUPERVISE_TIME, 0, 110), SUPERVISE_KILL);
	assert_int_equal(at(&s, SUPERVISE_TIME, 0, 111), SUPERVISE_WAIT);
	assert_int_equal(at(&s, SUPERVISE_TIME, 0, 200), SUPERVISE_KILL);
	assert_int_equal(at(&s, SUPERVISE_EMPTY, 0, 201), SUPERVISE_START);
	assert_int_equal(s.restart, 1);
	assert_int_equal(s.kill_at, -1);
}

TEST(test_at_most_so_often)
{
	struct supervise_state s = started();

	for (int i = 0; i < 2; i++) {
		assert_int_equal(at(&s, SUPERVISE_ENDED, 137, 0), SUPERVISE_TERM);
		assert_int_equal(at(&s, SUPERVISE_EMPTY, 0, 0), SUPERVISE_START);
	}
	assert_int_equal(at(&s, SUPERVISE_ENDED, 143, 0), SUPERVISE_END);
	assert_int_equal(s.status, 143);
}

TEST(test_ends_that_are_final)
{
	struct supervise_state s = started();

	assert_int_equal(at(&s, SUPERVISE_ENDED, 0, 0), SUPERVISE_END);
	s = started();
	assert_int_equal(at(&s, SUPERVISE_ENDED, 2, 0), SUPERVISE_END);
	s = started();
	assert_int_equal(at(&s, SUPERVISE_ASKED, 0, 0), SUPERVISE_WAIT);
	assert_int_equal(at(&s, SUPERVISE_ENDED, 143, 0), SUPERVISE_END);
	assert_int_equal(s.status, 143);
}

TEST(test_asked_between_two_starts)
{
	struct supervise_state s = started();

	assert_int_equal(at(&s, SUPERVISE_ENDED, 1, 0), SUPERVISE_TERM);
	assert_int_equal(at(&s, SUPERVISE_ASKED, 0, 1), SUPERVISE_WAIT);
	assert_int_equal(at(&s, SUPERVISE_TIME, 0, 100), SUPERVISE_KILL);
	assert_int_equal(at(&s, SUPERVISE_EMPTY, 0, 101), SUPERVISE_END);
	assert_int_equal(s.status, 1);
}

RUN_TESTS(NULL, NULL)
