/* When a supervised command is stopped, started again and given up. */
#include "supervise/decide.h"

#include "tests/unit/base/base_test.h"

static const struct supervise_rules rules = { .grace_ms = 100 };

static enum supervise_action at(struct supervise_state *s, enum supervise_event event,
				int status, int64_t now)
{
	return supervise_decide(s, event, status, now);
}

static enum supervise_action order(struct supervise_state *s, enum order what,
				   uint32_t epoch)
{
	return supervise_apply_order(
		s, &rules, &(struct hub_order){ .order = what, .epoch = epoch }, 0);
}

static void told(const struct supervise_state *s, enum peer_phase phase, uint32_t epoch,
		 uint32_t status)
{
	struct peer_state p = supervise_peer_state(s);

	assert_int_equal(p.phase, phase);
	assert_int_equal(p.epoch, epoch);
	assert_int_equal(p.status, status);
}

static struct supervise_state member(void)
{
	return (struct supervise_state){ .kill_at = -1, .idle = true };
}

TEST(test_orders)
{
	struct supervise_state s = member();

	told(&s, PEER_NEW, 0, 0);
	assert_int_equal(order(&s, ORDER_STOP, 0), SUPERVISE_WAIT);
	assert_int_equal(order(&s, ORDER_START, 0), SUPERVISE_START);
	told(&s, PEER_RUNNING, 0, 0);
	assert_int_equal(order(&s, ORDER_START, 0), SUPERVISE_WAIT);
	assert_int_equal(at(&s, SUPERVISE_ENDED, 137, 0), SUPERVISE_WAIT);
	told(&s, PEER_ENDED, 0, 137);
	assert_int_equal(order(&s, ORDER_STOP, 1), SUPERVISE_TERM);
	told(&s, PEER_RUNNING, 0, 0);
	assert_int_equal(order(&s, ORDER_START, 1), SUPERVISE_WAIT);
	assert_int_equal(at(&s, SUPERVISE_TIME, 0, 99), SUPERVISE_WAIT);
	assert_int_equal(at(&s, SUPERVISE_TIME, 0, 100), SUPERVISE_KILL);
	assert_int_equal(at(&s, SUPERVISE_TIME, 0, 101), SUPERVISE_WAIT);
	assert_int_equal(at(&s, SUPERVISE_TIME, 0, 200), SUPERVISE_KILL);
	assert_int_equal(at(&s, SUPERVISE_EMPTY, 0, 201), SUPERVISE_WAIT);
	assert_int_equal(s.kill_at, -1);
	told(&s, PEER_READY, 1, 0);
	assert_int_equal(order(&s, ORDER_STOP, 1), SUPERVISE_WAIT);
	assert_int_equal(order(&s, ORDER_START, 0), SUPERVISE_WAIT); /* of an old hub */
	assert_int_equal(order(&s, ORDER_START, 1), SUPERVISE_START);
	assert_int_equal(s.restart, 1);
	assert_int_equal(order(&s, ORDER_FREE, 1), SUPERVISE_WAIT);
	assert_int_equal(at(&s, SUPERVISE_ENDED, 3, 0), SUPERVISE_END);
	assert_int_equal(s.status, 3);
}

TEST(test_the_end_of_a_rank_waits_for_the_others)
{
	struct supervise_state s = member();

	assert_int_equal(order(&s, ORDER_START, 0), SUPERVISE_START);
	assert_int_equal(at(&s, SUPERVISE_ENDED, 0, 0), SUPERVISE_WAIT);
	told(&s, PEER_ENDED, 0, 0);
	assert_int_equal(order(&s, ORDER_FREE, 0), SUPERVISE_END);
	assert_int_equal(s.status, 0);
}

TEST(test_a_rank_that_is_asked_waits_for_none)
{
	struct supervise_state s = member();

	assert_int_equal(at(&s, SUPERVISE_STOP_REQUESTED, 143, 0), SUPERVISE_END);
	assert_int_equal(s.status, 143);
	s = member();
	assert_int_equal(order(&s, ORDER_START, 0), SUPERVISE_START);
	assert_int_equal(at(&s, SUPERVISE_ENDED, 7, 0), SUPERVISE_WAIT);
	assert_int_equal(at(&s, SUPERVISE_STOP_REQUESTED, 143, 0), SUPERVISE_END);
	assert_int_equal(s.status, 7);
	s = member();
	assert_int_equal(order(&s, ORDER_START, 0), SUPERVISE_START);
	assert_int_equal(at(&s, SUPERVISE_STOP_REQUESTED, 143, 0), SUPERVISE_WAIT);
	assert_int_equal(order(&s, ORDER_STOP, 1), SUPERVISE_WAIT); /* its own grace */
	assert_int_equal(at(&s, SUPERVISE_ENDED, 0, 0), SUPERVISE_END);
}

/* Its Job must start it again, or fail: the others do not go on without it. */
TEST(test_a_status_that_the_job_understands)
{
	static const struct {
		bool alone, asked_first, free_first;
		int ends, want;
	} rows[] = {
		{ false, false, false, 0, 143 },  { true, false, false, 0, 0 },
		{ false, true, false, 0, 143 },   { true, true, false, 0, 0 },
		{ false, false, true, 0, 0 },     { false, false, true, 137, 1 },
		{ false, false, true, 143, 1 },   { true, false, true, 137, 137 },
		{ false, false, true, 139, 139 },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct supervise_state s = member();

		s.alone = rows[i].alone;
		assert_int_equal(order(&s, ORDER_START, 0), SUPERVISE_START);
		if (rows[i].asked_first)
			at(&s, SUPERVISE_STOP_REQUESTED, 143, 0);
		at(&s, SUPERVISE_ENDED, rows[i].ends, 0);
		if (rows[i].free_first)
			order(&s, ORDER_FREE, 0);
		else if (!rows[i].asked_first)
			at(&s, SUPERVISE_STOP_REQUESTED, 143, 0);
		check_int("status", s.status, rows[i].want);
	}
}

TEST(test_asked_between_two_starts)
{
	struct supervise_state s = member();

	assert_int_equal(order(&s, ORDER_START, 0), SUPERVISE_START);
	assert_int_equal(at(&s, SUPERVISE_ENDED, 1, 0), SUPERVISE_WAIT);
	assert_int_equal(order(&s, ORDER_STOP, 1), SUPERVISE_TERM);
	assert_int_equal(at(&s, SUPERVISE_STOP_REQUESTED, 0, 1), SUPERVISE_WAIT);
	assert_int_equal(at(&s, SUPERVISE_TIME, 0, 100), SUPERVISE_KILL);
	assert_int_equal(at(&s, SUPERVISE_EMPTY, 0, 101), SUPERVISE_END);
	assert_int_equal(s.status, 1);
}

RUN_TESTS(NULL, NULL)
