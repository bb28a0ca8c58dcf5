/*
 * Rules: upstream pkg/webhooks and plugins/jobset (Validate), with what its notes
 * call wrong put right: names are held against the runtime as it is.
 */
#include "tests/unit/trainer/yaml_doc.h"
#include "trainer/pipeline.h"

static const struct plugin *const no_plugins[] = { NULL };
static const struct plugin_env offline = { .keys = &keys_placeholder };

#define RT                                                                       \
	"{kind: TrainingRuntime, metadata: {name: rt}, spec: {template: {spec: " \
	"{replicatedJobs: [{name: node, template: {spec: {template: {spec: "     \
	"{initContainers: [{name: prep}], containers: [{name: node}, {name: "    \
	"side}]}}}}}, "                                                          \
	"{name: other, template: {spec: {template: {spec: {containers: [{name: " \
	"o}]}}}}}]}}}}"

/* A patch of one job; `pod` is the pod's spec. */
#define PATCH(manager, rjob, pod)                                                    \
	"{manager: '" manager "', trainingRuntimeSpec: {template: {spec: "           \
	"{replicatedJobs: [{name: " rjob ", template: {spec: {template: {spec: " pod \
	"}}}}]}}}}"

static cJSON *job(const char *patches, bool suspend)
{
	cleanup_arena struct arena a = { 0 };

	return doc(
		arena_printf(&a,
			     "{metadata: {name: tj, namespace: ns}, spec: {suspend: %s, "
			     "runtimeRef: {name: rt, kind: TrainingRuntime, apiGroup: "
			     "trainer.kubeflow.org}, runtimePatches: %s}}",
			     suspend ? "true" : "false", patches));
}

static char *admission(const struct plugin_env *env, const cJSON *old, const cJSON *tj,
		       const cJSON *rt)
{
	struct pipeline p = { no_plugins, env };
	struct field_errors errs = { 0 };

	pipeline_validate(&p, old, tj, rt, &errs, NULL);
	return errors_text(&errs);
}

static void assert_error(const char *patches, const char *want)
{
	cleanup_json cJSON *tj = job(patches, false), *rt = doc(RT);
	cleanup_free char *text = admission(&offline, NULL, tj, rt);

	if (want ? !str_starts(text, "spec.runtimePatches") || !strstr(text, want)
		 : *text != 0)
		fail_msg("%s: wanted %s, got: %s", patches, want ? want : "nothing",
			 text);
}

/* Upstream validates the template after the merge, in which every name exists. */
TEST(test_correction_01_unknown_names_are_refused)
{
	assert_error("[" PATCH("a.b/c", "nope", "{nodeSelector: {a: b}}") "]",
		     "no job \"nope\"");
	assert_error("[" PATCH("a.b/c", "node", "{containers: [{name: nope}]}") "]",
		     "no container \"nope\"");
	assert_error("[" PATCH("a.b/c", "node", "{initContainers: [{name: nope}]}") "]",
		     "no init container \"nope\"");
	assert_error("[" PATCH("a.b/c", "nodes", "{}") "]", "did you mean 'node'?");
	/* the job of one name does not lend its containers to another */
	assert_error("[" PATCH("a.b/c", "other", "{containers: [{name: side}]}") "]",
		     "no container \"side\"");
	assert_error(
		"[" PATCH("a.b/c", "node",
			  "{initContainers: [{name: prep, env: [{name: A}]}], "
			  "containers: [{name: side, env: [{name: A}]}, {name: node, "
			  "volumeMounts: []}], nodeSelector: {a: b}}") "]",
		NULL);
}

/* Upstream looks for init containers among all names, and at env of regular ones only. */
TEST(test_defect_17_init_containers)
{
	assert_error("[" PATCH("a.b/c", "node", "{initContainers: [{name: side}]}") "]",
		     "no init container \"side\"");
	assert_error("[" PATCH("a.b/c", "node", "{containers: [{name: prep}]}") "]",
		     "no container \"prep\"");
}

TEST(test_env_of_containers_that_are_the_jobs)
{
	cleanup_json cJSON *tj =
		job("[" PATCH("a.b/c", "data",
			      "{initContainers: [{name: model-initializer, env: "
			      "[{name: A}]}], containers: [{name: node, env: []}]}") "]",
		    false);
	cleanup_json cJSON *rt =
		doc("{kind: TrainingRuntime, spec: {template: {spec: "
		    "{replicatedJobs: [{name: data, template: {spec: "
		    "{template: {spec: {initContainers: [{name: "
		    "model-initializer}], containers: [{name: node}]}}}}}]}}}}");
	cleanup_free char *text = admission(&offline, NULL, tj, rt);

	assert_error("[" PATCH("a.b/c", "node",
			       "{containers: [{name: node, env: [{name: A}]}]}") "]",
		     "env of container \"node\"");
	assert_non_null(strstr(text, "env of container \"model-initializer\""));
}

