/* Rules: upstream pkg/webhooks/trainjob_webhook.go (Default), trainjob_types.go. */
#include "tests/unit/trainer/yaml_doc.h"
#include "trainer/trainjob.h"

#define NOW  "2026-01-02T03:04:05Z"
#define OLD  "2024-05-06T07:08:09Z"
#define USER "2020-02-02T02:02:02Z"

/* spec.runtimePatches before (NULL: created), as sent, and as stored. */
TEST(test_times_of_patches)
{
	static const struct {
		const char *old, *sent, *want;
	} rows[] = {
		{ NULL, "[{manager: a}]", "[{manager: a, time: '" NOW "'}]" },
		{ NULL, "[{manager: a, time: '" USER "'}]",
		  "[{manager: a, time: '" USER "'}]" },
		/* unchanged: the old time, whatever was sent */
		{ "[{manager: a, time: '" OLD "'}]", "[{manager: a}]",
		  "[{manager: a, time: '" OLD "'}]" },
		{ "[{manager: a, time: '" OLD "'}]", "[{manager: a, time: '" USER "'}]",
		  "[{manager: a, time: '" OLD "'}]" },
		/* changed: now, whatever was sent */
		{ "[{manager: a, time: '" OLD "'}]",
		  "[{manager: a, x: 1, time: '" USER "'}]",
		  "[{manager: a, x: 1, time: '" NOW "'}]" },
		/* another manager: new */
		{ "[{manager: a, time: '" OLD "'}]", "[{manager: b}]",
		  "[{manager: b, time: '" NOW "'}]" },
		{ "[{manager: a, time: '" OLD "'}]", "[{manager: b, time: '" USER "'}]",
		  "[{manager: b, time: '" USER "'}]" },
		/* nothing spelled in two ways, and keys in another order */
		{ "[{manager: a, x: {p: 1, q: 2}, time: '" OLD "'}]",
		  "[{x: {q: 2, p: 1}, l: [], n: null, manager: a}]",
		  "[{x: {q: 2, p: 1}, l: [], n: null, manager: a, time: '" OLD "'}]" },
		/* an old one without a time */
		{ "[{manager: a}]", "[{manager: a, time: '" USER "'}]",
		  "[{manager: a}]" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *tj = cJSON_CreateObject(), *old = NULL;

		if (rows[i].old) {
			old = cJSON_CreateObject();
			json_put(old, doc(rows[i].old), "spec", "runtimePatches");
		}
		json_put(tj, doc(rows[i].sent), "spec", "runtimePatches");
		tj_default_patch_times(tj, old, NOW);
		assert_doc(tj_runtime_patches(tj), rows[i].want);
	}
}

/* Kueue 0.19 writes the whole TrainJob, as it knows it. */
TEST(test_a_ttl_that_was_dropped)
{
#define OF(more) "{spec: {" more "}}"
	static const struct {
		const char *old, *sent;
		int64_t want;
	} rows[] = {
		{ NULL, OF("suspend: true"), ABSENT },
		{ OF("suspend: true, ttlSecondsAfterFinished: 5"), OF("suspend: false"),
		  5 },
		{ OF("suspend: true, ttlSecondsAfterFinished: 0"), OF(""), 0 },
		{ OF("ttlSecondsAfterFinished: 5"), OF("runtimePatches: [{manager: a}]"),
		  5 },
		{ OF("ttlSecondsAfterFinished: 5"),
		  OF("runtimePatches: [{manager: a}], ttlSecondsAfterFinished: 7"), 7 },
		/* removed by somebody who knows of it */
		{ OF("suspend: true, ttlSecondsAfterFinished: 5"), OF("suspend: true"),
		  ABSENT },
		{ OF("ttlSecondsAfterFinished: 5"), OF("labels: {a: b}"), ABSENT },
		{ OF("suspend: true"), OF("suspend: false"), ABSENT },
		/* for the schema to refuse */
		{ OF("ttlSecondsAfterFinished: 5, suspend: true"), "{spec: 1}", ABSENT },
		{ OF("ttlSecondsAfterFinished: no, suspend: true"), OF(""), ABSENT },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *tj = doc(rows[i].sent);
		cleanup_json cJSON *old = rows[i].old ? doc(rows[i].old) : NULL;

		tj_keep_ttl(tj, old);
		assert_int_equal(tj_ttl(tj), rows[i].want);
	}
}

TEST(test_keep_empty)
{
#define WITH(mount, patch)                                                                \
	"{spec: {runtimePatches: [{manager: a, trainingRuntimeSpec: {template: {spec: "   \
	"{replicatedJobs: [{name: node, template: {spec: {template: {spec: {containers: " \
	"[{name: node, volumeMounts: [{name: v, mountPath: /v" mount                      \
	"}]}]}}}}}]}}}}" patch "]}}"
	static const struct {
		const char *old, *sent, *want; /* NULL: as sent */
	} rows[] = {
		{ "{spec: {trainer: {env: [{name: A, value: ''}], args: []}}}",
		  "{spec: {suspend: false, trainer: {env: [{name: A}]}}}",
		  "{spec: {suspend: false, trainer: {env: [{name: A, value: ''}], args: "
		  "[]}}}" },
		{ "{spec: {initializer: {model: {env: [{name: A, value: ''}]}}}}",
		  "{spec: {initializer: {model: {env: [{name: A}]}}}}",
		  "{spec: {initializer: {model: {env: [{name: A, value: ''}]}}}}" },
		{ WITH(", readOnly: false", ""), WITH("", ", {manager: kueue}"),
		  WITH(", readOnly: false", ", {manager: kueue}") },
		{ WITH("", ", {manager: kueue}"), WITH("", ""), NULL },
		/* for the schema to refuse */
		{ "{spec: {trainer: {env: [{name: A, value: b}]}}}",
		  "{spec: {trainer: {env: [{name: A}]}}}", NULL },
		{ WITH(", readOnly: true", ""), WITH("", ""), NULL },
		{ "{spec: {trainer: {image: ''}}}", "{spec: {trainer: {}}}", NULL },
		{ "{spec: {trainer: {args: []}}}", "{spec: {trainer: 1}}", NULL },
		{ "{spec: {trainer: {args: []}}}", "{spec: 1}", NULL },
		{ "{spec: {trainer: {args: []}}}", "{spec: {}}", NULL },
		{ NULL, "{spec: {trainer: {args: []}}}", NULL },
	};
#undef WITH

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *tj = doc(rows[i].sent);
		cleanup_json cJSON *old = rows[i].old ? doc(rows[i].old) : NULL;
		cleanup_json cJSON *want =
			doc(rows[i].want ? rows[i].want : rows[i].sent);

		tj_keep_empty(tj, old);
		if (!json_equal(tj, want))
			fail_msg("row %zu: %s", i, rows[i].sent);
	}
}

