/* When the ranks of a job start, stop and start again. */
#include "supervise/hub.h"

#include "base/cleanup.h"
#include "tests/unit/base/base_test.h"

enum { N = 3 };

struct world {
	struct hub hub;
	struct hub_rank ranks[N];
	struct supervise_rules rules;
};

static void begin(struct world *w, int64_t restarts)
{
	*w = (struct world){ .rules = { .restarts = restarts, .final = { [2] = true } } };
	hub_init(&w->hub, &w->rules, w->ranks, N, 0);
}

static void tell(struct world *w, uint32_t rank, enum peer_phase phase, uint32_t epoch,
		 int64_t now)
{
	struct peer_state s = { .phase = phase, .epoch = epoch };

	hub_state(&w->hub, rank, &s, now);
}

static void ends(struct world *w, uint32_t rank, uint32_t status, int64_t now)
{
	struct peer_state s = { .phase = PEER_ENDED,
				.epoch = w->hub.order.epoch,
				.status = status };

	hub_state(&w->hub, rank, &s, now);
}

static void all(struct world *w, enum peer_phase phase, uint32_t epoch)
{
	for (uint32_t i = 0; i < N; i++)
		tell(w, i, phase, epoch, 0);
}

static void ordered(struct world *w, enum order order, uint32_t epoch, uint32_t counted,
		    const char *said)
{
	assert_int_equal(w->hub.order.order, order);
	assert_int_equal(w->hub.order.epoch, epoch);
	assert_int_equal(w->hub.order.counted, counted);
	assert_string_equal(w->hub.log_line.len ? (char *)w->hub.log_line.data : "",
			    said);
	buf_release(&w->hub.log_line);
}

static void run(struct world *w, int64_t restarts)
{
	begin(w, restarts);
	all(w, PEER_NEW, 0);
	ordered(w, ORDER_START, 0, 0, "");
	all(w, PEER_RUNNING, 0);
}

TEST(test_all_start_together)
{
	struct world w;

	begin(&w, 1);
	tell(&w, 0, PEER_NEW, 0, 0);
	tell(&w, 2, PEER_NEW, 0, 0);
	ordered(&w, ORDER_STOP, 0, 0, "");
	hub_left(&w.hub, 2, 0, 0);
	tell(&w, 1, PEER_NEW, 0, 0);
	ordered(&w, ORDER_STOP, 0, 0, "");
	tell(&w, 2, PEER_NEW, 0, 0);
	ordered(&w, ORDER_START, 0, 0, "");
}

TEST(test_a_failure_stops_all_and_counts)
{
	struct world w;

	run(&w, 1);
	ends(&w, 1, 137, 10);
	ordered(&w, ORDER_START, 0, 0, "");
	assert_int_equal(hub_until(&w.hub), 10 + HUB_FAILURE_WINDOW_MS);
	ends(&w, 2, 1, 20);
	hub_time(&w.hub, 10 + HUB_FAILURE_WINDOW_MS);
	ordered(&w, ORDER_STOP, 1, 1,
		"rank 1 ended with status 137; restart 1 of at most 1");
	tell(&w, 0, PEER_RUNNING, 0, 200); /* it is being stopped */
	tell(&w, 0, PEER_READY, 1, 300);
	tell(&w, 1, PEER_READY, 1, 300);
	ordered(&w, ORDER_STOP, 1, 1, "");
	tell(&w, 2, PEER_READY, 1, 300);
	ordered(&w, ORDER_START, 1, 1, "");
	all(&w, PEER_RUNNING, 1);
	ends(&w, 0, 9, 400);
	hub_time(&w.hub, 400 + HUB_FAILURE_WINDOW_MS);
	ordered(&w, ORDER_FREE, 1, 1,
		"rank 0 ended with status 9; not started again: no restart is left");
}