TEST(test_managers)
{
	static const struct {
		const char *manager, *want;
	} rows[] = {
		{ "kueue.x-k8s.io/manager", NULL },
		{ "example.com/a/b", NULL },
		{ "a/~._%!$&()*+,;=:", NULL },
		{ "a/azAZ09", NULL },
		{ "a/[", ": Invalid value: \"[\"" },
		{ "a/{", ": Invalid value: \"{\"" },
		{ "a/@", ": Invalid value: \"@\"" },
		{ "a/`", ": Invalid value: \"`\"" },
		{ "plain", ": Invalid value: \"plain\"" },
		{ "example.com/", ": Invalid value: \"example.com/\"" },
		{ "/x", ": Invalid value: \"/x\"" },
		{ "Upper.example.com/x", ": Invalid value: \"Upper.example.com\"" },
		{ "exa_mple.com/x", ": Invalid value: \"exa_mple.com\"" },
		{ "example.com/a b", ": Invalid value: \"a b\"" },
		{ "example.com/a?", ": Invalid value: \"a?\"" },
		{ "", ": Required value" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena a = { 0 };

		assert_error(arena_printf(&a, "[{manager: '%s'}]", rows[i].manager),
			     rows[i].want
				     ? arena_printf(&a, "spec.runtimePatches.manager%s",
						    rows[i].want)
				     : NULL);
	}
}

static int jobset_get(void *ctx, const struct object_ref *ref, const cJSON **ret,
		      struct error *err)
{
	*ret = ctx;
	return ctx ? 0 : error_set(err, ERR_IO, "connection refused");
}

#define SOME "[" PATCH("a.b/c", "node", "{nodeSelector: {a: b}}") "]"
#define BAD  "[" PATCH("a.b/c", "gone", "{nodeSelector: {a: b}}") "]"

TEST(test_changes_while_pods_run)
{
	static const struct {
		const char *old, *now;
		bool before, after; /* suspended */
		const char *jobset, *want;
	} rows[] = {
		{ "[]", SOME, false, false, "{}", "spec.runtimePatches: Forbidden: " },
		{ SOME, SOME, false, false, "{}", "" },
		{ "[]", "null", false, false, "{}", "" },
		{ "[]", SOME, true, true, "{}", "" },
		{ "[]", SOME, true, false, "{}", "" },
		{ "[]", SOME, false, true, "{}", "" },
		{ "[]", SOME, false, true,
		  "{status: {replicatedJobsStatus: [{name: node, active: 0}]}}", "" },
		{ "[]", SOME, false, true,
		  "{status: {replicatedJobsStatus: [{name: x, active: 0}, {name: node, "
		  "active: 2}]}}",
		  "spec.runtimePatches: Forbidden: " },
		{ "[]", SOME, true, true, NULL, "spec.runtimePatches: Internal error: " },
		{ SOME, "[]", false, false, "{}", "spec.runtimePatches: Forbidden: " },
		{ SOME, "null", false, false, "{}", "spec.runtimePatches: Forbidden: " },
		{ "null", "[]", false, false, "{}", "" },
		{ SOME, SOME, true, true, NULL, "" }, /* unchanged: nobody is asked */
		/* admitted long ago: not held against the job */
		{ BAD, BAD, false, false, "{}", "" },
		{ BAD, BAD, false, true, "{}", "" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *old = job(rows[i].old, rows[i].before);
		cleanup_json cJSON *now = job(rows[i].now, rows[i].after);
		cleanup_json cJSON *rt = doc(RT);
		cleanup_json cJSON *jobset = rows[i].jobset ? doc(rows[i].jobset) : NULL;
		struct plugin_env env = { .get = jobset_get, .ctx = jobset };
		cleanup_free char *text = admission(&env, old, now, rt);

		if (*rows[i].want ? !str_starts(text, rows[i].want) : *text)
			fail_msg("row %zu: %s", i, text);
	}
}

/* What follows from an error is not another one. */
static void assert_one_error(const char *text)
{
	const char *end = strchr(text, '\n');

	if (!end || end[1])
		fail_msg("not one error: %s", text);
}

TEST(test_the_runtime_must_be_there)
{
	cleanup_json cJSON *tj = job("[]", false);
	cleanup_json cJSON *broken =
		doc("{spec: {template: {spec: {replicatedJobs: {}}}}}");
	cleanup_free char *ns = admission(&offline, NULL, tj, NULL);
	cleanup_free char *shape = admission(&offline, NULL, tj, broken);
	cleanup_free char *cluster = NULL, *other = NULL;

	assert_true(str_starts(
		ns, "spec.runtimeRef: Invalid value: {\"name\":\"rt\",\"apiGroup"
		    "\":\"trainer.kubeflow.org\",\"kind\":\"TrainingRuntime\"}: "
		    "TrainingRuntime \"rt\" not found"));
	assert_one_error(ns);
	assert_non_null(strstr(shape, "spec.template.spec.replicatedJobs"));
	assert_one_error(shape);
	json_put_str(tj, "ClusterTrainingRuntime", "spec", "runtimeRef", "kind");
	cluster = admission(&offline, NULL, tj, NULL);
	assert_true(str_starts(cluster, "spec.RuntimeRef: Invalid value: "));
	json_put_str(tj, "Other", "spec", "runtimeRef", "kind");
	other = admission(&offline, NULL, tj, NULL);
	assert_non_null(strstr(other, "unsupported runtime: Other.trainer.kubeflow.org"));
	assert_one_error(other);
}

TEST(test_warnings)
{
	cleanup_json cJSON *tj =
		doc("{metadata: {name: tj}, spec: {trainer: {}, runtimeRef: "
		    "{name: rt, kind: ClusterTrainingRuntime, apiGroup: "
		    "trainer.kubeflow.org}}}");
	cleanup_json cJSON *rt = doc(RT);
	cleanup_json cJSON *online = cJSON_CreateArray(), *off = cJSON_CreateArray();
	struct plugin_env env = { .get = jobset_get, .ctx = tj };
	struct pipeline p = { no_plugins, &env };
	cleanup_field_errors struct field_errors errs = { 0 };

	json_put_str(rt, "ClusterTrainingRuntime", "kind");
	json_put_str(rt, "deprecated", "metadata", "labels",
		     "trainer.kubeflow.org/support");
	pipeline_validate(&p, NULL, tj, rt, &errs, online);
	p.env = &offline;
	pipeline_validate(&p, NULL, tj, rt, &errs, off);
	assert_int_equal(errs.n, 0);
	assert_int_equal(cJSON_GetArraySize(online), 1);
	assert_non_null(strstr(online->child->valuestring, "\"rt\" is deprecated"));
	/* offline also: the runtime has nobody who trains */
	assert_int_equal(cJSON_GetArraySize(off), 2);
}

/* Of a command whose nodes would train alone. */
TEST(test_warning_of_the_command)
{
	static const char runtime[] =
		"{kind: ClusterTrainingRuntime, metadata: {name: rt}, spec: {mlPolicy: "
		"{numNodes: 2, torch: {}}, template: {spec: {replicatedJobs: [{name: node, "
		"template: {metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: "
		"trainer}}, spec: {template: {spec: {containers: [{name: node}]}}}}}]}}}}";
	cleanup_json cJSON *tj = doc(
		"{metadata: {name: tj}, spec: {trainer: {command: [accelerate, launch, "
		"a.py]}, runtimeRef: {name: rt, kind: ClusterTrainingRuntime, apiGroup: "
		"trainer.kubeflow.org}}}");
	cleanup_json cJSON *rt = doc(runtime), *warnings = cJSON_CreateArray();
	struct pipeline p = { no_plugins, &offline };
	cleanup_field_errors struct field_errors errs = { 0 };

	pipeline_validate(&p, NULL, tj, rt, &errs, warnings);
	assert_int_equal(errs.n, 0);
	assert_int_equal(cJSON_GetArraySize(warnings), 1);
	assert_non_null(strstr(warnings->child->valuestring, "accelerate launch"));
	/* A change of a job that exists warns of nothing. */
	pipeline_validate(&p, tj, tj, rt, &errs, warnings);
	assert_int_equal(cJSON_GetArraySize(warnings), 1);
}

#define ROLE(role, more)                                                            \
	"{spec: {template: {spec: {replicatedJobs: [{name: j" more                  \
	", template: {metadata: "                                                   \
	"{labels: {trainer.kubeflow.org/trainjob-ancestor-step: " role "}}, spec: " \
	"{template: {spec: {containers: [{name: c}]}}}}}]}}}}"
#define AT "spec.template.spec.replicatedJobs[0]"

TEST(test_runtimes)
{
	static const struct {
		const char *runtime, *want;
	} rows[] = {
		{ ROLE("trainer", ""),
		  AT ".template.spec.template.spec.containers: Invalid value: "
		     "[{\"name\":\"c\"}]: a job labelled trainer must have a "
		     "container \"node\"\n" },
		{ ROLE("model-initializer", ", replicas: 2"),
		  AT ".replicas: Invalid value: 2: must be 1 for a job labelled "
		     "model-initializer\n" AT
		     ".template.spec.template.spec.containers: Invalid value: "
		     "[{\"name\":\"c\"}]: a job labelled model-initializer must "
		     "have a container \"model-initializer\"\n" },
		{ ROLE("something", ", replicas: 2"), "" },
		{ "{spec: {mlPolicy: {numNodes: 0}, template: {}}}",
		  "spec.mlPolicy.numNodes: Invalid value: 0: must be 1 or more: without "
		  "nodes nothing trains\n" },
		{ "{spec: {mlPolicy: {numNodes: -2}, template: {}}}",
		  "spec.mlPolicy.numNodes: Invalid value: -2: must be 1 or more: without "
		  "nodes nothing trains\n" },
		{ "{spec: {template: 1}}",
		  "spec.template: Invalid value: 1: must be an object\n" },
		{ "{spec: {mlPolicy: {torch: {envInjection: {targets: "
		  "[{}]}}}, template: {}}}",
		  "spec.mlPolicy.torch.envInjection.targets[0].jobName: "
		  "Required value\n" },
		{ "{spec: {template: {spec: {replicatedJobs: [{name: a, template: "
		  "{metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: "
		  "trainer}}}}]}}}}",
		  AT ".template.spec.template.spec.containers: Invalid value: null: "
		     "a job labelled trainer must have a container \"node\"\n" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *rt = doc(rows[i].runtime);
		cleanup_free char *text = NULL;
		struct field_errors errs = { 0 };

		pipeline_validate_runtime(rt, &errs, NULL);
		text = errors_text(&errs);
		assert_string_equal(text, rows[i].want);
	}
}

/* Upstream's CRDs store 0; a job that they stored can still be changed. */
TEST(test_defect_20_no_nodes)
{
	cleanup_json cJSON *none = job("[]", false), *one = job("[]", false);
	cleanup_json cJSON *rt = doc(RT);
	const struct {
		const cJSON *old;
		bool refused;
	} rows[] = { { NULL, true }, { one, true }, { none, false } };

	json_put_int(none, 0, "spec", "trainer", "numNodes");
	json_put_int(one, 1, "spec", "trainer", "numNodes");
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_free char *text = admission(&offline, rows[i].old, none, rt);

		assert_int_equal(str_starts(text, "spec.trainer.numNodes: Invalid value: "
						  "0: must be 1 or more"),
				 rows[i].refused);
	}
}

/* Of a job that does not exist nothing else is said, not that its pods' names are long. */
#define NO_JOB "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" /* 60 */
TEST(test_a_job_that_does_not_exist)
{
	cleanup_json cJSON *tj =
		job("[" PATCH("a.b/c", NO_JOB, "{nodeSelector: {a: b}}") ", " PATCH(
			    "a.b/c", "node", "{nodeSelector: {a: b}}") "]",
		    false);
	cleanup_json cJSON *rt = doc(RT);
	cleanup_free char *text = admission(&offline, NULL, tj, rt);

	assert_one_error(text);
}

/* Names of pods end with 5 random characters: KEP-3850; those of Jobs may be longer. */
TEST(test_long_names)
{
#define LONG "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn" /* 51 */
	static const struct {
		const char *name, *mode, *want;
	} rows[] = {
		/* NAME-a-0-0-abcde, NAME-a-0 */
		{ LONG, "Indexed", "" },
		{ LONG "n", "Indexed",
		  "a pod of job a would be called " LONG
		  "n-a-0-0-abcde, 64 characters, where 63 are "
		  "allowed: make the name 1 shorter" },
		{ LONG "n", "NonIndexed", "" },
		{ LONG "nnnnnnnn", "NonIndexed", "" },
		{ LONG "nnnnnnnnn", "NonIndexed",
		  "Job a would be called " LONG
		  "nnnnnnnnn-a-0, 64 characters, where 63 are allowed: make "
		  "the name 1 shorter" },
	};
	cleanup_arena struct arena a = { 0 };

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *tj = job("[]", false);
		cleanup_json cJSON *rt = doc(arena_printf(
			&a,
			"{kind: TrainingRuntime, metadata: {name: rt}, spec: {template: "
			"{spec: {replicatedJobs: [{name: a, template: {spec: "
			"{completionMode: %s, template: {spec: {containers: [{name: "
			"c}]}}}}}]}}}}",
			rows[i].mode));
		cleanup_free char *text = NULL;

		json_put_str(tj, rows[i].name, "metadata", "name");
		text = admission(&offline, NULL, tj, rt);
		if (*rows[i].want ? !strstr(text, rows[i].want) : *text)
			fail_msg("row %zu: %s", i, text);
	}
}

RUN_TESTS(NULL, NULL)
