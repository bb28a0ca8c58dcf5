/* A workspace on its way: options that belong together, what is packed, which way it goes. */
#include "tests/unit/spec/spec_test.h"

#include <sys/random.h>
#include <sys/stat.h>

#include "spec/workspace_pack.h"

TEST(test_options)
{
	const char *include[] = { "a", NULL };
	const struct {
		struct workspace_opts opts;
		bool local, fine;
	} rows[] = {
		{ { 0 }, false, true },
		{ { .dir = "d", .keep = true }, false, true },
		{ { .dir = "d", .keep = true }, true, false },
		{ { .keep = true }, false, false },
		{ { .include = { include, 1 } }, false, false },
		{ { .dir = "d", .include = { include, 1 } }, true, true },
		{ { .dir = "d", .to = "s3://b" }, false, true },
		{ { .dir = "d", .to = "s3://b" }, true, false },
		{ { .dir = "d", .to = "hf://u/r", .secret = "s" }, false, true },
		{ { .dir = "d", .secret = "s" }, false, false },
		{ { .dir = "d", .to = "/tmp/x" }, false, false },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct error err = { 0 };
		int rc = workspace_check_opts(&rows[i].opts, rows[i].local, &err);

		if ((rc == 0) != rows[i].fine)
			fail_msg("row %zu: %s", i, err.msg);
		if (rc)
			assert_int_equal(err.kind, ERR_USAGE);
	}
}

static void make_folder_with(const char *dir, size_t bytes)
{
	cleanup_free char *data = calloc(1, bytes);

	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(chdir(dir), 0);
	for (size_t at = 0; at < bytes; at += 256)
		assert_true(getrandom(data + at, bytes - at < 256 ? bytes - at : 256, 0) >
			    0);
	write_file("data.bin", data, bytes);
	assert_int_equal(chdir(".."), 0);
}

/* In the ConfigMap of each job; the temporary folder goes with it. */
TEST(test_by_configmap)
{
	struct lines lines = { 0 };
	const struct reporter to = { add_line, &lines };
	const struct workspace_opts opts = { .dir = "small" };
	struct job_opts job = { .runtime = "torch-distributed", .name = "one" };
	cleanup_job_set struct job_set set = { 0 };
	struct workspace_pack s = { 0 };
	struct error err = { 0 };
	char packed[200];

	make_folder_with("small", 2000);
	assert_int_equal(workspace_pack_dir(&s, &opts, WORKSPACE_API, &to, &err), 0);
	assert_non_null(s.annotations.digest);
	assert_null(s.annotations.uri);
	assert_true(s.upload.len > 2000);
	snprintf(packed, sizeof(packed), "%s", s.folder);
	assert_int_equal(access(packed, F_OK), 0);
	assert_int_equal(job_set_load(&set, &job, NAMES_FIXED, &to, &err), 0);
	workspace_pack_add_objects(&s, &set);
	assert_string_equal(json_str(set.list[0].objects->child, "kind"), "ConfigMap");
	workspace_pack_release(&s);
	assert_int_equal(access(packed, F_OK), -1);
	assert_int_equal(lines.n, 0);
}

TEST(test_too_large)
{
	const struct workspace_opts opts = { .dir = "large" };
	const struct workspace_opts by_uri = { .dir = "large", .to = "s3://b/p" };
	struct error err = { 0 };

	make_folder_with("large", WORKSPACE_CONFIGMAP_MAX + 4096);
	for (int target = 0; target <= WORKSPACE_API; target++) {
		cleanup_workspace_pack struct workspace_pack s = { 0 };
		int rc = workspace_pack_dir(&s, &opts, (enum workspace_target)target,
					    NULL, &err);

		assert_int_equal(rc, target == WORKSPACE_PRINTED ? -1 : 0);
		assert_null(s.upload.data);
		if (target == WORKSPACE_LOCAL) {
			assert_null(s.upload.path);
			continue;
		}
		assert_non_null(strstr(s.upload.too_large, "data.bin"));
		assert_non_null(strstr(s.upload.too_large, "--workspace-to"));
		if (target == WORKSPACE_API)
			continue;
		assert_int_equal(err.kind, ERR_LIMIT);
		assert_string_equal(err.msg, s.upload.too_large);
	}
	cleanup_workspace_pack struct workspace_pack s = { 0 };
	assert_int_equal(workspace_pack_dir(&s, &by_uri, WORKSPACE_API, NULL, &err), 0);
	assert_null(s.upload.data);
	assert_true(str_starts(s.annotations.uri, "s3://b/p/workspace-"));
	assert_true(str_ends(s.annotations.uri, ".tar.zst"));
	assert_non_null(strstr(s.annotations.uri, s.annotations.digest));
}

TEST(test_nothing)
{
	const struct workspace_opts opts = { 0 };
	cleanup_workspace_pack struct workspace_pack s = { 0 };
	struct error err = { 0 };

	assert_int_equal(workspace_pack_dir(&s, &opts, WORKSPACE_API, NULL, &err), 0);
	assert_null(s.annotations.digest);
	assert_null(s.folder);
}

RUN_TESTS(enter_folder, leave_folder)
