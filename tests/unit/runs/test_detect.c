/* Which entries are finished checkpoints, and how their stamps change. */
#include "runs/detect.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "tests/unit/base/base_test.h"

static char dir[] = "/tmp/kft-recognize-XXXXXX";
static int fd;

static void put(const char *path, const char *text)
{
	cleanup_arena struct arena arena = { 0 };
	const char *full = path_join(&arena, dir, path);
	struct error err = { 0 };

	if (dir_make(path_dir(&arena, full), 0755, &err) ||
	    file_write(full, text, strlen(text), 0644, &err))
		fail_msg("%s", err.msg);
}

TEST(test_table)
{
	static const struct {
		const char *file, *name;
		bool renamed, finished;
	} rows[] = {
		{ "checkpoint-1/model.safetensors", "checkpoint-1", false, false },
		{ "checkpoint-1/trainer_state.json", "checkpoint-1", false, true },
		{ "checkpoint-4/checkpoint-is-incomplete.txt", "checkpoint-4", false,
		  false },
		{ "checkpoint-4/trainer_state.json", "checkpoint-4", false, false },
		{ "epoch_1/__0_0.distcp", "epoch_1", false, false },
		{ "epoch_1/.metadata", "epoch_1", false, true },
		{ "checkpoint-3/model.safetensors", "checkpoint-3", false, false },
		{ "checkpoint-3/random_states_0.pkl", "checkpoint-3", false, true },
		{ "step=7.ckpt", "step=7.ckpt", false, true },
		{ "step=8.ckpt", "step=8.ckpt", false, false }, /* empty */
		{ "shard.ckpt/meta.pt", "shard.ckpt", false, false },
		{ "shard.ckpt/.metadata", "shard.ckpt", false, true },
		{ "model.pt", "model.pt", false, false },
		{ "model.pt", "model.pt", true, true },
		{ "model.pt.tmp", "model.pt.tmp", true, false },
		{ "tmp-checkpoint-2/trainer_state.json", "tmp-checkpoint-2", false,
		  false },
		{ "x.rank-1/.metadata", "x.rank-1", true, false },
	};
	struct error err = { 0 };

	assert_non_null(mkdtemp(dir));
	fd = open(dir, O_RDONLY | O_DIRECTORY);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		put(rows[i].file, str_eq(rows[i].name, "step=8.ckpt") ? "" : "x");
		check_int(rows[i].file,
			  detect_finished(fd, rows[i].name, rows[i].renamed),
			  rows[i].finished);
	}
	check_int("in place", detect_whole(fd, "step=7.ckpt", false), false);
	check_int("renamed", detect_whole(fd, "step=7.ckpt", true), true);
	check_int("written last", detect_whole(fd, "checkpoint-1", false), true);
	check_int("more may follow", detect_whole(fd, "checkpoint-3", false), false);
	check_int("sharded", detect_whole(fd, "shard.ckpt", false), true);
	assert_int_equal(unlinkat(fd, "shard.ckpt/meta.pt", 0), 0);
	check_int("... not yet", detect_whole(fd, "shard.ckpt", false), false);
	assert_int_equal(dir_remove(dir, &err), 0);
	close(fd);
}

TEST(test_stamp)
{
	struct error err = { 0 };
	const struct timespec times[] = { { 0 }, { 1700000000, 123456789 } };
	struct detected files;
	uint64_t before;

	memcpy(dir + strlen(dir) - 6, "XXXXXX", 6);
	assert_non_null(mkdtemp(dir));
	fd = open(dir, O_RDONLY | O_DIRECTORY);
	put("c/a", "1");
	put("c/d/b", "22");
	put("c/.kftrainer/x", "");
	before = detect_fingerprint(fd, "c", &files);
	check_int("files", files.files, 2);
	check_int("the same", detect_fingerprint(fd, "c", &files) == before, true);
	put("c/.kftrainer/y", "");
	check_int("not ours", detect_fingerprint(fd, "c", &files) == before, true);
	put("c/d/b", "33");
	check_int("another time", detect_fingerprint(fd, "c", &files) == before, false);
	assert_int_equal(utimensat(fd, "c/a", times, 0), 0);
	assert_int_equal(utimensat(fd, "c/d/b", times, 0), 0);
	detect_fingerprint(fd, "c", &files);
	check_int("the last change", files.newest, 1700000000123456789);
	check_int("none", detect_fingerprint(fd, "x", &files) == 0, true);
	assert_int_equal(dir_remove(dir, &err), 0);
	close(fd);
}

RUN_TESTS(NULL, NULL)
