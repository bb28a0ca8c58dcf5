/* A copy of a directory that cannot be read to its end. Not in a static program: readdir() is replaced. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "runs/linkcopy.h"
#include "tests/unit/base/base_test.h"

static char dir[] = "/tmp/kft-copy-XXXXXX";

/* Of directories, until the volume's server is away; -1: it stays. */
static int reads_left = -1;

struct dirent *readdir(DIR *d)
{
	struct dirent *(*real)(DIR * d) = dlsym(RTLD_NEXT, "readdir");

	if (reads_left < 0 || reads_left--)
		return real(d);
	errno = ESTALE;
	return NULL;
}

static void put(const char *path, const char *text)
{
	assert_int_equal(file_write(path, text, strlen(text), 0644, IGNORED), 0);
}

/* Else a checkpoint would be complete without the files that were not listed. */
TEST(test_held_not_all)
{
	int at = open(".", O_RDONLY | O_DIRECTORY), fd;

	assert_int_equal(dir_make("step_3", 0755, IGNORED), 0);
	put("step_3/a", "1");
	put("step_3/b", "1");
	reads_left = 3; /* two are "." and ".." */
	fd = linkcopy_create(at, ".copy", "step_3");
	check_int("read to the end", reads_left, -1);
	check_int("the copy fails", fd, -1);
	linkcopy_remove(dir, ".copy");
	fd = linkcopy_create(at, ".copy", "step_3");
	assert_true(fd >= 0);
	close(fd);
	linkcopy_remove(dir, ".copy");
	assert_int_equal(dir_remove("step_3", IGNORED), 0);
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
