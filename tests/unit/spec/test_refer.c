/* KIND/NAME as commands take it. */

#include "base/cleanup.h"
#include "base/str.h"
#include "spec/refer.h"
#include "tests/unit/unit.h"
#include "trainer/api.h"

/* As -o name prints them, and as kubectl takes them. */
TEST(test_refer_jobs)
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

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
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

TEST(test_kinds_alone)
{
	static const struct {
		const char *word;
		bool jobs, runtimes;
	} rows[] = {
		{ "trainjob", true, false },
		{ "TrainJobs", true, false },
		{ "trainjobs.trainer.kubeflow.org", true, false },
		{ "trainjobs.v1alpha1.trainer.kubeflow.org", true, false },
		{ "trainjobss", false, false },
		{ "trainjob/trainjob", false, false },
		{ "tj", false, false },
		{ "", false, false },
		{ "runtimes", false, true },
		{ "trainingruntime", false, true },
		{ "clustertrainingruntimes.trainer.kubeflow.org", false, true },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		assert_int_equal(refer_is_jobs(rows[i].word), rows[i].jobs);
		assert_int_equal(refer_is_runtimes(rows[i].word), rows[i].runtimes);
	}
}

TEST(test_refer_runtime)
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

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
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

RUN_TESTS(NULL, NULL)
