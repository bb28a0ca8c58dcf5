#include "base/cleanup.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/ui/env.h"
#include "cmd/ui/out.h"
#include "tests/unit/unit.h"

TEST(test_duration)
{
	static const struct {
		int64_t ms;
		const char *text;
	} rows[] = {
		{ 0, "0.0 s" },         { 40, "0.0 s" },
		{ 12345, "12.3 s" },    { 59999, "59.9 s" },
		{ 60000, "1m 00s" },    { 185400, "3m 05s" },
		{ 3599999, "59m 59s" }, { 3600000, "1h 00m" },
		{ 7620000, "2h 07m" },  { 360000000, "100h 00m" },
	};
	cleanup_arena struct arena arena = { 0 };

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		assert_string_equal(out_duration(&arena, rows[i].ms), rows[i].text);
}

TEST(test_variable)
{
	unsetenv("KFT_TEST");
	assert_null(env_variable(NULL, "KFT_TEST"));
	setenv("KFT_TEST", "", 1);
	assert_null(env_variable(NULL, "KFT_TEST"));
	setenv("KFT_TEST", " a=b", 1);
	assert_string_equal(env_variable(NULL, "KFT_TEST"), " a=b");
	unsetenv("KFT_TEST");
}

/* Sorted, so that people find them; help text in one shape. */
static void check_commands(const struct cmd *const *list)
{
	for (; *list; list++) {
		const struct cmd *c = *list;

		if (list[1] && strcmp(c->name, list[1]->name) >= 0)
			fail_msg("%s stands before %s", c->name, list[1]->name);
		if (!c->summary || c->summary[0] < 'a' || c->summary[0] > 'z' ||
		    str_ends(c->summary, "."))
			fail_msg("%s: the summary is lower case, without a full stop",
				 c->name);
		if (!c->run != (c->sub != NULL))
			fail_msg("%s: it runs or has commands", c->name);
		for (const struct opt *o = c->opts; o && o->type; o++)
			if (str_eq(o->name, "help") || o->letter == 'h')
				fail_msg("%s: -h and --help are main's", c->name);
		if (c->sub)
			check_commands(c->sub);
	}
}

TEST(test_commands)
{
	check_commands(cmds);
}

RUN_TESTS(NULL, NULL)
