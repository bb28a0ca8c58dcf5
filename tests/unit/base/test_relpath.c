/* Which paths may be made below a directory. */
#include "base/relpath.h"
#include "tests/unit/base/base_test.h"

TEST(valid_and_invalid_paths)
{
	static const char *const good[] = { "a",        "a/b", "..a",  "a..", ".hidden/x",
					    "\xc3\xa9", "a b", "a\\b", NULL };
	static const char *const bad[] = { "",       "/a",   "a//b", "a/",    "../a",
					   "a/../b", "a/..", ".",    "a/./b", "a\nb",
					   "\xff",   "..",   NULL };
	struct error err = { 0 };
	char part[300];

	for (int i = 0; good[i]; i++)
		assert_int_equal(relpath_check(good[i], &err), 0);
	for (int i = 0; bad[i]; i++)
		assert_int_equal(relpath_check(bad[i], &err), -1);
	memset(part, 'x', sizeof(part));
	part[255] = 0;
	assert_int_equal(relpath_check(part, &err), 0);
	part[255] = 'x';
	part[256] = 0;
	assert_int_equal(relpath_check(part, &err), -1);
}

RUN_TESTS(NULL, NULL)