TEST(test_ends_that_are_final)
{
	struct peer_state missing = { PEER_ENDED, 0, 0, 1, CAUSE_PERMANENT, false, 0 };
	struct world w;

	run(&w, 9);
	ends(&w, 1, 1, 0);
	ends(&w, 2, 2, 0); /* the cause, though rank 1 was heard first */
	hub_time(&w.hub, HUB_FAILURE_WINDOW_MS);
	ordered(&w, ORDER_FREE, 0, 0,
		"rank 1 ended with status 1; not started again: an exit code that is final");
	run(&w, 9);
	hub_state(&w.hub, 1, &missing, 0);
	hub_time(&w.hub, HUB_FAILURE_WINDOW_MS);
	ordered(&w, ORDER_FREE, 0, 0,
		"rank 1 ended with status 1; not started again: it would end so again");
}

/* maxRestarts above 0 trained again after an export that had failed. */
TEST(test_what_follows_the_work)
{
	struct peer_state failed = { PEER_ENDED, 0, 0, 1, CAUSE_FINISH, false, 0 };
	struct world w;

	run(&w, 9);
	assert_false(hub_others_succeeded(&w.hub));
	ends(&w, 1, 0, 0);
	assert_false(hub_others_succeeded(&w.hub));
	ends(&w, 2, 0, 0);
	assert_true(hub_others_succeeded(&w.hub));
	hub_left(&w.hub, 2, 0, 0);
	assert_false(hub_others_succeeded(&w.hub));
	ends(&w, 2, 0, 0);
	hub_state(&w.hub, 0, &failed, 0);
	hub_time(&w.hub, HUB_FAILURE_WINDOW_MS);
	ordered(&w, ORDER_FREE, 0, 0, "");
	run(&w, 9);
	ends(&w, 1, 0, 0);
	ends(&w, 2, 3, 0);
	assert_false(hub_others_succeeded(&w.hub));
}

/* Answers to a rank 0 that was lost counted for the new one, which uses the same syncs. */
TEST(test_marks_of_an_epoch_before_do_not_count)
{
	struct peer_state s = { .phase = PEER_RUNNING, .epoch = 3, .acked = 7 };
	struct world w;

	begin(&w, 9);
	hub_state(&w.hub, 1, &s, 0);
	hub_state(&w.hub, 2, &s, 0);
	assert_int_equal(w.hub.order.epoch, 4);
	assert_int_equal(hub_acked(&w.hub), 0);
	all(&w, PEER_READY, 4);
	ordered(&w, ORDER_START, 4, 0, "");
	s = (struct peer_state){ .phase = PEER_RUNNING, .epoch = 4, .acked = 6 };
	hub_state(&w.hub, 1, &s, 0);
	assert_int_equal(hub_acked(&w.hub), 0);
	s.phase = PEER_ENDED;
	s.acked = 5;
	hub_state(&w.hub, 2, &s, 0);
	assert_int_equal(hub_acked(&w.hub), 5);
	tell(&w, 2, PEER_NEW, 0, 0);
	assert_int_equal(hub_acked(&w.hub), 0);
	buf_release(&w.hub.log_line);
}

TEST(test_a_rank_alone)
{
	for (int64_t restarts = 0; restarts < 2; restarts++) {
		struct world w = { .rules = { .restarts = restarts } };

		hub_init(&w.hub, &w.rules, w.ranks, 1, 0);
		tell(&w, 0, PEER_NEW, 0, 0);
		ordered(&w, ORDER_START, 0, 0, "");
		tell(&w, 0, PEER_RUNNING, 0, 0);
		if (restarts) {
			ends(&w, 0, 5, 7);
			hub_time(&w.hub, 7);
			ordered(&w, ORDER_STOP, 1, 1,
				"the command ended with status 5; restart 1 of at most 1");
			tell(&w, 0, PEER_READY, 1, 8);
			ordered(&w, ORDER_START, 1, 1, "");
		}
		ends(&w, 0, 5, 9);
		hub_time(&w.hub, 9);
		ordered(&w, ORDER_FREE, (uint32_t)restarts, (uint32_t)restarts,
			restarts
				? "the command ended with status 5; not started again: no "
				  "restart is left"
				: "");
	}
}

