/* What documents must look like before they are used: trainer/shape.h. */
#include "tests/unit/trainer/yaml_doc.h"
#include "trainer/shape.h"

#define TRAINER(more) \
	"{metadata: {name: t}, spec: {runtimeRef: {name: rt}, trainer: {" more "}}}"
#define POD(more) "{spec: {containers: [{name: node}], " more "}}"

TEST(test_faults)
{
	static const struct {
		const struct shape *shape;
		const char *doc, *want;
	} rows[] = {
		{ shape_env, "{name: A, value: b}", "" },
		{ shape_env, "{value: b}", "name: Required value\n" },
		{ shape_env, "{name: A, value: 1}",
		  "value: Invalid value: 1: must be a string\n" },
		{ shape_trainjob, TRAINER("numNodes: 2"), "" },
		{ shape_trainjob, TRAINER("resourceClaimsPerNode: [{name: a}]"), "" },
		{ shape_trainjob,
		  TRAINER("resourceClaimsPerNode: [{resourceClaimName: c}]"),
		  "spec.trainer.resourceClaimsPerNode[0].name: Required value\n" },
		{ shape_trainjob, TRAINER("env: [{value: b}]"),
		  "spec.trainer.env[0].name: Required value\n" },
		{ shape_trainjob, TRAINER("resourcesPerNode: {limits: a}"),
		  "spec.trainer.resourcesPerNode.limits: Invalid value: "
		  "\"a\": must be an object\n" },
		{ shape_trainjob, TRAINER("resourcesPerNode: {claims: [{}]}"),
		  "spec.trainer.resourcesPerNode.claims[0].name: Required value\n" },
		{ shape_pod_template, POD("volumes: [{name: v, emptyDir: {}}]"), "" },
		{ shape_pod_template, POD("volumes: [{emptyDir: {}}]"),
		  "spec.volumes[0].name: Required value\n" },
		{ shape_trainjob, TRAINER("resourcesPerNode: {limits: {cpu: lots}}"),
		  "spec.trainer.resourcesPerNode.limits[cpu]: Invalid value: \"lots\": "
		  "\"lots\" is not a quantity; expected a number with one of n u m k M G "
		  "T P E Ki Mi Gi Ti Pi Ei or an exponent\n" },
		{ shape_trainjob, TRAINER("resourcesPerNode: {limits: {cpu: null}}"),
		  "" },
		{ shape_trainjob,
		  "{metadata: {name: t}, spec: {suspend: 'yes', "
		  "runtimeRef: {name: rt}}}",
		  "spec.suspend: Invalid value: \"yes\": must be true or false\n" },
		{ shape_trainjob, TRAINER("numNodes: two"),
		  "spec.trainer.numNodes: Invalid value: \"two\": must be an integer\n" },
		{ shape_trainjob, TRAINER("numNodes: 2147483647"), "" },
		{ shape_trainjob, TRAINER("numNodes: 2147483648"),
		  "spec.trainer.numNodes: Invalid value: 2147483648: must be from 0 "
		  "to 2147483647\n" },
		{ shape_metadata, "{labels: {a: b}}", "" },
		{ shape_metadata, "{labels: a}",
		  "labels: Invalid value: \"a\": must be an object\n" },
		{ shape_metadata, "{annotations: {a: 1}}",
		  "annotations[a]: Invalid value: 1: must be a string\n" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *obj = doc(rows[i].doc);
		struct field_errors errs = { 0 };
		cleanup_free char *text = NULL;

		shape_check(&errs, "", obj, rows[i].shape);
		text = errors_text(&errs);
		if (!str_eq(text, rows[i].want))
			fail_msg("%s: wanted %s, got %s", rows[i].doc, rows[i].want,
				 text);
	}
}

RUN_TESTS(NULL, NULL)
