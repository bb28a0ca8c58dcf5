/* Objects of a run directory whose readers pass over what they cannot read. */
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "runs/rundir.h"
#include "tests/unit/base/base_test.h"

static const char *no_env(void *ctx, const char *name)
{
	return NULL;
}

static int pass_over(void *ctx, const char *path, const struct buf *text,
		     struct error *err)
{
	int *n = ctx;

	check_int("no error of another one", err->kind, 0);
	(*n)++;
	error_set(err, ERR_NOT_FOUND, "%s: removed", path);
	return 0;
}

TEST(success_clears_the_error_of_each)
{
	const struct rundir_pattern all = { NULL, ".x", 100 };
	char dir[] = "/tmp/kft-place-XXXXXX", uri[64];
	cleanup_arena struct arena a = { 0 };
	struct rundir p;
	struct error err = { 0 };
	int n = 0;

	assert_non_null(mkdtemp(dir));
	snprintf(uri, sizeof(uri), "file://%s", dir);
	assert_int_equal(file_write(path_join(&a, dir, "1.x"), "", 0, 0600, &err), 0);
	assert_int_equal(file_write(path_join(&a, dir, "2.x"), "", 0, 0600, &err), 0);
	assert_int_equal(rundir_open(&p, uri, no_env, NULL, &err), 0);
	error_set(&err, ERR_IO, "of an earlier call");
	check_int("read", rundir_read_each(&p, "", &all, pass_over, &n, &err), 0);
	check_int("both", n, 2);
	check_int("a success has no error", err.kind, 0);
	rundir_close(&p);
	assert_int_equal(dir_remove(dir, &err), 0);
}

RUN_TESTS(NULL, NULL)
