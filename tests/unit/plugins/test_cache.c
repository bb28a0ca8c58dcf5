/* Admission of what the data cache cannot do without; what is built is in tests/golden/own/cache-*. */
#include "tests/unit/plugins/build.h"

#define CACHED(more)                                                              \
	"{template: {metadata: {annotations: {kftrainer.io/cache: pods}}, spec: " \
	"{replicatedJobs: [" RJOB(                                                \
		"dataset-initializer", ROLE("dataset-initializer"),               \
		WITH("dataset-initializer", more)) ", " RJOB("node", TRAINS,      \
							     ONE("node")) "]}}}"
#define DATASET(more) \
	"{initializer: {dataset: {storageUri: 'cache://schema/table'" more "}}}"

static void test_who_names_the_table(void **state)
{
	static const struct {
		const char *job, *runtime;
		bool named;
	} rows[] = {
		{ DATASET(""), CACHED("tty: false"), false },
		{ DATASET(", env: [{name: OTHER, value: a}]"), CACHED("tty: false"),
		  false },
		{ DATASET(", env: [{name: METADATA_LOC, value: a}]"),
		  CACHED("tty: false"), true },
		{ DATASET(", secretRef: {name: s}"), CACHED("tty: false"), true },
		{ DATASET(""), CACHED("envFrom: [{secretRef: {name: s}}]"), true },
		{ DATASET(""), CACHED("env: [{name: METADATA_LOC, value: a}]"), true },
		{ "{}", CACHED("tty: false"), true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		cleanup_json cJSON *tj = job(rows[i].job), *rt = runtime(rows[i].runtime);
		cleanup_free char *text = admission_with(&offline, NULL, tj, rt);

		if (!strstr(text, "METADATA_LOC") != rows[i].named)
			fail_msg("row %zu: %s", i, text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_names_the_table),
	};

	return cmocka_run_group_tests_name("cache", tests, NULL, NULL);
}
