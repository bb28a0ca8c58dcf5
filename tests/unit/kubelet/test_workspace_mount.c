/* Where pods cannot mount, one unpacked copy serves all; a wrong digest unpacks nothing. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "kubelet/workspace_mount.h"
#include "pack/pack.h"
#include "tests/unit/unit.h"
#include "trainer/workspace_spec.h"

static char folder[] = "/tmp/kftrainer-mount-XXXXXX";

static void make(struct pack_summary *summary, struct arena *arena)
{
	const struct pack_opts how = { .limits = PACK_LIMITS };
	struct error err = { 0 };
	int fd;

	assert_int_equal(chdir(folder), 0);
	assert_int_equal(mkdir("source", 0700), 0);
	fd = open("source/train.py", O_WRONLY | O_CREAT, 0600);
	assert_int_equal(write(fd, "pass\n", 5), 5);
	close(fd);
	fd = open(WORKSPACE_FILE, O_RDWR | O_CREAT, 0600);
	if (pack_folder("source", fd, &how, arena, summary, &err))
		fail_msg("%s", err.msg);
	close(fd);
}

TEST(test_shared)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_json cJSON *objects = cJSON_CreateArray();
	struct pack_summary summary = { 0 };
	struct error err = { 0 };
	bool shared = false;

	assert_non_null(mkdtemp(folder));
	setenv("KFTRAINER_ISOLATION", "none", 1);
	make(&summary, &arena);
	assert_int_equal(workspace_mount(objects, folder, summary.digest, &shared, &err),
			 0);
	assert_true(shared);
	assert_int_equal(access("files/train.py", R_OK), 0);
	assert_int_equal(dir_remove("files", &err), 0);
	summary.digest[0] = summary.digest[0] == '0' ? '1' : '0';
	assert_int_equal(workspace_mount(objects, folder, summary.digest, &shared, &err),
			 -1);
	assert_int_equal(access("files/train.py", R_OK), -1);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(dir_remove(folder, &err), 0);
}

RUN_TESTS(NULL, NULL)
