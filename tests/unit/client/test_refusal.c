/*
 * What an API server has against an object, as it says so, taken apart.
 */

#include "client/refusal.h"
#include "tests/unit/unit.h"

#define UNTYPED                                                                    \
	"{\"message\":\"failed to create typed patch object (default/mine; a/v1, " \
	"Kind=A): "

/* That of the paths with keys. */
static const char object[] =
	"{\"spec\":{\"jobs\":[{\"name\":\"a\"},{\"name\":\"node\",\"env\":[{\"name\":\"b\"},{\"name\":\"a]: \\\"b\"}],\"ports\":[{\"port\":8},{\"port\":80,\"protocol\":\"UDP\"},{\"port\":80}],\"set\":[\"u\",\"v\"]}]}}";

/* Recorded from an API server 1.34 with Trainer's CRDs and webhooks. */
static const struct {
	const char *status;
	struct refusal want[4];
} cases[] = {
	{ "{\"message\":\"TrainJob.trainer.kubeflow.org \\\"one\\\" is invalid: [..]\","
	  "\"details\":{\"causes\":[{\"reason\":\"FieldValueTypeInvalid\",\"message\":"
	  "\"Invalid value: \\\"string\\\": must be of type integer\",\"field\":"
	  "\"spec.trainer.numNodes\"},{\"reason\":\"FieldValueInvalid\",\"message\":"
	  "\"Invalid value: \\\"object\\\": a rule of the "
	  "whole\",\"field\":\"<nil>\"}]}}",
	  { { "spec.trainer.numNodes", "spec.trainer.numNodes: Invalid value: "
				       "\"string\": must be of type integer" },
	    { "", "Invalid value: \"object\": a rule of the whole" } } },
	{ "{\"message\":\"TrainJob in version \\\"v1alpha1\\\" cannot be handled as a "
	  "TrainJob: strict decoding error: unknown field \\\"spec.trainer.nproc\\\", "
	  "duplicate field \\\"spec.suspend\\\", unknown field "
	  "\\\"spec.trainer.nproc\\\"\"}",
	  { { "spec.trainer.nproc", "spec.trainer.nproc: Unknown field" },
	    { "spec.suspend", "spec.suspend: Duplicate field" } } },
	{ "{\"message\":\"TrainJob in version \\\"v1alpha1\\\" cannot be handled as a "
	  "TrainJob: strict decoding error: unknown field "
	  "\\\"spec.trainer.resourceClaimsPerNode\\\"\"}",
	  { { "spec.trainer.resourceClaimsPerNode",
	      "spec.trainer.resourceClaimsPerNode: Unknown field: the TrainJob CRD in "
	      "the cluster lacks it: run 'kftrainer install', or remove the field" } } },
	{ UNTYPED ".spec.trainer.resourceClaimsPerNode: field not declared in schema\"}",
	  { { "spec.trainer.resourceClaimsPerNode",
	      "spec.trainer.resourceClaimsPerNode: Unknown field: the TrainJob CRD in "
	      "the cluster lacks it: run 'kftrainer install', or remove the field" } } },
	{ "{\"message\":\"admission webhook "
	  "\\\"validator.trainjob.trainer.kubeflow.org\\\" denied "
	  "the request: spec.RuntimeRef: Invalid value: "
	  "{\\\"a\\\":1}: not found\"}",
	  { { "spec.runtimeRef",
	      "spec.RuntimeRef: Invalid value: {\"a\":1}: not found" } } },
	{ "{\"message\":\"admission webhook \\\"v\\\" denied the "
	  "request: [spec.trainer.env: Invalid value: [\\\"A\\\", "
	  "\\\"B\\\"]: reserved, spec.trainer.env[1]: Forbidden: x, "
	  "y and z: never, metadata.labels: Invalid value: 1]\"}",
	  { { "spec.trainer.env",
	      "spec.trainer.env: Invalid value: [\"A\", \"B\"]: reserved" },
	    { "spec.trainer.env[1]",
	      "spec.trainer.env[1]: Forbidden: x, y and z: never" },
	    { "metadata.labels", "metadata.labels: Invalid value: 1" } } },
	{ "{\"message\":\"admission webhook \\\"v\\\" denied the request: because\"}",
	  { { "", "admission webhook \"v\" denied the request: because" } } },
	{ "{\"message\":\"admission webhook \\\"v\\\" denied the request: \"}",
	  { { "", "admission webhook \"v\" denied the request: " } } },
	/* Of server-side apply, which is a 500. */
	{ UNTYPED ".spec.bogus: field not declared in schema\"}",
	  { { "spec.bogus", "spec.bogus: Unknown field" } } },
	{ UNTYPED "errors:\\n  .spec.jobs[name=\\\"node\\\"].env[name=\\\"a]: "
		  "\\\\\\\"b\\\"].valeu: field not declared in schema\\n  "
		  ".spec.jobs[name=\\\"node\\\"].ports[port=80,protocol=\\\"TCP\\\"].x: "
		  "expected string, got &value.A{1}\\n  "
		  ".spec.jobs[name=\\\"node\\\"].set[=\\\"v\\\"]: y\"}",
	  { { "spec.jobs[1].env[1].valeu", "spec.jobs[1].env[1].valeu: Unknown field" },
	    { "spec.jobs[1].ports[2].x", "spec.jobs[1].ports[2].x: expected string" },
	    { "spec.jobs[1].set[1]", "spec.jobs[1].set[1]: y" } } },
	{ UNTYPED "errors:\\n  .spec.jobs[name=\\\"gone\\\"].a[1].b: x\\n  "
		  ".spec.jobs[1].c: y\\n  .spec.jobs[name: z\"}",
	  { { "spec.jobs[name=\"gone\"].a[1].b", "spec.jobs[name=\"gone\"].a[1].b: x" },
	    { "spec.jobs[1].c", "spec.jobs[1].c: y" },
	    { "spec.jobs[name", "spec.jobs[name: z" } } },
	{ UNTYPED "errors:\\n  .spec.a[name=\\\"\\n\\\"].b: x\\n  .spec.c: y\"}",
	  { { "spec.c", "spec.c: y" } } },
	{ UNTYPED "no field\"}",
	  { { "", "failed to create typed patch object (default/mine; a/v1, "
		  "Kind=A): no field" } } },
	{ "{\"details\":{\"causes\":[{},{\"message\":\"\"},{\"field\":\"spec\"}]}}",
	  { { "", "words" } } },
	{ "{\"message\":\"strict decoding error: unknown field \\\"\"}",
	  { { "", ": Unknown field" } } },
	{ "{\"message\":5,\"details\":[]}", { { "", "words" } } },
	{ "{}", { { "", "words" } } },
};

