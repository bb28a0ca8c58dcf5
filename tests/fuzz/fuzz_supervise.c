/*
 * What a supervisor hears from another: messages, and what the hub makes of them. However
 * they are cut they are the same; encoded again they have the same bytes; and the hub
 * stays within its ranks and its restarts.
 */
#include <string.h>

#include "base/cleanup.h"
#include "supervise/hub.h"
#include "tests/fuzz/fuzz.h"

enum { RANKS = 4, RESTARTS = 3 };

static void check_again(const struct message *m, const uint8_t *data, size_t used)
{
	cleanup_buf struct buf again = { .max = MESSAGE_MAX };

	if (m->type == MESSAGE_HELLO && m->hello.version != MESSAGE_VERSION)
		return;
	message_add(&again, m);
	FUZZ_CHECK(again.len == used && !memcmp(again.data, data, used));
}

static void hear(struct hub *h, const struct message *m, uint32_t *rank, int64_t now)
{
	struct hub_order before = h->order;

	if (m->type == MESSAGE_HELLO)
		*rank = m->hello.rank % RANKS;
	else if (m->type == MESSAGE_STATE)
		hub_state(h, *rank, &m->state, now);
	else if (m->type == MESSAGE_REFUSED)
		hub_left(h, *rank, now);
	hub_time(h, now);
	FUZZ_CHECK(h->order.epoch >= before.epoch && h->order.counted >= before.counted);
	FUZZ_CHECK(before.order != ORDER_FREE || h->order.order == ORDER_FREE);
	FUZZ_CHECK(h->order.order != ORDER_START || h->judge_at < 0 ||
		   h->first_failed < RANKS);
	buf_clear(&h->said);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct supervise_rules rules = { .restarts = RESTARTS,
					       .final = { [2] = true } };
	struct hub_rank ranks[RANKS] = { 0 };
	struct error err = { 0 };
	size_t at = 0, used = 1;
	int64_t now = 0;
	uint32_t rank = 0;
	struct message m, n;
	struct hub hub;

	hub_init(&hub, &rules, ranks, RANKS);
	for (; !message_decode(&m, &used, data + at, size - at, &err) && used;
	     at += used) {
		size_t again = 1;

		FUZZ_CHECK(used <= MESSAGE_MAX && used <= size - at);
		FUZZ_CHECK(!message_decode(&n, &again, data + at, used - 1, &err) &&
			   !again);
		FUZZ_CHECK(!message_decode(&n, &again, data + at, used, &err) &&
			   again == used && n.type == m.type);
		check_again(&m, data + at, used);
		hear(&hub, &m, &rank, now += 77);
	}
	buf_release(&hub.said);
	return 0;
}
