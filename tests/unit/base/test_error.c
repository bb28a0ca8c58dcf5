#include <errno.h>

#include "base/error.h"
#include "tests/unit/base/base_test.h"

TEST(test_wrapping_puts_the_outermost_first)
{
	struct error err = { 0 };

	assert_int_equal(error_errno(&err, ECONNREFUSED, "dial %s", "api"), -1);
	assert_int_equal(err.kind, ERR_IO);
	assert_int_equal(err.code, ECONNREFUSED);
	assert_int_equal(error_wrap(&err, "runtime %d", 7), -1);
	assert_int_equal(error_wrap(&err, "trainjob %s/%s", "a", "b"), -1);
	assert_string_equal(err.msg,
			    "trainjob a/b: runtime 7: dial api: Connection refused");
	assert_int_equal(err.kind, ERR_IO);
	assert_int_equal(err.code, ECONNREFUSED);
}

TEST(test_setting_again_forgets)
{
	struct error err = { 0 };

	error_errno(&err, EACCES, "x");
	assert_int_equal(error_set(&err, ERR_LIMIT, "%d%%", 5), -1);
	assert_string_equal(err.msg, "5%");
	assert_int_equal(err.kind, ERR_LIMIT);
	assert_int_equal(err.code, 0);
}

TEST(test_kinds_of_errno)
{
	static const struct {
		int errnum;
		enum error_kind kind;
		const char *name;
	} rows[] = {
		{ ENOENT, ERR_NOT_FOUND, "not found" }, { EEXIST, ERR_EXISTS, "exists" },
		{ EACCES, ERR_DENIED, "denied" },       { EPERM, ERR_DENIED, "denied" },
		{ ETIMEDOUT, ERR_TIMEOUT, "timeout" },  { ENOSPC, ERR_IO, "io" },
	};
	struct error err = { 0 };

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		error_errno(&err, rows[i].errnum, "x");
		check_int(rows[i].name, err.kind, rows[i].kind);
		check_text(rows[i].name, error_kind_name(err.kind), rows[i].name);
	}
}

TEST(test_too_long_is_cut)
{
	struct error err = { 0 };
	char text[2000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	error_set(&err, ERR_IO, "%s", text);
	assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
	error_wrap(&err, "outer");
	assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
	assert_memory_equal(err.msg, "outer: xxx", 10);
	error_wrap(&err, "%s", text);
	assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
	assert_int_equal(err.msg[0], 'x');
}

/* Every kind has a name of its own. */
TEST(test_names)
{
	for (int a = ERR_NONE; a <= ERR_STOPPED; a++)
		for (int b = ERR_NONE; b < a; b++)
			assert_string_not_equal(error_kind_name((enum error_kind)a),
						error_kind_name((enum error_kind)b));
	assert_string_equal(error_kind_name((enum error_kind)1000), "unknown");
}

RUN_TESTS(NULL, NULL)
