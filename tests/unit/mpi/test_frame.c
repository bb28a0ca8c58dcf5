/* What mpi-launch and mpi-worker say to each other, byte by byte. */
#include "mpi/frame.h"

#include "base/cleanup.h"
#include "tests/unit/base/base_test.h"

/* All frames of the bytes, byte by byte as a slow peer would send them: their types. */
static void decode(const struct buf *b, char *types, struct error *err)
{
	size_t at = 0, used = 0;

	for (size_t end = 0; end <= b->len; end++) {
		struct frame f;

		if (frame_decode(&f, &used, b->data + at, end - at, err))
			return;
		if (!used)
			continue;
		assert_int_equal(used, FRAME_HEADER + f.len);
		*types++ = (char)('0' + f.type);
		*types = 0;
		at += used;
	}
	assert_int_equal(at, b->len);
}

TEST(test_each_type)
{
	cleanup_buf struct buf b = { .max = 1 << 20 };
	struct error err = { 0 };
	char types[32] = "";

	frame_add_command(&b, "orted -mca x \"y\"");
	frame_add(&b, FRAME_STDIN, "abc", 3);
	frame_add(&b, FRAME_STDOUT, "\0\1", 2);
	frame_add(&b, FRAME_STDERR, "e", 1);
	frame_add_end(&b, FRAME_STDOUT);
	frame_add_credit(&b, FRAME_STDIN, 65536);
	frame_add_signal(&b, 15);
	frame_add_exit(&b, FRAME_KILLED, 9);
	decode(&b, types, &err);
	assert_string_equal(types, "12345678");
	assert_int_equal(err.kind, ERR_NONE);
}

TEST(test_numbers)
{
	cleanup_buf struct buf b = { .max = 100 };
	struct error err = { 0 };
	struct frame f;
	size_t used;

	frame_add_credit(&b, FRAME_STDERR, 0x01020304);
	assert_int_equal(frame_decode(&f, &used, b.data, b.len, &err), 0);
	assert_int_equal(frame_stream(&f), FRAME_STDERR);
	assert_int_equal(frame_number(&f), 0x01020304);
	buf_clear(&b);
	frame_add_signal(&b, 10);
	assert_int_equal(frame_decode(&f, &used, b.data, b.len, &err), 0);
	assert_int_equal(frame_number(&f), 10);
}

TEST(test_refused)
{
	static const struct {
		const char *bytes, *error;
		size_t len;
	} rows[] = {
		{ "\0", "unknown frame type 0", 1 },
		{ "\x09", "unknown frame type 9", 1 },
		{ "SSH-2.0", "unknown frame type 83", 7 },
		{ "\2\0\0\0\0", "invalid frame: type 2 with 0 bytes", 5 },
		{ "\2\0\1\0\1", "invalid frame: type 2 with 65537 bytes", 5 },
		{ "\2\377\377\377\377", "invalid frame: type 2 with 4294967295 bytes",
		  5 },
		{ "\5\0\0\0\2", "invalid frame: type 5 with 2 bytes", 5 },
		{ "\6\0\0\0\1", "invalid frame: type 6 with 1 bytes", 5 },
		{ "\7\0\0\0\5", "invalid frame: type 7 with 5 bytes", 5 },
		{ "\5\0\0\0\1\1", "frame for unknown stream 1", 6 },
		{ "\6\0\0\0\5\5abcd", "frame for unknown stream 5", 10 },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct error err = { 0 };
		struct frame f;
		size_t used;

		assert_int_equal(
			frame_decode(&f, &used, rows[i].bytes, rows[i].len, &err), -1);
		assert_int_equal(err.kind, ERR_FORMAT);
		assert_string_equal(err.msg, rows[i].error);
	}
}

/* What a worker makes of the command frames in b. */
static int take(struct frame_command *c, const struct buf *b, bool *done,
		struct error *err)
{
	size_t at = 0, used = 1;
	struct frame f;

	for (; at < b->len; at += used)
		if (frame_decode(&f, &used, b->data + at, b->len - at, err) ||
		    frame_take_command(c, &f, done, err))
			return -1;
	return 0;
}

TEST(test_commands)
{
	static const size_t lengths[] = {
		0, 1, 65531, 65532, 65536, 122879, FRAME_COMMAND_MAX
	};

	for (size_t i = 0; i < N_ELEMENTS(lengths); i++) {
		struct frame_command c = { .text.max = FRAME_COMMAND_MAX };
		cleanup_buf struct buf b = { .max = 1 << 20 };
		cleanup_free char *text = calloc(1, lengths[i] + 1);
		struct error err = { 0 };
		bool done = false;

		memset(text, 'x', lengths[i]);
		frame_add_command(&b, text);
		assert_int_equal(take(&c, &b, &done, &err), 0);
		assert_true(done);
		assert_int_equal(c.text.len, lengths[i]);
		assert_true(!lengths[i] || !strcmp((char *)c.text.data, text));
		buf_release(&c.text);
	}
}

TEST(test_bad_commands)
{
	static const struct {
		const char *bytes, *error;
		size_t len;
		enum error_kind kind;
	} rows[] = {
		{ "\1\0\0\0\6\2\0\0\0\1x",
		  "protocol version 2 is not supported; this program has version 1", 11,
		  ERR_UNSUPPORTED },
		{ "\1\0\0\0\1\1", "invalid command: no length", 6, ERR_FORMAT },
		{ "\1\0\0\0\5\1\0\1\340\1",
		  "the command has 122881 bytes; the limit is 122880", 10, ERR_LIMIT },
		{ "\1\0\0\0\7\1\0\0\0\1xy", "invalid command: longer than announced", 12,
		  ERR_FORMAT },
		{ "\1\0\0\0\6\1\0\0\0\2x\1\0\0\0\2yz",
		  "invalid command: longer than announced", 18, ERR_FORMAT },
		{ "\1\0\0\0\6\1\0\0\0\1\0", "invalid command: contains a NUL byte", 11,
		  ERR_FORMAT },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct frame_command c = { .text.max = FRAME_COMMAND_MAX };
		cleanup_buf struct buf b = { .max = 1000 };
		struct error err = { 0 };
		bool done = false;

		buf_add(&b, rows[i].bytes, rows[i].len);
		assert_int_equal(take(&c, &b, &done, &err), -1);
		assert_int_equal(err.kind, rows[i].kind);
		assert_string_equal(err.msg, rows[i].error);
		buf_release(&c.text);
	}
}

RUN_TESTS(NULL, NULL)
