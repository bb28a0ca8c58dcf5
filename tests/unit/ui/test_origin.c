/* Lines of a job's YAML that its author need not have written. */
#include "tests/unit/unit.h"

#include "base/cleanup.h"
#include "base/yaml.h"
#include "ui/origin.h"

#define RUNTIME                                                                             \
	"kind: ClusterTrainingRuntime\napiVersion: trainer.kubeflow.org/v1alpha1\n"         \
	"metadata: {name: r}\nspec: {mlPolicy: {numNodes: 3, torch: {numProcPerNode: 2}}, " \
	"template: {spec: {replicatedJobs: [{name: node, template: {metadata: {labels: "    \
	"{trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, spec: {template: {spec: " \
	"{containers: [{name: node, image: 'i:1', command: [a, b], env: [{name: A, value: " \
	"'1'}, {name: B, value: '2'}]}]}}}}}]}}}\n"

static void check(const char *job, const char *runtime, const char *want)
{
	cleanup_json cJSON *jobs = NULL, *runtimes = NULL;
	cleanup_buf struct buf out = { .max = 65536 };
	struct error err = { 0 };

	assert_int_equal(yaml_parse(&jobs, job, strlen(job), &err), 0);
	if (runtime)
		assert_int_equal(yaml_parse(&runtimes, runtime, strlen(runtime), &err),
				 0);
	origin_yaml(&out, jobs->child, runtimes ? runtimes->child : NULL);
	assert_string_equal((char *)out.data, want);
}

#define HEAD             "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\n"
#define MARK(line, text) "<span class=\"added\">" line "  # " text "</span>\n"

TEST(defaults_and_what_a_server_sets)
{
	check(HEAD
	      "metadata:\n  name: a\n  uid: u\nspec:\n  runtimeRef:\n    name: r\n    kind: "
	      "ClusterTrainingRuntime\n  suspend: false\nstatus:\n  state: Created\n",
	      NULL,
	      HEAD "metadata:\n  name: a\n" MARK(
		      "  uid: u",
		      "set by the API server") "spec:\n  runtimeRef:\n    name: r\n" MARK("    kind: ClusterTrainingRuntime",
											  "default")
		      MARK("  suspend: false", "default") MARK(
			      "status:", "set by the controller") "  state: Created\n");
	/* Of another kind than the default, or with another value: somebody wrote it. */
	check(HEAD "spec:\n  runtimeRef:\n    name: r\n    kind: TrainingRuntime\n"
		   "  suspend: true\n",
	      NULL,
	      HEAD "spec:\n  runtimeRef:\n    name: r\n    kind: TrainingRuntime\n"
		   "  suspend: true\n");
}

TEST(what_the_runtime_adds)
{
	check(HEAD
	      "metadata:\n  name: a\nspec:\n  runtimeRef:\n    name: r\n  trainer:\n    numNodes: 1\n    env:\n"
	      "    - name: A\n      value: x\n",
	      RUNTIME,
	      HEAD
	      "metadata:\n  name: a\nspec:\n  runtimeRef:\n    name: r\n  trainer:\n    numNodes: 1\n    env:\n"
	      "    - name: A\n      value: x\n" MARK(
		      "    - name: B",
		      "of the runtime r") "      value: &quot;2&quot;\n" MARK("    numProcPerNode: 2",
									      "of the runtime r")
		      MARK("    image: i:1", "of the runtime r") MARK(
			      "    command:", "of the runtime r") "    - a\n    - b\n");
}

TEST(documents_of_other_shapes)
{
	check("kind: TrainJob\nspec: 3\n", RUNTIME, "kind: TrainJob\nspec: 3\n");
	check(HEAD "spec:\n  trainer: x\n", RUNTIME, HEAD "spec:\n  trainer: x\n");
	check(HEAD "spec:\n  <b>: \"'\"\n", "kind: x\nspec: []\n",
	      HEAD "spec:\n  &lt;b&gt;: &quot;&#39;&quot;\n");
}

RUN_TESTS(NULL, NULL)
