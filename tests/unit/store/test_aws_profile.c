/* Profiles of AWS's files: which lines are whose. */
#include "base/str.h"
#include "store/aws_profile.h"
#include "tests/unit/base/base_test.h"

static void test_lines(void **state)
{
	static const struct {
		const char *name, *text, *profile, *region; /* region NULL: not said */
		bool config, found;
	} rows[] = {
		{ "plain", "[default]\nregion = a\n", "default", "a", true, true },
		{ "no blanks, no end", "[default]\nregion=a", "default", "a", true,
		  true },
		{ "CR LF", "[default]\r\nregion = a\r\n", "default", "a", true, true },
		{ "another", "[profile b]\nregion = a\n", "default", NULL, true, false },
		{ "by name", "[profile b]\nregion = a\n[profile c]\nregion = d\n", "b",
		  "a", true, true },
		{ "quotes", "[ profile\t'b c' ]\nregion = a\n", "b c", "a", true, true },
		{ "default as a profile", "[profile default]\nregion = a\n", "default",
		  "a", true, true },
		{ "no word profile", "[b]\nregion = a\n", "b", NULL, true, false },
		{ "credentials have none", "[b]\nregion = a\n", "b", "a", false, true },
		{ "nor is it one there", "[profile b]\nregion = a\n", "b", NULL, false,
		  false },
		{ "comments", "#[b]\n[b]\n#region = x\n;region = y\nregion = a\n", "b",
		  "a", false, true },
		{ "any case", "[b]\nRegion = a\n", "b", "a", false, true },
		{ "nested", "[b]\nregion = a\ns3 =\n  region = x\n\tregion = y\n", "b",
		  "a", false, true },
		{ "after that", "[b]\ns3 =\n  region = x\nregion = a\n", "b", "a", false,
		  true },
		{ "all further in", "  [b]\n  region = a\n", "b", "a", false, true },
		{ "of another kind", "[sso-session b]\nregion = a\n", "b", NULL, true,
		  false },
		{ "the last one", "[b]\nregion = x\n[b]\nregion = a\n", "b", "a", false,
		  true },
		{ "no value", "[b]\nregion =\n", "b", NULL, false, true },
		{ "no key", "[b]\nregion\n=\n", "b", NULL, false, true },
		{ "nothing", "", "b", NULL, true, false },
		{ "an open bracket", "[b\nregion = a\n[", "b", "a", false, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		cleanup_arena struct arena arena = { 0 };
		struct aws_profile p = { 0 };
		bool found = aws_profile_read(&p, &arena, rows[i].text, rows[i].config,
					      rows[i].profile);

		if (found != rows[i].found || !str_eq(p.region, rows[i].region))
			fail_msg("%s: %d, region %s", rows[i].name, found,
				 p.region ? p.region : "(none)");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