/* Its pod is being stopped, and nothing starts again: no pod was lost (why, get -o wide). */
TEST(test_a_rank_alone_that_is_stopped)
{
	struct peer_state leaving = { .phase = PEER_ENDED,
				      .status = 143,
				      .leaving = true };
	struct world w = { .rules = { .restarts = 3 } };

	hub_init(&w.hub, &w.rules, w.ranks, 1, 0);
	tell(&w, 0, PEER_NEW, 0, 0);
	tell(&w, 0, PEER_RUNNING, 0, 0);
	hub_state(&w.hub, 0, &leaving, 7);
	hub_time(&w.hub, 7 + HUB_FAILURE_WINDOW_MS);
	ordered(&w, ORDER_STOP, 1, 0, "");
	assert_int_equal(w.hub.counts.lost, 0);
	assert_int_equal(w.hub.counts.restarts, 0);
}

TEST(test_success)
{
	struct world w;

	run(&w, 9);
	ends(&w, 0, 0, 0);
	ends(&w, 1, 0, 0);
	ordered(&w, ORDER_START, 0, 0, "");
	ends(&w, 2, 0, 0);
	ordered(&w, ORDER_FREE, 0, 0, "");
}

TEST(test_a_lost_rank_does_not_count)
{
	struct world w;

	run(&w, 0);
	hub_left(&w.hub, 2, 1000, 1000);
	assert_int_equal(hub_until(&w.hub), 1000 + HUB_LOST_MS);
	hub_time(&w.hub, 999 + HUB_LOST_MS);
	ordered(&w, ORDER_START, 0, 0, "");
	hub_time(&w.hub, 1000 + HUB_LOST_MS);
	ordered(&w, ORDER_STOP, 1, 0, "rank 2 is gone; restart 1, which does not count");
	run(&w, 0);
	hub_left(&w.hub, 2, 1000, 1000);
	ends(&w, 1, 1, 1001); /* by the loss */
	hub_time(&w.hub, 1001 + HUB_FAILURE_WINDOW_MS);
	ordered(&w, ORDER_STOP, 1, 0,
		"rank 1 ended with status 1; restart 1, which does not count: a rank was "
		"lost");
	run(&w, 0);
	hub_left(&w.hub, 2, 1000, 1000);
	tell(&w, 2, PEER_NEW, 0, 1500);
	ordered(&w, ORDER_STOP, 1, 0,
		"rank 2 has a new pod; restart 1, which does not count");
}

TEST(test_a_silent_rank_is_gone_after_ten_seconds_of_silence)
{
	struct world w;

	run(&w, 0);
	/* Its connection is closed because nothing came; it does not get as long again. */
	hub_left(&w.hub, 2, 1000, 1000 + HUB_LOST_MS);
	assert_int_equal(hub_until(&w.hub), 1000 + HUB_LOST_MS);
	hub_time(&w.hub, 1000 + HUB_LOST_MS);
	ordered(&w, ORDER_STOP, 1, 0, "rank 2 is gone; restart 1, which does not count");
}

TEST(test_an_evicted_rank_does_not_count)
{
	struct peer_state leaving = { PEER_RUNNING, 0, 0, 0, 0, true, 0 };
	struct world w;

	run(&w, 0);
	hub_state(&w.hub, 1, &leaving, 0);
	ends(&w, 0, 1, 0);
	hub_time(&w.hub, HUB_FAILURE_WINDOW_MS);
	ordered(&w, ORDER_STOP, 1, 0,
		"rank 0 ended with status 1; restart 1, which does not count: a rank was "
		"lost");
}

TEST(test_a_short_absence_changes_nothing)
{
	struct world w;

	run(&w, 0);
	hub_left(&w.hub, 2, 0, 0);
	tell(&w, 2, PEER_RUNNING, 0, HUB_LOST_MS - 1);
	hub_time(&w.hub, HUB_LOST_MS);
	ordered(&w, ORDER_START, 0, 0, "");
}

TEST(test_a_new_hub_learns_the_epoch)
{
	struct peer_state running = { PEER_RUNNING, 4, 2, 0, 0, false, 0 };
	struct world w;

	begin(&w, 3);
	tell(&w, 0, PEER_NEW, 0, 0);
	tell(&w, 1, PEER_READY, 4, 0);
	hub_state(&w.hub, 2, &running, 0);
	ordered(&w, ORDER_STOP, 5, 2, "");
	tell(&w, 2, PEER_READY, 5, 0);
	ordered(&w, ORDER_STOP, 5, 2, "");
	tell(&w, 1, PEER_READY, 5, 0);
	ordered(&w, ORDER_STOP, 5, 2, ""); /* rank 0 may have another order still */
	tell(&w, 0, PEER_READY, 5, 0);
	ordered(&w, ORDER_START, 5, 2, "");
}

