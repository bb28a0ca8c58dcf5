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
	hub_init(&w->hub, &w->rules, w->ranks, N);
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
	assert_string_equal(w->hub.said.len ? (char *)w->hub.said.data : "", said);
	buf_release(&w->hub.said);
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
	hub_left(&w.hub, 2, 0);
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
	assert_int_equal(hub_until(&w.hub), 10 + HUB_LOOK_MS);
	ends(&w, 2, 1, 20);
	hub_time(&w.hub, 10 + HUB_LOOK_MS);
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
	hub_time(&w.hub, 400 + HUB_LOOK_MS);
	ordered(&w, ORDER_FREE, 1, 1,
		"rank 0 ended with status 9; not started again: no restart is left");
}

TEST(test_ends_that_are_final)
{
	struct peer_state missing = { PEER_ENDED, 0, 0, 1, true, false };
	struct world w;

	run(&w, 9);
	ends(&w, 1, 1, 0);
	ends(&w, 2, 2, 0); /* the cause, though rank 1 was heard first */
	hub_time(&w.hub, HUB_LOOK_MS);
	ordered(&w, ORDER_FREE, 0, 0,
		"rank 1 ended with status 1; not started again: an exit code that is final");
	run(&w, 9);
	hub_state(&w.hub, 1, &missing, 0);
	hub_time(&w.hub, HUB_LOOK_MS);
	ordered(&w, ORDER_FREE, 0, 0,
		"rank 1 ended with status 1; not started again: it would end so again");
}

TEST(test_a_rank_alone)
{
	for (int64_t restarts = 0; restarts < 2; restarts++) {
		struct world w = { .rules = { .restarts = restarts } };

		hub_init(&w.hub, &w.rules, w.ranks, 1);
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
	hub_left(&w.hub, 2, 1000);
	assert_int_equal(hub_until(&w.hub), 1000 + HUB_GONE_MS);
	hub_time(&w.hub, 999 + HUB_GONE_MS);
	ordered(&w, ORDER_START, 0, 0, "");
	hub_time(&w.hub, 1000 + HUB_GONE_MS);
	ordered(&w, ORDER_STOP, 1, 0, "rank 2 is gone; restart 1, which does not count");
	run(&w, 0);
	hub_left(&w.hub, 2, 1000);
	ends(&w, 1, 1, 1001); /* by the loss */
	hub_time(&w.hub, 1001 + HUB_LOOK_MS);
	ordered(&w, ORDER_STOP, 1, 0,
		"rank 1 ended with status 1; restart 1, which does not count: a rank was "
		"lost");
	run(&w, 0);
	hub_left(&w.hub, 2, 1000);
	tell(&w, 2, PEER_NEW, 0, 1500);
	ordered(&w, ORDER_STOP, 1, 0,
		"rank 2 has a new pod; restart 1, which does not count");
}

TEST(test_an_evicted_rank_does_not_count)
{
	struct peer_state leaving = { PEER_RUNNING, 0, 0, 0, false, true };
	struct world w;

	run(&w, 0);
	hub_state(&w.hub, 1, &leaving, 0);
	ends(&w, 0, 1, 0);
	hub_time(&w.hub, HUB_LOOK_MS);
	ordered(&w, ORDER_STOP, 1, 0,
		"rank 0 ended with status 1; restart 1, which does not count: a rank was "
		"lost");
}

TEST(test_a_short_absence_changes_nothing)
{
	struct world w;

	run(&w, 0);
	hub_left(&w.hub, 2, 0);
	tell(&w, 2, PEER_RUNNING, 0, HUB_GONE_MS - 1);
	hub_time(&w.hub, HUB_GONE_MS);
	ordered(&w, ORDER_START, 0, 0, "");
}

TEST(test_a_new_hub_learns_the_epoch)
{
	struct peer_state running = { PEER_RUNNING, 4, 2, 0, false, false };
	struct world w;

	begin(&w, 3);
	tell(&w, 0, PEER_NEW, 0, 0);
	tell(&w, 1, PEER_READY, 4, 0);
	hub_state(&w.hub, 2, &running, 0);
	ordered(&w, ORDER_STOP, 5, 2, "");
	tell(&w, 2, PEER_READY, 5, 0);
	ordered(&w, ORDER_STOP, 5, 2, "");
	tell(&w, 1, PEER_READY, 5, 0);
	ordered(&w, ORDER_START, 5, 2, "");
}

RUN_TESTS(NULL, NULL)
