#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/job.h"
#include "cmd/out.h"
#include "cmd/variable.h"

static void test_duration(void **state)
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

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_string_equal(out_duration(&arena, rows[i].ms), rows[i].text);
}

static void test_variable(void **state)
{
	(void)state;
	unsetenv("KFT_TEST");
	assert_null(variable(NULL, "KFT_TEST"));
	setenv("KFT_TEST", "", 1);
	assert_null(variable(NULL, "KFT_TEST"));
	setenv("KFT_TEST", " a=b", 1);
	assert_string_equal(variable(NULL, "KFT_TEST"), " a=b");
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
		if (!c->run != (c->sub || c->flags & CMD_NOT_YET))
			fail_msg("%s: it runs, or has commands, or is not built yet",
				 c->name);
		for (const struct opt *o = c->opts; o && o->type; o++)
			if (str_eq(o->name, "help") || o->letter == 'h')
				fail_msg("%s: -h and --help are main's", c->name);
		if (c->sub)
			check_commands(c->sub);
	}
}

static void test_commands(void **state)
{
	(void)state;
	check_commands(cmds);
}

/* The name that a command line gives its job. */
static void test_names(void **state)
{
	static const struct {
		const char *command, *name;
	} rows[] = {
		{ "python3 train.py", "train" },
		{ "torchrun --x=1 a/Train_Big.v2.py --y b.py", "train-big-v2" },
		{ "./run.sh", "run" },
		{ "true", "true" },
		{ "/usr/bin/env", "env" },
		{ "3d-train", "d-train" },
		{ "___", "job" },
		{ "", "a-runtime" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		cleanup_arena struct arena arena = { 0 };
		cleanup_json cJSON *job = NULL;
		struct error err = { 0 };
		struct job_opts opts = {
			.runtime = "a-runtime",
			.command = str_split(&arena, rows[i].command, ' ', NULL),
		};

		if (!*rows[i].command)
			opts.command = NULL;
		assert_int_equal(job_from_opts(&job, &opts, &err), 0);
		assert_string_equal(json_str(job, "metadata", "name"), rows[i].name);
	}
}

/* Kubernetes makes "$" of "$$" and a variable's value of "$(NAME)": not of ours. */
static void test_verbatim(void **state)
{
	static const struct {
		const char *word, *in_the_pod;
	} rows[] = {
		{ "plain", "plain" }, { "$HOME", "$HOME" },      { "$", "$" },
		{ "$$", "$$$" },      { "$(date)", "$$(date)" }, { "a$$(x)", "a$$$$(x)" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		cleanup_json cJSON *job = NULL;
		struct error err = { 0 };
		struct job_opts opts = {
			.runtime = "r",
			.command = (char *[]){ (char *)(uintptr_t)rows[i].word, NULL },
		};
		const cJSON *command;

		assert_int_equal(job_from_opts(&job, &opts, &err), 0);
		command = json_get((const cJSON *)job, "spec", "trainer", "command");
		assert_string_equal(command->child->valuestring, rows[i].in_the_pod);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_duration), cmocka_unit_test(test_variable),
		cmocka_unit_test(test_commands), cmocka_unit_test(test_names),
		cmocka_unit_test(test_verbatim),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