static void activity(struct world *w, uint32_t reports, uint32_t percent, int64_t now)
{
	struct peer_activity s = { w->hub.order.epoch, reports, percent, 0 };

	hub_activity(&w->hub, &s, now);
}

/* To the end of a failure, at `now`; all are ready again. */
static void fail_and_start(struct world *w, enum peer_cause cause, int64_t now)
{
	struct peer_state s = { .phase = PEER_ENDED,
				.epoch = w->hub.order.epoch,
				.status = 1,
				.cause = cause };

	hub_state(&w->hub, 1, &s, now);
	hub_time(&w->hub, now + HUB_FAILURE_WINDOW_MS);
	if (w->hub.order.order != ORDER_STOP)
		return;
	buf_release(&w->hub.log_line);
	for (uint32_t i = 0; i < N; i++)
		tell(w, i, PEER_READY, w->hub.order.epoch, now + HUB_FAILURE_WINDOW_MS);
	for (uint32_t i = 0; i < N; i++)
		tell(w, i, PEER_RUNNING, w->hub.order.epoch, now + HUB_FAILURE_WINDOW_MS);
}

TEST(test_a_stall)
{
	struct world w;

	run(&w, 1);
	for (uint32_t i = 1; i <= 3; i++)
		activity(&w, i, i, i * 20000);
	assert_int_equal(hub_until(&w.hub), 160000 + STALL_LATE_MS);
	tell(&w, 2, PEER_ENDED, 0, 70000); /* a rank that has succeeded */
	hub_time(&w.hub, 161999);
	ordered(&w, ORDER_START, 0, 0, "");
	hub_time(&w.hub, 162000);
	ordered(&w, ORDER_DUMP, 0, 0,
		"stalled: no output and no progress of any rank for 102 s");
	activity(&w, 9, 99, 162001); /* its own stacks */
	ends(&w, 0, 134, 162010);
	hub_dumped(&w.hub, 0, 162020);
	hub_dumped(&w.hub, 1, 162030);
	ordered(&w, ORDER_DUMP, 0, 0, "");
	hub_dumped(&w.hub, 2, 162040);
	ordered(&w, ORDER_STOP, 1, 1, "after the stall: restart 1 of at most 1");
	assert_int_equal(w.hub.counts.stalls, 1);
	for (uint32_t i = 0; i < N; i++)
		tell(&w, i, PEER_READY, 1, 162050);
	all(&w, PEER_RUNNING, 1);
	ordered(&w, ORDER_START, 1, 1, "");
	for (uint32_t i = 1; i <= 3; i++)
		activity(&w, i, i, 200000);
	assert_int_equal(hub_until(&w.hub), 200000 + 5 * 102000 + STALL_LATE_MS);
	hub_time(&w.hub, 712000);
	buf_release(&w.hub.log_line);
	assert_int_equal(hub_until(&w.hub), 712000 + HUB_DUMP_MS);
	hub_time(&w.hub, 712000 + HUB_DUMP_MS); /* nobody answers */
	ordered(&w, ORDER_FREE, 1, 1,
		"after the stall: not started again: no restart is left");
}

