/* What supervisors tell each other, byte by byte. */
#include "supervise/message.h"

#include "base/cleanup.h"
#include "tests/unit/base/base_test.h"

static const struct message all[] = {
	{ .type = MESSAGE_HELLO, .hello = { MESSAGE_VERSION, 4, 5 } },
	{ .type = MESSAGE_STATE,
	  .state = { PEER_ENDED, 3, 2, 137, CAUSE_MEMORY, true, 9 } },
	{ .type = MESSAGE_STATE, .state = { .phase = PEER_NEW } },
	{ .type = MESSAGE_ORDER,
	  .order = { ORDER_START, MESSAGE_EPOCHS, 1, { 1, UINT32_MAX, 0, 4 }, 8, 2 } },
	{ .type = MESSAGE_KEEPALIVE },
	{ .type = MESSAGE_REFUSED, .refusal = REFUSED_RANK },
	{ .type = MESSAGE_ACTIVITY, .activity = { 1, UINT32_MAX, 100, 5 } },
	{ .type = MESSAGE_STACK, .stack = { NO_RANK, 0, "" } },
	{ .type = MESSAGE_STACK, .stack = { 7, 12, "f (a.py:1)\ng" } },
	{ .type = MESSAGE_DUMPED },
	{ .type = MESSAGE_DATA, .stack = { 7, 0, "" } },
	{ .type = MESSAGE_DATA, .stack = { UINT32_MAX, 5, "a\0bcd" } },
	{ .type = MESSAGE_ORDER, .order = { ORDER_DUMP, 1, 1, { 0 }, 0, 0 } },
};

TEST(test_round_trip)
{
	for (size_t i = 0; i < N_ELEMENTS(all); i++) {
		cleanup_buf struct buf b = { .max = 100 }, again = { .max = 100 };
		struct error err = { 0 };
		struct message m;
		size_t used;

		message_add(&b, &all[i]);
		for (size_t len = 0; len < b.len; len++) {
			assert_int_equal(message_decode(&m, &used, b.data, len, &err), 0);
			assert_int_equal(used, 0);
		}
		assert_int_equal(message_decode(&m, &used, b.data, b.len, &err), 0);
		assert_int_equal(used, b.len);
		message_add(&again, &m);
		assert_int_equal(again.len, b.len);
		assert_memory_equal(again.data, b.data, b.len);
	}
}

static int decode(const char *bytes, size_t len, struct message *m, struct error *err)
{
	size_t used;

	return message_decode(m, &used, bytes, len, err);
}

TEST(test_bad_messages)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *text;
	} bad[] = {
		{ "\0\4", 2, "invalid message of 0 bytes" },
		{ "\xfa", 1, "invalid message of 250 bytes" },
		{ "\1\0", 2, "unknown message type 0" },
		{ "\1\xa", 2, "unknown message type 10" },
		{ "\4\x9\0\0\0", 5, "invalid message: type 9 with 4 bytes" },
		{ "\4\7abc", 5, "invalid message: type 7 with 4 bytes" },
		{ "\x11\6\0\0\0\1\0\0\0\1\0\0\0\x65\0\0\0\0", 18,
		  "invalid message: 101 in type 6" },
		{ "\2\x8x", 3, "invalid message: type 8 with 2 bytes" },
		{ "\2\4x", 3, "invalid message: type 4 with 2 bytes" },
		{ "\5\5\0\0\0\3", 6, "invalid message: 3 in type 5" },
		{ "\5\5\0\0\0\0", 6, "invalid message: a wrong number in type 5" },
		{ "\x0d\1\0\0\0\2\0\0\0\2\0\0\0\2", 14,
		  "invalid message: a wrong number in type 1" },
		{ "\x25\3\0\0\0\1\x3b\x9a\xca\1\0\0\0\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
		  "\0\0\0\0\0\0\0\0",
		  38, "invalid message: 1000000001 in type 3" },
	};

	for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
		struct error err = { 0 };
		struct message m;

		assert_int_equal(decode(bad[i].bytes, bad[i].len, &m, &err), -1);
		assert_int_equal(err.kind, ERR_FORMAT);
		assert_string_equal(err.msg, bad[i].text);
	}
}

TEST(test_a_later_version_is_read_whatever_follows)
{
	struct error err = { 0 };
	struct message m;

	assert_int_equal(decode("\7\1\0\0\0\3ab", 8, &m, &err), 0);
	assert_int_equal(m.hello.version, 3);
}

RUN_TESTS(NULL, NULL)
