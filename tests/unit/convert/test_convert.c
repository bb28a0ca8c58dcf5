/* Rules: the tables of docs/migrate-v1.md; what each row becomes is in tests/cli/test_convert.py. */

#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "base/yaml.h"
#include "tests/unit/convert/convert_test.h"

static cJSON *parse(const char *yaml)
{
	cleanup_json cJSON *docs = NULL;
	struct error err = { 0 };

	if (yaml_parse(&docs, yaml, strlen(yaml), &err))
		fail_msg("%s: %s", yaml, err.msg);
	return cJSON_DetachItemFromArray(docs, 0);
}

#define HEAD(kind) \
	"apiVersion: kubeflow.org/v1\nkind: " kind "\nmetadata: {name: j}\nspec:\n"
#define POD(name)           "template: {spec: {containers: [{name: " name ", image: i}]}}"
#define WORKER(specs, name) "  " specs ": {Worker: {replicas: 2, " POD(name) "}}\n"

TEST(test_what_is_ours)
{
	static const struct {
		const char *yaml;
		enum convert_what want;
		const char *says;
	} rows[] = {
		{ "{apiVersion: kubeflow.org/v1, kind: TFJob}", CONVERT_JOB, NULL },
		{ "{apiVersion: kubeflow.org/v2beta1, kind: MPIJob}", CONVERT_JOB, NULL },
		{ "{apiVersion: kubeflow.org/v2beta1, kind: TFJob}", CONVERT_UNKNOWN,
		  "kubeflow.org/v1" },
		{ "{apiVersion: kubeflow.org/v1alpha1, kind: MPIJob}", CONVERT_UNKNOWN,
		  "v2beta1" },
		{ "{apiVersion: kubeflow.org/v1, kind: TfJob}", CONVERT_UNKNOWN,
		  "TFJob" },
		{ "{apiVersion: kubeflow.org/v1, kind: MXJob}", CONVERT_UNKNOWN,
		  "MXNet" },
		{ "{apiVersion: kubeflow.org/v1, kind: Notebook}", CONVERT_OTHER, NULL },
		{ "{apiVersion: v1, kind: PyTorchJob}", CONVERT_UNKNOWN,
		  "kubeflow.org/v1" },
		{ "{apiVersion: xgboostjob.kubeflow.org/v1, kind: XGBoostJob}",
		  CONVERT_UNKNOWN, "kubeflow.org/v1" },
		{ "{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob}",
		  CONVERT_OTHER, NULL },
		{ "{kind: TFJob}", CONVERT_OTHER, NULL },
		{ "[1]", CONVERT_OTHER, NULL },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *doc = parse(rows[i].yaml);
		cleanup_field_errors struct field_errors errs = { 0 };

		assert_int_equal(convert_what(doc, &errs), rows[i].want);
		assert_int_equal(errs.n, rows[i].says != NULL);
		if (rows[i].says && !strstr(errs.list[0].detail, rows[i].says))
			fail_msg("%s: %s", rows[i].yaml, errs.list[0].detail);
	}
}

TEST(test_grades)
{
	static const struct {
		const char *yaml, *path;
		enum grade want;
	} rows[] = {
		{ HEAD("JAXJob") WORKER("jaxReplicaSpecs", "jax"), NULL, GRADE_EXACT },
		{ HEAD("JAXJob") WORKER("jaxReplicaSpecs",
					"jax") "  runPolicy: {cleanPodPolicy: Running}\n",
		  "spec.runPolicy.cleanPodPolicy", GRADE_EXACT },
		{ HEAD("JAXJob")
			  WORKER("jaxReplicaSpecs",
				 "jax") "  runPolicy: {ttlSecondsAfterFinished: 1}\n",
		  NULL, GRADE_EXACT },
		{ HEAD("JAXJob")
			  WORKER("jaxReplicaSpecs",
				 "jax") "  runPolicy: {activeDeadlineSeconds: 1}\n",
		  "spec.runPolicy.activeDeadlineSeconds", GRADE_APPROXIMATE },
		{ HEAD("JAXJob") WORKER("jaxReplicaSpecs",
					"jax") "  runPolicy: {cleanPodPolicy: None}\n",
		  "spec.runPolicy.cleanPodPolicy", GRADE_LOST },
		{ HEAD("JAXJob") "  jaxReplicaSpecs: {Worker: {replicas: 2, template: {metadata: "
				 "{creationTimestamp: null}, spec: {containers: [{name: jax, image: i, "
				 "resources: {}}]}}}}\n"
				 "status: {conditions: null, replicaStatuses: {}}\n",
		  NULL, GRADE_EXACT },
		{ HEAD("JAXJob") WORKER("jaxReplicaSpecs", "jax") "status: {a: 1}\n",
		  "status", GRADE_APPROXIMATE },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_convert_result struct convert_result res = { 0 };
		cleanup_json cJSON *doc = parse(rows[i].yaml);
		cleanup_json cJSON *before = json_dup(doc);

		convert_job(&res, &conf, doc);
		assert_true(json_equal(doc, before));
		assert_int_equal(res.errs.n, 0);
		assert_non_null(res.runtime);
		assert_string_equal(meta_name(res.job), "j");
		assert_int_equal(res.grade, rows[i].want);
		assert_int_equal(res.n, rows[i].path != NULL);
		if (rows[i].path)
			assert_string_equal(res.notes[0].path, rows[i].path);
	}
}

