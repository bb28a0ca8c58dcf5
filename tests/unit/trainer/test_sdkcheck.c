/* Rules: kubeflow/sdk kubeflow/trainer/backends/kubernetes/utils.py. */
#include "tests/unit/trainer/yaml_doc.h"
#include "trainer/sdkcheck.h"

#define RT(policy, ancestor, container)                                              \
	"{kind: TrainingRuntime, metadata: {name: rt, labels: "                      \
	"{trainer.kubeflow.org/framework: torch}}, spec: {" policy                   \
	"template: {spec: {replicatedJobs: [{name: node, template: {metadata: "      \
	"{labels: {" ancestor "}}, spec: {template: {spec: {containers: [" container \
	"]}}}}}]}}}}"
#define STEP "trainer.kubeflow.org/trainjob-ancestor-step: trainer"
#define ML   "mlPolicy: {torch: {}}, "
#define LIMITS(limits) \
	RT(ML, STEP, "{name: node, image: i, resources: {limits: " limits "}}")

static char *said(const cJSON *runtime)
{
	cleanup_json cJSON *warnings = cJSON_CreateArray();
	char *text;

	sdkcheck_runtime(runtime, warnings);
	text = json_text(warnings);
	if (cJSON_GetArraySize(warnings) > 1)
		fail_msg("more than one: %s", text);
	return text;
}

TEST(test_what_it_cannot_read)
{
	static const struct {
		const char *runtime, *want;
	} rows[] = {
		{ RT(ML, STEP, "{name: node, image: i}"), "[]" },
		{ RT("", STEP, "{name: node, image: i}"), "spec.mlPolicy" },
		{ RT(ML, "", "{name: node, image: i}"), "no job labelled" },
		{ RT(ML, STEP, "{name: main, image: i}"), "container \\\"node\\\"" },
		{ RT(ML, STEP, "{name: node}"), "has no image" },
		{ LIMITS("{cpu: '1', memory: 1Gi}"), "[]" },
		{ LIMITS("{nvidia.com/gpu: '8'}"), "[]" },
		{ LIMITS("{nvidia.com/mig-1g.5gb: '1'}"), "[]" },
		{ LIMITS("{huawei.com/Ascend910: '1'}"), "[]" },
		{ LIMITS("{amd.com/gpu: '1'}"), "name none of" },
		{ LIMITS("{memory: 1Gi}"), "name none of" },
		{ LIMITS("{nvidia.com/mig-1g.5gb: '1', nvidia.com/mig-2g.10gb: '1'}"),
		  "several kinds" },
		{ LIMITS("{nvidia.com/gpu: 8}"), "nvidia.com/gpu of container" },
		{ LIMITS("{nvidia.com/gpu: '8', cpu: 4}"), "[]" },
		{ LIMITS("[a, b]"), "[]" },
		{ "{metadata: {labels: {trainer.kubeflow.org/framework: x}}}",
		  "spec.mlPolicy" },
		{ "{metadata: {labels: {other: x}}}", "[]" },
		{ "[]", "[]" },
		{ "a", "[]" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *runtime = doc(rows[i].runtime);
		cleanup_free char *text = said(runtime);

		if (!strstr(text, rows[i].want) || strlen(text) > 256)
			fail_msg("%s: wanted %s, got %s", rows[i].runtime, rows[i].want,
				 text);
	}
}

RUN_TESTS(NULL, NULL)
