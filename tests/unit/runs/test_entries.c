/* What is in a directory of checkpoints: renamed into place, changed, removed before it was sent; what is held of it. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "runs/detect.h"
#include "runs/entries.h"
#include "runs/linkcopy.h"
#include "runs/runs_impl.h"
#include "tests/unit/base/base_test.h"

static char dir[] = "/tmp/kft-entries-XXXXXX";
static struct attempt first = { .number = 1 };
static struct runs_conf conf = { .dir = dir, .rank = 1 };
static struct runs runs = { .conf = &conf, .attempts = &first, .running = &first };

static void put(const char *path, const char *text)
{
	assert_int_equal(file_write(path, text, strlen(text), 0644, IGNORED), 0);
}

static void finish(struct entries *all)
{
	free(all->list);
	close(all->dir);
	close(all->notify);
}

static void gives(struct entries *all, const char *what, size_t n, bool quiet, bool gone)
{
	entries_scan(all);
	check_int(what, all->n, n);
	if (n) {
		check_int(what, all->list[0].unchanged, quiet);
		check_int(what, all->list[0].removed, gone);
	}
}

TEST(test_scan)
{
	struct entries all;

	entries_open(&all, &runs);
	assert_int_equal(mkdir("step_1", 0755), 0);
	put("step_1/part", "1");
	gives(&all, "a new one", 1, false, false);
	gives(&all, "as it was", 1, true, false);
	put("step_1/part", "12");
	gives(&all, "it has changed", 1, false, false);
	assert_int_equal(rename("step_1", ".away"), 0);
	gives(&all, "of a rank that is not the first, it was not sent", 1, true, true);
	assert_int_equal(rename(".away", "step_1"), 0);
	gives(&all, "renamed into place", 1, true, false);
	all.list[0].uploaded = true;
	assert_int_equal(dir_remove("step_1", IGNORED), 0);
	gives(&all, "it was sent", 0, false, false);
	finish(&all);
}

TEST(test_what_is_added_makes_it_no_newer)
{
	struct entries all;
	int64_t time;

	entries_open(&all, &runs);
	assert_int_equal(mkdir("checkpoint-5", 0755), 0);
	put("checkpoint-5/trainer_state.json", "{}");
	gives(&all, "a new one", 1, false, false);
	time = all.list[0].changed_us;
	put("checkpoint-5/eval.json", "{}");
	all.list[0].uploaded = true;
	gives(&all, "a file is added", 1, false, false);
	check_int("it is sent again", all.list[0].uploaded, false);
	check_int("with its time", all.list[0].changed_us == time, true);
	assert_int_equal(unlink("checkpoint-5/trainer_state.json"), 0);
	put("checkpoint-5/trainer_state.json", "{ }");
	gives(&all, "saved once more", 1, false, false);
	check_int("with a new time", all.list[0].changed_us > time, true);
	assert_int_equal(dir_remove("checkpoint-5", IGNORED), 0);
	finish(&all);
}

TEST(test_incomplete)
{
	struct entries all;

	entries_open(&all, &runs);
	assert_int_equal(mkdir("checkpoint-7", 0755), 0);
	put("checkpoint-7/checkpoint-is-incomplete.txt", "in progress");
	put("checkpoint-7/model.bin", "1");
	gives(&all, "half written", 1, false, false);
	check_int("its library says so", all.list[0].partial, true);
	assert_int_equal(unlink("checkpoint-7/checkpoint-is-incomplete.txt"), 0);
	gives(&all, "which is none of its files", 1, true, false);
	check_int("... and whole", all.list[0].partial, false);
	assert_int_equal(dir_remove("checkpoint-7", IGNORED), 0);
	finish(&all);
}

TEST(test_what_is_removed_of_it)
{
	struct entries all;

	entries_open(&all, &runs);
	assert_int_equal(mkdir("checkpoint-6", 0755), 0);
	put("checkpoint-6/model.bin", "1");
	put("checkpoint-6/optimizer.pt", "1");
	put("checkpoint-6/trainer_state.json", "{}");
	gives(&all, "a new one", 1, false, false);
	all.list[0].uploaded = true;
	assert_int_equal(unlink("checkpoint-6/model.bin"), 0);
	gives(&all, "a file is removed as it was sent", 1, false, false);
	check_int("it was not whole", all.list[0].uploaded, false);
	check_int("nor is it", all.list[0].shrunk, true);
	all.list[0].uploaded = all.list[0].stored = true;
	assert_int_equal(unlink("checkpoint-6/optimizer.pt"), 0);
	gives(&all, "... after it was", 1, false, false);
	check_int("it is not sent again", all.list[0].uploaded, true);
	put("checkpoint-6/trainer_state.json", "{ }");
	gives(&all, "saved once more", 1, false, false);
	check_int("it is", all.list[0].uploaded || all.list[0].shrunk, false);
	assert_int_equal(dir_remove("checkpoint-6", IGNORED), 0);
	finish(&all);
}

TEST(linkcopy_outlives_the_original)
{
	struct detected files;
	uint64_t fingerprint;
	int fd, at = open(".", O_RDONLY | O_DIRECTORY);

	assert_int_equal(dir_make("step_2/below", 0755, IGNORED), 0);
	put("step_2/below/part", "1");
	assert_int_equal(symlink("part", "step_2/below/link"), 0);
	fingerprint = detect_fingerprint(at, "step_2", &files);
	fd = linkcopy_create(at, ".copy", "step_2");
	assert_true(fd >= 0);
	check_int("the same", detect_fingerprint(fd, "step_2", &files) == fingerprint,
		  true);
	check_int("one at a time", linkcopy_create(at, ".copy", "step_2"), -1);
	assert_int_equal(dir_remove("step_2", IGNORED), 0);
	check_int("after it is removed",
		  detect_fingerprint(fd, "step_2", &files) == fingerprint, true);
	linkcopy_remove(dir, ".copy");
	check_int("nothing is left", file_exists(".copy"), false);
	check_int("nothing to copy", linkcopy_create(at, ".copy", "step_2"), -1);
	linkcopy_remove(dir, ".copy");
	close(fd);
	close(at);
}

static int make(void **state)
{
	return mkdtemp(dir) ? chdir(dir) : -1;
}

static int drop(void **state)
{
	return dir_remove(dir, IGNORED);
}

RUN_TESTS(make, drop)