TEST(test_refused)
{
	static const struct {
		const char *yaml, *path;
	} rows[] = {
		{ HEAD("JAXJob") "  jaxReplicaSpecs: {}\n",
		  "spec.jaxReplicaSpecs.Worker" },
		{ HEAD("JAXJob") WORKER("jaxReplicaSpecs", "other"),
		  "spec.jaxReplicaSpecs.Worker.template.spec.containers" },
		{ HEAD("XGBoostJob") WORKER("xgbReplicaSpecs", "xgboost"),
		  "spec.xgbReplicaSpecs.Master" },
		{ HEAD("PyTorchJob") "  pytorchReplicaSpecs: {Wroker: {}}\n",
		  "spec.pytorchReplicaSpecs.Wroker" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_convert_result struct convert_result res = { 0 };
		cleanup_json cJSON *doc = parse(rows[i].yaml);

		convert_job(&res, &conf, doc);
		assert_null(res.runtime);
		assert_null(res.job);
		assert_true(res.errs.n > 0);
		assert_string_equal(res.errs.list[0].path, rows[i].path);
	}
}

/* More of them are in tests/cli/test_convert.py. */
TEST(test_names)
{
	static const struct {
		const char *text, *want;
		enum grade grade;
	} rows[] = {
		{ "j-worker-1", "j-node-0-1.j", GRADE_APPROXIMATE },
		{ "j-worker-$((", "j-worker-$((", GRADE_LOST },
		{ "j-worker-${", "j-worker-${", GRADE_LOST },
		{ "j-worker-{a\n}", "j-worker-{a\n}", GRADE_LOST },
		{ "j-worker-$", "j-worker-$", GRADE_LOST },
		{ "j-worker-%9", "j-worker-%9", GRADE_LOST },
		{ "j-worker-", "j-worker-", GRADE_LOST },
		{ "j-worker-99999999999999999999999", "j-worker-99999999999999999999999",
		  GRADE_APPROXIMATE },
		{ "j-worker-1$i%02d", "j-node-0-1$i%02d.j", GRADE_APPROXIMATE },
		{ "j-", "j-", GRADE_EXACT },
		{ "jj-worker-0 j", "jj-worker-0 j", GRADE_EXACT },
	};
	cleanup_json cJSON *doc = parse(HEAD("JAXJob") "  jaxReplicaSpecs: {Worker: {"
						       "replicas: 2, template: {spec: "
						       "{containers: [{name: jax, image: "
						       "i, args: [x]}]}}}}\n");
	cJSON *list = json_get(doc, "spec", "jaxReplicaSpecs", "Worker", "template",
			       "spec", "containers");

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_convert_result struct convert_result res = { 0 };
		cleanup_free char *text = NULL, *want = NULL;
		cJSON *arg = json_get(list->child, "args")->child;
		cleanup_json cJSON *now = cJSON_CreateString(rows[i].want);

		cJSON_SetValuestring(arg, rows[i].text);
		convert_job(&res, &conf, doc);
		assert_int_equal(res.errs.n, 0);
		text = json_text(res.runtime);
		want = json_text(now);
		if (!strstr(text, want) || res.grade != rows[i].grade)
			fail_msg("%s: %d %s", rows[i].text, res.grade, text);
	}
}

