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

TEST(test_who_names_the_table)
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

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *tj = job(rows[i].job), *rt = runtime(rows[i].runtime);
		cleanup_free char *text = admission_with(&offline, NULL, tj, rt);

		if (!strstr(text, "METADATA_LOC") != rows[i].named)
			fail_msg("row %zu: %s", i, text);
	}
}

TEST(test_sizes)
{
	assert_errors(DATASET(", env: [{name: METADATA_LOC, value: a}, {name: "
			      "CLUSTER_SIZE, value: many}, {name: WORKER_CPU, value: "
			      "lots}, {name: WORKER_MEM, value: 1X}]"),
		      CACHED("tty: false"),
		      ERRORS("spec.initializer.dataset.env: |CLUSTER_SIZE",
			     "spec.initializer.dataset.env: |WORKER_CPU: \"lots\"",
			     "spec.initializer.dataset.env: |WORKER_MEM: \"1X\""));
	assert_errors(DATASET(", env: [{name: METADATA_LOC, value: a}, {name: "
			      "CLUSTER_SIZE, value: ''}, {name: WORKER_CPU, value: ''}]"),
		      CACHED("tty: false"), NO_ERRORS);
}

/* The runtime's image, else ours. */
TEST(test_images)
{
	static const char *const given[] = { "", "image: i, " };

	for (size_t i = 0; i < 2; i++) {
		cleanup_arena struct arena a = { 0 };
		cleanup_json cJSON *o = build(
			DATASET(", env: [{name: METADATA_LOC, value: a}]"),
			arena_printf(
				&a,
				"{template: {metadata: {annotations: "
				"{kftrainer.io/cache: pods}}, spec: {replicatedJobs: "
				"[{name: dataset-initializer, template: {metadata: "
				"{labels: {trainer.kubeflow.org/trainjob-ancestor-step: "
				"dataset-initializer}}, spec: {template: {spec: "
				"{containers: [{%sname: "
				"dataset-initializer}]}}}}}, " RJOB("node", TRAINS,
								    ONE("node")) "]}}}",
				given[i]));

		assert_string_equal(json_str(container(o, "dataset-initializer",
						       "dataset-initializer"),
					     "image"),
				    i ? "i" : "kftrainer:" VERSION);
	}
}

RUN_TESTS(NULL, NULL)
