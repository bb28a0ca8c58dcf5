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
#include "cmd/refer.h"
#include "cmd/ui/env.h"
#include "cmd/ui/out.h"
#include "trainer/api.h"

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

/* As -o name prints them, and as kubectl takes them. */
static void test_refer_jobs(void **state)
{
	static const struct {
		const char *text, *name; /* NULL: refused */
	} rows[] = {
		{ "digits", "digits" },
		{ "trainjob", "trainjob" },
		{ "", "" },
		{ "trainjob/digits", "digits" },
		{ "trainjobs/digits", "digits" },
		{ "TrainJob/digits", "digits" },
		{ "trainjob.trainer.kubeflow.org/digits", "digits" },
		{ "trainjobs.v1alpha1.trainer.kubeflow.org/digits", "digits" },
		{ "trainjob/", "" },
		{ "trainjob/a/b", "a/b" },
		{ "/digits", NULL },
		{ "job/digits", NULL },
		{ "tj/digits", NULL },
		{ "trainjobss/digits", NULL },
		{ "trainjob.kubeflow.org/digits", NULL },
		{ "trainjob.trainer.kubeflow.org.x/digits", NULL },
		{ "trainingruntime/digits", NULL },
		{ "../digits", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char first[] = "first", text[64];
		char *names[] = { first, text, NULL };
		struct error err = { 0 };

		snprintf(text, sizeof(text), "%s", rows[i].text);
		assert_int_equal(refer_jobs(names, &err), rows[i].name ? 0 : -1);
		assert_string_equal(names[0], "first");
		if (rows[i].name) {
			assert_string_equal(names[1], rows[i].name);
			continue;
		}
		assert_int_equal(err.kind, ERR_USAGE);
		assert_non_null(strstr(err.msg, rows[i].text));
	}
}

static void test_refer_runtime(void **state)
{
	static const struct {
		const char *text, *name, *kind;
	} rows[] = {
		{ "mine", "mine", NULL },
		{ "trainingruntime/mine", "mine", RUNTIME_KIND },
		{ "trainingruntimes/mine", "mine", RUNTIME_KIND },
		{ "clustertrainingruntime.trainer.kubeflow.org/mine", "mine",
		  CLUSTER_RUNTIME_KIND },
		{ "ClusterTrainingRuntime/mine", "mine", CLUSTER_RUNTIME_KIND },
		{ "trainjob/mine", NULL, NULL },
		{ "runtime/mine", NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *name = rows[i].text, *kind = "unset";
		struct error err = { 0 };
		int rc = refer_runtime(&name, &kind, &err);

		assert_int_equal(rc, rows[i].name ? 0 : -1);
		if (rc) {
			assert_string_equal(name, rows[i].text);
			assert_non_null(strstr(err.msg, "trainingruntime/NAME"));
			continue;
		}
		assert_string_equal(name, rows[i].name);
		assert_true(str_eq(kind, rows[i].kind));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_duration),      cmocka_unit_test(test_variable),
		cmocka_unit_test(test_commands),      cmocka_unit_test(test_names),
		cmocka_unit_test(test_verbatim),      cmocka_unit_test(test_refer_jobs),
		cmocka_unit_test(test_refer_runtime),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
