/* What a supervisor sends to a rerun; tests/fuzz/fuzz_rerun.c has what else it can send. */
#include "client/rerun.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "pack/receive.h"
#include "tests/unit/unit.h"

static int send(struct rerun *r, char type, const char *text, struct error *err)
{
	unsigned char frame[FRAME_HEADER + 64];
	size_t len = strlen(text);

	receive_header(frame, type, len);
	memcpy(frame + FRAME_HEADER, text, len);
	return rerun_read(r, STDOUT_FILENO, (const char *)frame, FRAME_HEADER + len, err);
}

/* Who only starts the command has no use for output, which may come before the start. */
TEST(test_start_only)
{
	char dir[] = "/tmp/kftrainer-rerun-XXXXXX";
	const struct rerun_want want = { .path = dir, .start_only = true };
	struct rerun_end end = { 0 };
	struct error err = { 0 };
	struct rerun *r = NULL;
	char file[64];

	assert_non_null(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/a", dir);
	assert_int_equal(file_write(file, "a", 1, 0600, &err), 0);
	assert_int_equal(rerun_begin(&r, &want, &err), 0);
	assert_int_equal(send(r, 'O', "a line\n", &err), 0);
	assert_int_equal(send(r, 'R', "a warning\n", &err), 0);
	assert_int_equal(send(r, 'S', "", &err), -1);
	assert_int_equal(err.kind, ERR_STOPPED);
	assert_int_equal(rerun_finish(r, &end, &err), 0);
	assert_int_equal(dir_remove(dir, &err), 0);
}

RUN_TESTS(NULL, NULL)
