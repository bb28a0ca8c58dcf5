#include "base/arena.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "crypto/bearer.h"
#include "tests/unit/unit.h"

static const struct {
	const char *value, *want;
} rows[] = {
	{ NULL, NULL },
	{ "", NULL },
	{ "Bearer", NULL },
	{ "Bearer ", NULL },
	{ "Basic abc", NULL },
	{ "Bearerabc", NULL },
	{ "Bearer a b", NULL },
	{ "Bearer abc", "abc" },
	{ "bEARER \t abc \t", "abc" },
	{ "  Bearer a.b-c_d=", "a.b-c_d=" },
};

TEST(test_token)
{
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena a = { 0 };
		const char *got = bearer_token(&a, rows[i].value);

		if (!str_eq(got, rows[i].want))
			fail_msg("%s: got %s", rows[i].value, got ? got : "none");
		assert_int_equal(bearer_is(rows[i].value, "abc"), str_eq(got, "abc"));
	}
}

TEST(test_compare)
{
	assert_true(bearer_is("Bearer abc", "abc"));
	assert_false(bearer_is("Bearer abd", "abc"));
	assert_false(bearer_is("Bearer bbc", "abc"));
	assert_false(bearer_is("Bearer ab", "abc"));
	assert_false(bearer_is("Bearer abcd", "abc"));
	assert_false(bearer_is("Bearer abc", ""));
}

RUN_TESTS(NULL, NULL)
