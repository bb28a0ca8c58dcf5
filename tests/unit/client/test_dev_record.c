/* Which directories of this machine are sent to jobs in development. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tests/unit/base/base_test.h"

#include "api/meta.h"
#include "base/clock.h"
#include "base/file.h"
#include "client/dev_record.h"
#include "trainer/api.h"
#include "trainer/supervise_spec.h"

static char home[] = "/tmp/dev-record-XXXXXX";

static int set_up(void **state)
{
	return mkdtemp(home) ? setenv("XDG_STATE_HOME", home, 1) : -1;
}

static int tear_down(void **state)
{
	return dir_remove(home, IGNORED);
}

static cJSON *job_of(const char *uid, const char *from)
{
	cJSON *job = meta_new(TRAINER_API_VERSION, TRAINJOB_KIND, "n", "j");

	if (uid)
		meta_set_uid(job, uid);
	if (from)
		meta_set_annotation(job, DEV_FROM_ANNOTATION, from);
	return job;
}

TEST(test_agrees)
{
	static const struct {
		const char *uid, *from;
		bool agrees;
	} rows[] = {
		{ "a-1", "/code\n.env", true },
		{ "a-1", "/code", false },
		{ "a-1", "/code\n.env\n.ssh", false },
		{ "a-1", "/", false },
		{ "a-1", "", false },
		{ "a-1", NULL, false },
		{ "a-2", "/code\n.env", false },
		{ "", "/code\n.env", false },
		{ NULL, "/code\n.env", false },
		{ "../dev/a-1", "/code\n.env", false },
		{ ".", "/code\n.env", false },
	};
	cleanup_json cJSON *mine = job_of("a-1", "/code\n.env");
	struct error err = { 0 };

	assert_false(dev_record_agrees(mine));
	assert_int_equal(dev_record_write(mine, &err), 0);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *job = job_of(rows[i].uid, rows[i].from);

		check_int("row", dev_record_agrees(job), rows[i].agrees);
	}
}

TEST(test_names_of_files)
{
	static const char *const wrong[] = { NULL, "", ".", "..", "../x", "a/b", "a\nb" };
	struct error err = { 0 };

	for (size_t i = 0; i < N_ELEMENTS(wrong); i++) {
		cleanup_json cJSON *job = job_of(wrong[i], "/code");

		assert_int_equal(dev_record_write(job, &err), -1);
		assert_string_equal(err.msg, "TrainJob j has no usual uid");
	}
}

TEST(test_old_ones_are_removed)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *old = job_of("old", "/a"), *newer = job_of("newer", "/b");
	cleanup_json cJSON *now = job_of("now", "/c");
	const int64_t day = 24 * 3600;
	struct error err = { 0 };
	struct stat st;

	assert_int_equal(dev_record_write(old, &err), 0);
	assert_int_equal(dev_record_write(newer, &err), 0);
	for (int i = 0; i < 2; i++) {
		struct timespec t[2] = { { .tv_nsec = UTIME_OMIT },
					 { .tv_sec =
						   clock_now() - (i ? 89 : 91) * day } };
		const char *path = arena_printf(&arena, "%s/kftrainer/dev/%s", home,
						i ? "newer" : "old");

		assert_int_equal(utimensat(AT_FDCWD, path, t, 0), 0);
		assert_int_equal(stat(path, &st), 0);
		check_int("mode", st.st_mode & 0777, 0600);
	}
	assert_int_equal(dev_record_write(now, &err), 0);
	assert_false(dev_record_agrees(old));
	assert_true(dev_record_agrees(newer));
	assert_true(dev_record_agrees(now));
}

RUN_TESTS(set_up, tear_down)