TEST(test_what_is_no_stall)
{
	struct world w;

	run(&w, 1);
	activity(&w, 1, 1, 1000);
	activity(&w, 2, 2, 2000);
	assert_int_equal(hub_until(&w.hub), -1); /* a slow first step */
	activity(&w, 3, 3, 3000);
	hub_left(&w.hub, 2, 3000, 3000);
	assert_int_equal(hub_until(&w.hub), 3000 + HUB_LOST_MS);
	tell(&w, 2, PEER_RUNNING, 0, 4000);
	assert_int_equal(hub_until(&w.hub), 63000 + STALL_LATE_MS);
	activity(&w, 3, 3, 5000);
	assert_int_equal(hub_until(&w.hub), 65000 + STALL_LATE_MS);
	ends(&w, 1, 1, 67000);
	hub_time(&w.hub, 67000); /* a failure explains the silence */
	ordered(&w, ORDER_START, 0, 0, "");
	run(&w, 1);
	w.hub.stall.after = -1;
	activity(&w, 9, 9, 1);
	assert_int_equal(hub_until(&w.hub), -1);
	hub_left(&w.hub, 1, 0, 0);
	hub_time(&w.hub, HUB_LOST_MS);
	buf_release(&w.hub.log_line);
}

TEST(test_a_rank_that_leaves_during_a_stall)
{
	struct world w;

	run(&w, 3);
	w.hub.stall.after = 500;
	hub_time(&w.hub, 2500 + STALL_LATE_MS);
	buf_release(&w.hub.log_line);
	hub_dumped(&w.hub, 0, 4600);
	hub_dumped(&w.hub, 1, 4600);
	hub_left(&w.hub, 2, 4700, 4700);
	ordered(&w, ORDER_STOP, 1, 1, "after the stall: restart 1 of at most 3");
}

TEST(test_restarts_without_progress)
{
	struct world w;

	run(&w, 99);
	activity(&w, 1, 50, 0);
	for (int i = 0; i < 3; i++) {
		fail_and_start(&w, CAUSE_UNKNOWN, 1000);
		activity(&w, 1, 50, 2000); /* the checkpoint */
	}
	ordered(&w, ORDER_START, 3, 3, "");
	fail_and_start(&w, CAUSE_UNKNOWN, 3000);
	ordered(&w, ORDER_FREE, 3, 3,
		"rank 1 ended with status 1; not started again: three restarts without "
		"progress");
	run(&w, 99);
	for (uint32_t i = 0; i < 9; i++) {
		activity(&w, 1, i, 0);
		fail_and_start(&w, CAUSE_UNKNOWN, 1000);
	}
	ordered(&w, ORDER_START, 9, 9, "");
	run(&w, 99); /* no report: nothing is known */
	for (int i = 0; i < 9; i++)
		fail_and_start(&w, CAUSE_UNKNOWN, 1000);
	ordered(&w, ORDER_START, 9, 9, "");
}

TEST(test_out_of_memory)
{
	struct world w;

	run(&w, 99);
	activity(&w, 1, 7, 0);
	fail_and_start(&w, CAUSE_MEMORY, 1000);
	activity(&w, 1, 8, 2000); /* another step */
	fail_and_start(&w, CAUSE_MEMORY, 3000);
	activity(&w, 1, 8, 4000);
	ordered(&w, ORDER_START, 2, 2, "");
	fail_and_start(&w, CAUSE_MEMORY, 5000);
	ordered(&w, ORDER_FREE, 2, 2,
		"rank 1 ended with status 1; not started again: out of memory at the same "
		"step twice");
}

TEST(test_where_the_time_goes)
{
	static const int64_t want[SUPERVISION_SLICES] = { 0,    10 + 30 + 10, 200,
							  2100, 50,           5 };
	int64_t ms[SUPERVISION_SLICES];
	struct world w;

	begin(&w, 9);
	w.hub.stall.after = 100;
	for (uint32_t i = 0; i < N; i++)
		tell(&w, i, PEER_NEW, 0, 10);
	for (uint32_t i = 0; i < N; i++)
		tell(&w, i, PEER_RUNNING, 0, 10);
	activity(&w, 0, 0, 20); /* output */
	activity(&w, 1, 1, 40);
	activity(&w, 2, 2, 140);
	activity(&w, 3, 3, 240);
	hub_time(&w.hub, 340 + STALL_LATE_MS);
	for (uint32_t i = 0; i < N; i++)
		hub_dumped(&w.hub, i, 2340);
	for (uint32_t i = 0; i < N; i++)
		tell(&w, i, PEER_READY, 1, 2345);
	activity(&w, 1, 1, 2355);
	activity(&w, 2, 2, 2405);
	account_read(&w.hub.account, ms, 2405);
	for (int i = 0; i < SUPERVISION_SLICES; i++)
		assert_int_equal(ms[i], want[i]);
	buf_release(&w.hub.log_line);
}

