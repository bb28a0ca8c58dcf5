/* The files of a container's output, as a disk that was full has left them. */
#include "kubelet/output.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "tests/unit/base/base_test.h"

static char dir[] = "/tmp/kftrainer-output-XXXXXX";

static void ignore(void *ctx, const char *line, size_t len)
{
}

static void ignore_state(void *ctx, const char *line, size_t len, bool bar)
{
}

static void put(const char *path, const void *data, size_t len)
{
	struct error err;

	if (file_write(path, data, len, 0600, &err))
		fail_msg("%s", err.msg);
}

static void get(struct buf *ret, const char *path)
{
	struct error err;

	if (file_read(ret, path, &err))
		fail_msg("%s", err.msg);
}

TEST(test_a_start_behind_what_was_cut_off)
{
	cleanup_buf struct buf log = { .max = 1000 }, times = { .max = 1000 };
	const struct output_mark before[] = { { 0, 1, 1 }, { 0, 2, 0 }, { 5, 3, 0 } };
	cleanup_arena struct arena a = { 0 };
	const char *path = arena_printf(&a, "%s/log", dir);
	struct output o = { .marks_path = arena_printf(&a, "%s/times", dir),
			    .on_line = ignore,
			    .on_state = ignore_state };
	const struct output_mark *marks;
	struct error err;

	put(path, "one\ntw", 6);
	put(o.marks_path, before, sizeof(before) - 10);
	if (output_open(&o, path, &err))
		fail_msg("%s", err.msg);
	output_add(&o, "three\n", 6);
	output_close(&o);
	get(&log, path);
	assert_int_equal(log.len, 13);
	assert_memory_equal(log.data, "one\ntw\nthree\n", 13);
	get(&times, o.marks_path);
	assert_int_equal(times.len, 4 * sizeof(*marks));
	marks = (const struct output_mark *)times.data;
	assert_memory_equal(marks, before, 2 * sizeof(*marks));
	assert_int_equal(marks[2].offset, 7);
	assert_int_equal(marks[2].begins, 1);
	assert_int_equal(marks[3].offset, 7);
	assert_int_equal(marks[3].begins, 0);
}

/* moby/moby#38086: once there is room, the log goes on, and says what it lacks. */
TEST(test_a_disk_that_was_full)
{
	cleanup_buf struct buf log = { .max = 1000 }, times = { .max = 1000 };
	cleanup_arena struct arena a = { 0 };
	const char *path = arena_printf(&a, "%s/full", dir);
	struct output o = { .marks_path = arena_printf(&a, "%s/full-times", dir),
			    .on_line = ignore,
			    .on_state = ignore_state };
	const struct output_mark *last;
	struct rlimit old, small;
	struct error err;

	if (output_open(&o, path, &err))
		fail_msg("%s", err.msg);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small = (struct rlimit){ 10, old.rlim_max };
	setrlimit(RLIMIT_FSIZE, &small);
	output_add(&o, "one two three\n", 14);
	output_add(&o, "four\n", 5);
	o.retry_at = 0;
	output_add(&o, "five\n", 5);
	setrlimit(RLIMIT_FSIZE, &old);
	output_add(&o, "six\n", 4);
	o.retry_at = 0;
	output_add(&o, "seven\n", 6);
	setrlimit(RLIMIT_FSIZE, &small);
	output_add(&o, "eight", 5);
	setrlimit(RLIMIT_FSIZE, &old);
	output_close(&o);
	get(&log, path);
	assert_string_equal((char *)log.data,
			    "one two th\n"
			    "kftrainer: 18 bytes of output are missing here\n"
			    "seven\n"
			    "kftrainer: 5 bytes of output are missing here\n");
	get(&times, o.marks_path);
	assert_int_equal(times.len % sizeof(*last), 0);
	last = (const struct output_mark *)(times.data + times.len) - 1;
	assert_int_equal(last->offset, 58);
}

TEST(test_a_disk_that_stays_full)
{
	cleanup_buf struct buf log = { .max = 1000 };
	cleanup_arena struct arena a = { 0 };
	const char *path = arena_printf(&a, "%s/stays", dir);
	struct output o = { .on_line = ignore, .on_state = ignore_state };
	struct rlimit old, small;
	char line[100];
	struct error err;

	memset(line, 'x', sizeof(line));
	if (output_open(&o, path, &err))
		fail_msg("%s", err.msg);
	getrlimit(RLIMIT_FSIZE, &old);
	small = (struct rlimit){ 105, old.rlim_max };
	setrlimit(RLIMIT_FSIZE, &small);
	output_add(&o, line, sizeof(line));
	output_add(&o, line, sizeof(line));
	output_close(&o);
	setrlimit(RLIMIT_FSIZE, &old);
	get(&log, path);
	assert_string_equal((char *)log.data,
			    "xxxxx\nkftrainer: 195 bytes of output are missing here\n");
}

static int set_up(void **state)
{
	return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
	struct error err;

	return dir_remove(dir, &err);
}

RUN_TESTS(set_up, tear_down)