TEST(causes_of_a_status)
{
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		cleanup_json cJSON *status = NULL, *obj = NULL;
		cleanup_refusals struct refusals r = { 0 };
		struct error err = { 0 };
		size_t n = 0;

		assert_int_equal(json_parse(&obj, object, strlen(object), &err), 0);
		assert_int_equal(json_parse(&status, cases[i].status,
					    strlen(cases[i].status), &err),
				 0);
		refusals_read(&r, status, obj, "words");
		for (; n < 4 && cases[i].want[n].text; n++) {
			assert_true(n < r.n);
			assert_string_equal(r.list[n].path, cases[i].want[n].path);
			assert_string_equal(r.list[n].text, cases[i].want[n].text);
		}
		assert_int_equal(r.n, n);
	}
}

TEST(untyped)
{
	cleanup_json cJSON *status = cJSON_CreateObject();

	assert_false(refusal_is_untyped(NULL));
	assert_false(refusal_is_untyped(status));
	json_put_str(status, "Internal error occurred: (x): .a: b", "message");
	assert_false(refusal_is_untyped(status));
	json_put_str(status, "failed to create typed patch object (x): .a: b", "message");
	assert_true(refusal_is_untyped(status));
}

TEST(at_most_100_causes)
{
	cleanup_json cJSON *status = cJSON_CreateObject();
	cleanup_refusals struct refusals r = { 0 };

	for (int i = 0; i < 5000; i++) {
		cJSON *cause = cJSON_CreateObject();
		char text[20];

		snprintf(text, sizeof(text), "%d", i);
		json_put_str(cause, text, "message");
		cJSON_AddItemToArray(json_list(status, "details", "causes"), cause);
	}
	refusals_read(&r, status, NULL, "");
	assert_int_equal(r.n, 100);
}

RUN_TESTS(NULL, NULL)