/* ---- a job in development ---- */

static void develop(struct world *w)
{
	begin(w, 9);
	w->hub.dev = (struct hub_dev){ .on = true, .idle_ms = 1000 };
	all(w, PEER_NEW, 0);
	ordered(w, ORDER_START, 0, 0, "");
	all(w, PEER_RUNNING, 0);
}

static void rests(struct world *w, const char *said)
{
	uint32_t epoch = w->hub.order.epoch;

	ordered(w, ORDER_STOP, epoch, 0, said);
	assert_true(w->hub.dev.held);
	all(w, PEER_READY, epoch);
	ordered(w, ORDER_STOP, epoch, 0, "");
}

TEST(test_the_end_of_a_run_waits_for_a_rerun)
{
	struct world w;

	develop(&w);
	for (uint32_t i = 0; i < N; i++)
		ends(&w, i, 0, 10);
	rests(&w, "the command has ended; waiting for 'kftrainer rerun'");
	assert_int_equal(w.hub.dev.status, 0);
	hub_release(&w.hub, 0);
	ordered(&w, ORDER_START, 1, 0, "");
	all(&w, PEER_RUNNING, 1);
	ends(&w, 1, 2, 20); /* a code that is final, and restarts are left */
	hub_time(&w.hub, 20 + HUB_FAILURE_WINDOW_MS);
	rests(&w, "rank 1 ended with status 2; waiting for 'kftrainer rerun'");
	assert_int_equal(w.hub.dev.rank, 1);
	assert_int_equal(w.hub.dev.status, 2);
	hub_release(&w.hub, 0);
	all(&w, PEER_RUNNING, 2);
	hub_hold(&w.hub, 0); /* by a rerun, while it runs */
	ordered(&w, ORDER_STOP, 3, 0, "");
	hub_release(&w.hub, 0);
	ordered(&w, ORDER_STOP, 3, 0, "");
	all(&w, PEER_READY, 3);
	ordered(&w, ORDER_START, 3, 0, "");
}

TEST(test_a_rank_that_is_lost_is_not_started_with_other_files)
{
	struct world w;

	develop(&w);
	tell(&w, 2, PEER_NEW, 0, 10);
	rests(&w, "rank 2 has a new pod; waiting for 'kftrainer rerun'");
	assert_true(w.hub.dev.lost);
	hub_release(&w.hub, 20);
	ordered(&w, ORDER_START, 1, 0, "");
	tell(&w, 1, PEER_NEW, 0, 30); /* before it has said that it runs */
	rests(&w, "rank 1 has a new pod; waiting for 'kftrainer rerun'");
	begin(&w, 9); /* rank 0 */
	w.hub.dev = (struct hub_dev){ .on = true, .idle_ms = 1000 };
	tell(&w, 0, PEER_NEW, 0, 10);
	tell(&w, 1, PEER_RUNNING, 4, 10);
	tell(&w, 2, PEER_RUNNING, 4, 10);
	rests(&w, "");
	hub_release(&w.hub, 0);
	ordered(&w, ORDER_START, 5, 0, "");
}

TEST(test_a_job_that_rests_for_too_long_ends)
{
	struct world w;

	develop(&w);
	ends(&w, 0, 1, 0);
	hub_time(&w.hub, HUB_FAILURE_WINDOW_MS);
	rests(&w, "rank 0 ended with status 1; waiting for 'kftrainer rerun'");
	assert_int_equal(hub_until(&w.hub), 0);
	hub_time(&w.hub, 5000);
	assert_int_equal(hub_until(&w.hub), 6000);
	hub_hold(&w.hub, 0); /* a session has come */
	hub_time(&w.hub, 5500);
	hub_time(&w.hub, 6499);
	ordered(&w, ORDER_STOP, 1, 0, "");
	hub_time(&w.hub, 6500);
	ordered(&w, ORDER_FREE, 1, 0, "no rerun within the idle time: the job ends");
}

RUN_TESTS(NULL, NULL)
