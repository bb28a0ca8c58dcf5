/*
 * What a supervisor hears from another: messages, and what the hub makes of them. However
 * they are cut they are the same; encoded again they have the same bytes; and the hub
 * stays within its ranks and its restarts. Texts are read as stacks.
 */
#include <string.h>

#include "base/cleanup.h"
#include "supervise/hub.h"
#include "supervise/stacks.h"
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

/* The text as a stack, and as what Python wrote. */
static void receive_stack(uint32_t rank, const struct peer_stack *piece)
{
	cleanup_buf struct buf text = { .max = STACK_MAX };
	struct stacks all = { 0 };

	stack_read(&text, piece->text, piece->len);
	for (size_t i = 0; i < text.len; i++)
		FUZZ_CHECK(text.data[i] >= 0x20 || text.data[i] == '\n');
	buf_add(&text, piece->text, piece->len);
	stacks_add(&all, rank, piece->who, &text);
	stacks_add(&all, rank + 1, piece->who, &text);
	FUZZ_CHECK(all.n <= 1 && (!all.n || all.groups[0].n == 2));
	stacks_release(&all);
}

static void receive_orders(struct hub *h, const struct message *m, uint32_t *rank,
			   int64_t now)
{
	struct hub_order before = h->order;

	if (m->type == MESSAGE_HELLO)
		*rank = m->hello.rank % RANKS;
	else if (m->type == MESSAGE_STATE)
		hub_state(h, *rank, &m->state, now);
	else if (m->type == MESSAGE_REFUSED)
		hub_left(h, *rank, now - 7, now);
	else if (m->type == MESSAGE_ACTIVITY)
		hub_activity(h, &m->activity, now);
	else if (m->type == MESSAGE_DUMPED)
		hub_dumped(h, *rank, now);
	else if (m->type == MESSAGE_STACK)
		receive_stack(*rank, &m->stack);
	hub_time(h, now);
	FUZZ_CHECK(h->order.epoch >= before.epoch && h->order.counted >= before.counted);
	FUZZ_CHECK(before.order != ORDER_FREE || h->order.order == ORDER_FREE);
	FUZZ_CHECK(h->order.order != ORDER_START || h->decide_at < 0 ||
		   h->first_failed < RANKS);
	buf_clear(&h->log_line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct supervise_rules rules = { .restarts = RESTARTS,
					       .final = { [2] = true },
					       .stall_after_ms = 500 };
	struct hub_rank ranks[RANKS] = { 0 };
	struct error err = { 0 };
	size_t at = 0, used = 1;
	int64_t now = 0;
	uint32_t rank = 0;
	struct message m, n;
	struct hub hub;

	hub_init(&hub, &rules, ranks, RANKS, 0);
	for (; !message_decode(&m, &used, data + at, size - at, &err) && used;
	     at += used) {
		size_t again = 1;

		FUZZ_CHECK(used <= MESSAGE_MAX && used <= size - at);
		FUZZ_CHECK(!message_decode(&n, &again, data + at, used - 1, &err) &&
			   !again);
		FUZZ_CHECK(!message_decode(&n, &again, data + at, used, &err) &&
			   again == used && n.type == m.type);
		check_again(&m, data + at, used);
		receive_orders(&hub, &m, &rank, now += 77);
	}
	buf_release(&hub.log_line);
	return 0;
}