TEST(test_mentions)
{
	static const struct {
		const char *text;
		size_t notes;
	} rows[] = {
		{ "j-worker-0", 1 },  { "x j-worker-$i; j-worker-1", 1 },
		{ "xj-worker-0", 0 }, { "j-worker-0x j", 0 },
		{ "j-worker", 1 },    { "", 0 },
	};
	cleanup_json cJSON *job = parse(HEAD("JAXJob") WORKER("jaxReplicaSpecs", "jax"));
	cleanup_map struct map jobs = { 0 };

	assert_true(convert_is_valid(&conf, job));
	map_put(&jobs, "j", job);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_convert_result struct convert_result res = { 0 };
		cleanup_json cJSON *other =
			parse("{metadata: {name: j-worker-0}, data: {a.b: [x]}}");

		cJSON_SetValuestring(json_get(other, "data", "a.b")->child, rows[i].text);
		convert_mentions(&res, &conf, &jobs, other);
		assert_int_equal(res.n, rows[i].notes);
		if (res.n)
			assert_string_equal(res.notes[0].path, "data[a.b][0]");
	}
}

TEST(test_jobs_in_other_documents)
{
	static const struct {
		const char *yaml, *path, *kind;
	} rows[] = {
		{ "{spec: {trialTemplate: {trialSpec: {apiVersion: kubeflow.org/v1, kind: "
		  "PyTorchJob}}}}",
		  "spec.trialTemplate.trialSpec", "PyTorchJob" },
		{ "{spec: {components: [{template: {apiVersion: kubeflow.org/v2beta1, "
		  "kind: MPIJob}}]}}",
		  "spec.components[0].template", "MPIJob" },
		{ "{data: {a: \"apiVersion: 'kubeflow.org/v1'\\nkind: \\\"TFJob\\\"\"}}",
		  "data.a", "TFJob" },
		{ "{data: {a: \"apiVersion: 'kubeflow.org/v1'\\nkind: TFJobs\"}}", NULL,
		  NULL },
		{ "{data: {a: 'kind: TFJob'}}", NULL, NULL },
		{ "{spec: {names: {kind: PyTorchJob}, scope: Namespaced}}", NULL, NULL },
	};
	cleanup_map struct map jobs = { 0 };

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_convert_result struct convert_result res = { 0 };
		cleanup_json cJSON *other = parse(rows[i].yaml);

		convert_mentions(&res, &conf, &jobs, other);
		assert_int_equal(res.n, rows[i].path != NULL);
		if (!res.n)
			continue;
		assert_int_equal(res.grade, GRADE_LOST);
		assert_string_equal(res.notes[0].path, rows[i].path);
		assert_non_null(strstr(res.notes[0].text, rows[i].kind));
	}
}

TEST(test_shared)
{
	cleanup_convert_result struct convert_result res = { 0 };
	cleanup_json cJSON *doc = parse(HEAD("JAXJob") WORKER("jaxReplicaSpecs", "jax"));
	cleanup_json cJSON *runtime =
		parse("{apiVersion: trainer.kubeflow.org/v1alpha1, kind: "
		      "ClusterTrainingRuntime, "
		      "metadata: {name: r}, spec: {mlPolicy: {jax: {}}, template: {spec: "
		      "{network: {subdomain: s}, replicatedJobs: [{name: node, template: "
		      "{metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: "
		      "trainer}}}}]}}}}");
	struct convert_conf shared = conf;
	const cJSON *var;

	shared.shared = runtime;
	convert_job(&res, &shared, doc);
	assert_null(res.runtime);
	assert_string_equal(json_str(res.job, "spec", "runtimeRef", "name"), "r");
	assert_null(json_get(res.job, "spec", "runtimeRef", "kind"));
	var = json_find(json_get(res.job, "spec", "trainer", "env"), "name",
			"COORDINATOR_ADDRESS");
	assert_string_equal(json_str(var, "value"), "j-node-0-0.s");
}

#define OLD_JOB "{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, spec: "
#define PATCH(n)                                     \
	"{manager: trainer.kubeflow.org/override-" n \
	", trainingRuntimeSpec: {template: {spec: "
