/* Volumes and shared memory of this node, as they are and as they should not be. */
#include "nodecheck/nodecheck.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"
#include "tests/unit/base/base_test.h"

static void add_row(void *ctx, const struct nodecheck_row *row)
{
	buf_printf(ctx, "%s%s %s: %s\n", row->bad ? "" : "good ", row->check,
		   row->device ? row->device : "-", row->message);
}

static int entries_of(const char *path)
{
	DIR *d = opendir(path);
	int n = -2; /* . and .. */

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

TEST(test_mounts)
{
	char dir[] = "/tmp/test-mounts-XXXXXX", want[600];
	cleanup_buf struct buf rows = { .max = 4096 };
	struct nodecheck c = { add_row, &rows, 0 };
	const char *paths[] = { mkdtemp(dir), "/nowhere/at/all", "/dev/null" };

	nodecheck_mounts(&c, paths, N_ELEMENTS(paths), "n0");
	snprintf(
		want, sizeof(want),
		"good mounts %s: written, read, removed\n"
		"mounts /nowhere/at/all: cannot create a file: No such file or directory\n"
		"mounts /dev/null: cannot create a file: Not a directory\n",
		dir);
	assert_string_equal((char *)rows.data, want);
	assert_int_equal(entries_of(dir), 0);
	rmdir(dir);
}

TEST(test_shm)
{
	cleanup_buf struct buf rows = { .max = 4096 };
	struct nodecheck c = { add_row, &rows, 0 };

	nodecheck_shm(&c, 1);
	nodecheck_shm(&c, INT64_MAX);
	assert_string_equal(
		(char *)rows.data,
		"good shm -: as large as was asked\n"
		"shm /dev/shm: /dev/shm is smaller than was asked: mount an emptyDir "
		"of medium Memory there, and raise the memory limit\n");
}

RUN_TESTS(NULL, NULL)
