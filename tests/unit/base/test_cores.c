/* Quotas of control groups, in trees as hosts and containers have them. */
#include "base/cores.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "tests/unit/base/base_test.h"

static char root[] = "/tmp/kftrainer-cores-XXXXXX";

static const struct {
	const char *path, *text;
} files[] = {
	{ "cpu.max", "max 100000\n" },
	{ "docker/cpu.max", "400000 100000\n" },
	{ "docker/c/cpu.max", "150000 100000\n" },
	{ "docker/c/kft/cpu.max", "max 100000\n" },
	{ "docker/odd/cpu.max", "nothing\n" },
	{ "cpu/cpu.cfs_quota_us", "-1\n" },
	{ "cpu/cpu.cfs_period_us", "100000\n" },
	{ "cpu/pod/cpu.cfs_quota_us", "300000\n" },
	{ "cpu/pod/cpu.cfs_period_us", "100000\n" },
	{ "cpu/half/cpu.cfs_quota_us", "50000\n" },
	{ "cpu/half/cpu.cfs_period_us", "100000\n" },
};

TEST(test_quotas)
{
	static const struct {
		const char *groups;
		int64_t want;
	} rows[] = {
		{ "", 0 },
		{ "0::/\n", 0 },
		{ "0::/docker\n", 4 },
		{ "0::/docker/c\n", 2 },
		{ "0::/docker/c/kft\n", 2 },
		{ "0::/docker/odd\n", 4 },
		{ "0::/docker/of/another/host\n", 4 },
		{ "0::/nowhere/of/a/container\n", 0 },
		{ "5:memory:/pod\n1:cpu:/\n0::/\n", 0 },
		{ "5:memory:/pod\n1:cpu,cpuacct:/pod\n0::/\n", 3 },
		{ "1:cpu:/pod/deeper\n", 3 },
		{ "1:cpu:/half\n", 1 },
		{ "1:cpuset:/half\n", 0 },
		{ "1:cpu:/pod\n0::/docker/c\n", 2 },
		{ "no groups\n1:cpu\n::\n", 0 },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		if (cores_quota(rows[i].groups, root) != rows[i].want)
			fail_msg("%zu: have %lld, want %lld", i,
				 (long long)cores_quota(rows[i].groups, root),
				 (long long)rows[i].want);
	assert_true(cores_usable() >= 1);
}

static int set_up(void **state)
{
	struct error err;

	if (!mkdtemp(root))
		return -1;
	for (size_t i = 0; i < N_ELEMENTS(files); i++) {
		cleanup_arena struct arena a = { 0 };
		char *path = arena_printf(&a, "%s/%s", root, files[i].path);
		char *slash = strrchr(path, '/');

		*slash = 0;
		if (dir_make(path, 0700, &err))
			return -1;
		*slash = '/';
		if (file_write(path, files[i].text, strlen(files[i].text), 0600, &err))
			return -1;
	}
	return 0;
}

static int tear_down(void **state)
{
	struct error err;

	return dir_remove(root, &err);
}

RUN_TESTS(set_up, tear_down)
