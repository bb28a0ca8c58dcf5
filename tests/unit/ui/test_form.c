/* Values of a form, as browsers encode them. */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "ui/form.h"

static void check(const char *form, const char *want)
{
	cleanup_arena struct arena arena = { 0 };
	const char *got = form_value(&arena, form, "q");

	if (want)
		assert_string_equal(got, want);
	else
		assert_null(got);
}

TEST(values_of_forms)
{
	check("", NULL);
	check("q", NULL);
	check("aq=1&bq=2", NULL);
	check("q=", "");
	check("a=1&q=x+y%2B%26&q=z", "x y+&");
	check("&&q=%E2%82%AC&", "\xe2\x82\xac");
	check("q=%00", NULL);
	check("q=%zz", NULL);
	check("q==1", "=1");
}

RUN_TESTS(NULL, NULL)