TEST(test_runtime_ref)
{
	static const struct {
		const char *tj, *want;
	} rows[] = {
		{ "{spec: {runtimeRef: {name: a, kind: TrainingRuntime, apiGroup: "
		  "trainer.kubeflow.org}}}",
		  NULL },
		{ "{spec: {runtimeRef: {name: a, kind: ClusterTrainingRuntime, apiGroup: "
		  "trainer.kubeflow.org}}}",
		  NULL },
		{ "{spec: {runtimeRef: {name: a, kind: Other, apiGroup: x.y}}}",
		  "unsupported runtime: Other.x.y" },
		{ "{spec: {runtimeRef: {name: a, kind: TrainingRuntime}}}",
		  "unsupported runtime: TrainingRuntime" },
		{ "{}", "unsupported runtime: none is given; set its name, such as "
			"torch-distributed" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *tj = doc(rows[i].tj);
		struct error err = { 0 };

		assert_int_equal(tj_check_runtime_ref(tj, &err), rows[i].want ? -1 : 0);
		assert_string_equal(err.msg, rows[i].want ? rows[i].want : "");
	}
}

TEST(test_absent_and_wrong_types)
{
	cleanup_json cJSON *none = doc("{}");
	cleanup_json cJSON *wrong =
		doc("{spec: {trainer: {numNodes: '2', image: 1}, suspend: "
		    "'x', managedBy: 3}}");

	assert_null(tj_trainer(none));
	assert_int_equal(tj_num_nodes(none), ABSENT);
	assert_int_equal(tj_active_deadline(none), ABSENT);
	assert_int_equal(tj_num_nodes(wrong), ABSENT);
	assert_null(tj_image(wrong));
	assert_false(tj_suspend(wrong));
	assert_true(tj_is_ours(none));
}

TEST(test_same_but_suspend)
{
	static const struct {
		const char *a, *b;
		bool same;
	} rows[] = {
		{ "{spec: {x: 1, suspend: true}}", "{spec: {x: 1}}", true },
		{ "{metadata: {a: b}, spec: {x: 1}}", "{spec: {x: 1}}", true },
		{ "{spec: {x: 1}}", "{spec: {x: 2}}", false },
		{ "{spec: {}}", "{}", false },
		{ "{}", "{status: {}}", true },
		{ "{spec: 3}", "{spec: 3}", true },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *a = doc(rows[i].a), *b = doc(rows[i].b);

		assert_int_equal(tj_same_but_suspend(a, b), rows[i].same);
		assert_int_equal(tj_same_but_suspend(b, a), rows[i].same);
	}
}

TEST(test_one_from_options)
{
	cleanup_json cJSON *tj = tj_new("j", "rt");
	cleanup_json cJSON *before =
		doc("[{name: A, value: '1'}, {name: B, value: '2'}]");
	cleanup_json cJSON *after = doc("[{name: A, value: '3'}]");

	tj_set_runtime_kind(tj, "TrainingRuntime");
	tj_set_image(tj, "img");
	tj_set_num_nodes(tj, 3);
	tj_set_num_proc_per_node(tj, 2);
	tj_merge_env(tj, before);
	tj_merge_env(tj, after);
	tj_add_command(tj, "sh");
	tj_add_command(tj, "-c");
	tj_add_arg(tj, "x");
	tj_set_storage_uri(tj, INIT_MODEL, "hf://a/b");
	tj_set_resource(tj, "cpu", "2");
	assert_doc(
		tj,
		"{apiVersion: trainer.kubeflow.org/v1alpha1, kind: "
		"TrainJob, metadata: {name: j}, spec: {runtimeRef: {name: "
		"rt, kind: TrainingRuntime}, trainer: {image: img, "
		"numNodes: 3, numProcPerNode: 2, env: [{name: A, value: "
		"'3'}, {name: B, value: '2'}], command: [sh, '-c'], "
		"args: [x], resourcesPerNode: {limits: {cpu: '2'}, requests: {cpu: '2'}}}, "
		"initializer: {model: {storageUri: 'hf://a/b'}}}}");
}

RUN_TESTS(NULL, NULL)