#define NODE_POD "{replicatedJobs: [{name: node, template: {spec: {template: "

/* What Kubeflow Trainer 2.0 and 2.1 had. */
static const struct {
	const char *about, *obj, *want, *note; /* want NULL: refused, for this reason */
} before_patches[] = {
	{ "2.0: fields of the pod",
	  OLD_JOB
	  "{podSpecOverrides: [{targetJobs: [{name: node}], nodeSelector: {a: b}}]}}",
	  "{runtimePatches: [" PATCH("1") NODE_POD
	  "{spec: {nodeSelector: {a: b}}}}}}]}}}}]}",
	  NULL },
	{ "2.1: in order, and before the patches",
	  OLD_JOB
	  "{podTemplateOverrides: [{targetJobs: [{name: node}], metadata: {labels: "
	  "{a: b}}}, {targetJobs: [{name: x}, {name: node}], spec: {tolerations: "
	  "[]}}], runtimePatches: [{manager: m}]}}",
	  "{runtimePatches: [" PATCH("1") NODE_POD
	  "{metadata: {labels: {a: b}}}}}}]}}}}, " PATCH(
		  "2") "{replicatedJobs: [{name: x, template: {spec: {template: {spec: "
		       "{tolerations: []}}}}}, {name: node, template: {spec: {template: {spec: "
		       "{tolerations: []}}}}}]}}}}, {manager: m}]}",
	  NULL },
	{ "labels of the JobSet", OLD_JOB "{labels: {a: b}, annotations: null}}",
	  "{runtimePatches: [{manager: trainer.kubeflow.org/metadata, trainingRuntimeSpec: "
	  "{template: {metadata: {labels: {a: b}}}}}]}",
	  NULL },
	{ "the default", OLD_JOB "{trainer: {numProcPerNode: auto}}}", "{trainer: {}}",
	  "exact: spec.trainer.numProcPerNode" },
	{ "a word of torchrun", OLD_JOB "{trainer: {numProcPerNode: gpu}}}",
	  "{trainer: {}}", "approximate: spec.trainer.numProcPerNode" },
	{ "a runtime's number",
	  "{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainingRuntime, spec: "
	  "{mlPolicy: {torch: {numProcPerNode: 4}}}}",
	  "{mlPolicy: {torch: {}}}", "lost: spec.mlPolicy.torch.numProcPerNode" },
	{ "today's", OLD_JOB "{trainer: {numProcPerNode: 4}, runtimePatches: []}}",
	  "{trainer: {numProcPerNode: 4}, runtimePatches: []}", NULL },
	{ "no job is named", OLD_JOB "{podTemplateOverrides: [{spec: {}}]}}", NULL,
	  "spec.podTemplateOverrides[0].targetJobs" },
	{ "jobs by name alone", OLD_JOB "{podSpecOverrides: [{targetJobs: [node]}]}}",
	  NULL, "spec.podSpecOverrides[0].targetJobs" },
	{ "no list", OLD_JOB "{podSpecOverrides: {}, runtimePatches: x}}", NULL,
	  "spec.runtimePatches" },
};

TEST(test_trainer)
{
	for (size_t i = 0; i < sizeof(before_patches) / sizeof(*before_patches); i++) {
		cleanup_convert_result struct convert_result r = { 0 };
		cleanup_json cJSON *obj = parse(before_patches[i].obj);
		const char *want = before_patches[i].want;
		const char *note = before_patches[i].note;
		cleanup_json cJSON *spec = want ? parse(want) : NULL;

		convert_trainer(&r, obj);
		if (!want) {
			assert_int_not_equal(r.errs.n, 0);
			assert_string_equal(r.errs.list[0].path, note);
			continue;
		}
		assert_int_equal(r.errs.n, 0);
		if (!json_equal(json_get(obj, "spec"), spec))
			fail_msg("%s: %s", before_patches[i].about, json_text(obj));
		assert_int_equal(r.n, note ? 1 : 0);
		if (note)
			assert_string_equal(arena_printf(&r.arena, "%s: %s",
							 grade_name[r.notes[0].grade],
							 r.notes[0].path),
					    note);
	}
}

RUN_TESTS(group_setup, group_teardown)
