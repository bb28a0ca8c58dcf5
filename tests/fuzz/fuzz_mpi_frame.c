/*
 * What a peer sends an mpi-worker: frames, and the command in them. However it is cut, the
 * frames are the same, within the bytes, and a command never outgrows its limit.
 */
#include <string.h>

#include "base/cleanup.h"
#include "mpi/frame.h"
#include "tests/fuzz/fuzz.h"

static bool take_command(struct frame_command *c, const struct frame *f)
{
	struct error err = { 0 };
	bool done = false;

	if (frame_take_command(c, f, &done, &err))
		return false;
	FUZZ_CHECK(c->text.len <= c->announced && c->announced <= FRAME_COMMAND_MAX);
	FUZZ_CHECK(done == (c->text.len == c->announced));
	FUZZ_CHECK(!c->text.len || !memchr(c->text.data, 0, c->text.len));
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct frame_command command = { .text.max = FRAME_COMMAND_MAX };
	struct error err = { 0 };
	size_t at = 0, used = 1;
	struct frame f, g;

	for (; used && !frame_decode(&f, &used, data + at, size - at, &err); at += used) {
		size_t again = 0;

		if (!used)
			break;
		FUZZ_CHECK(used == FRAME_HEADER + f.len && used <= size - at);
		FUZZ_CHECK(f.data == data + at + FRAME_HEADER && f.len <= FRAME_MAX);
		/* One byte less is not a frame yet; exactly its bytes are the same one. */
		FUZZ_CHECK(!frame_decode(&g, &again, data + at, used - 1, &err) &&
			   !again);
		FUZZ_CHECK(!frame_decode(&g, &again, data + at, used, &err) &&
			   again == used && g.type == f.type);
		if (f.type == FRAME_COMMAND && !take_command(&command, &f))
			break;
	}
	buf_release(&command.text);
	return 0;
}
