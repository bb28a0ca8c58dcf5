/*
 * What an API server has against an object, as it says so, taken apart.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "client/refusal.h"

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
	{ "{\"message\":\"admission webhook "
	  "\\\"validator.trainjob.trainer.kubeflow.org\\\" "
	  "denied the request: spec.RuntimeRef: Invalid value: {\\\"a\\\":1}: not "
	  "found\"}",
	  { { "spec.runtimeRef",
	      "spec.RuntimeRef: Invalid value: {\"a\":1}: not found" } } },
	{ "{\"message\":\"admission webhook \\\"v\\\" denied the request: "
	  "[spec.trainer.env: "
	  "Invalid value: [\\\"A\\\", \\\"B\\\"]: reserved, spec.trainer.env[1]: "
	  "Forbidden: "
	  "x, y and z: never, metadata.labels: Invalid value: 1]\"}",
	  { { "spec.trainer.env",
	      "spec.trainer.env: Invalid value: [\"A\", \"B\"]: reserved" },
	    { "spec.trainer.env[1]",
	      "spec.trainer.env[1]: Forbidden: x, y and z: never" },
	    { "metadata.labels", "metadata.labels: Invalid value: 1" } } },
	{ "{\"message\":\"admission webhook \\\"v\\\" denied the request: because\"}",
	  { { "", "admission webhook \"v\" denied the request: because" } } },
	{ "{\"message\":\"admission webhook \\\"v\\\" denied the request: \"}",
	  { { "", "admission webhook \"v\" denied the request: " } } },
	{ "{\"details\":{\"causes\":[{},{\"message\":\"\"},{\"field\":\"spec\"}]}}",
	  { { "", "words" } } },
	{ "{\"message\":\"strict decoding error: unknown field \\\"\"}",
	  { { "", ": Unknown field" } } },
	{ "{\"message\":5,\"details\":[]}", { { "", "words" } } },
	{ "{}", { { "", "words" } } },
};

static void read(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		cleanup_json cJSON *status = NULL;
		cleanup_refusals struct refusals r = { 0 };
		struct error err = { 0 };
		size_t n = 0;

		assert_int_equal(json_parse(&status, cases[i].status,
					    strlen(cases[i].status), &err),
				 0);
		refusals_read(&r, status, "words");
		for (; n < 4 && cases[i].want[n].text; n++) {
			assert_true(n < r.n);
			assert_string_equal(r.list[n].path, cases[i].want[n].path);
			assert_string_equal(r.list[n].text, cases[i].want[n].text);
		}
		assert_int_equal(r.n, n);
	}
}

static void many(void **state)
{
	cleanup_json cJSON *status = cJSON_CreateObject();
	cleanup_refusals struct refusals r = { 0 };

	(void)state;
	for (int i = 0; i < 5000; i++) {
		cJSON *cause = cJSON_CreateObject();
		char text[20];

		snprintf(text, sizeof(text), "%d", i);
		json_put_str(cause, text, "message");
		cJSON_AddItemToArray(json_list(status, "details", "causes"), cause);
	}
	refusals_read(&r, status, "");
	assert_int_equal(r.n, 100);
}

static void paths(void **state)
{
	(void)state;
	assert_true(field_path_same("limits[cpu]", "limits.cpu"));
	assert_true(field_path_same("a.b[1].c", "a.b[1].c"));
	assert_true(field_path_same("", ""));
	assert_false(field_path_same("a.b", "a.bc"));
	assert_false(field_path_same("a.b", "a.b.c"));
	assert_false(field_path_same("a", ""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read),
		cmocka_unit_test(many),
		cmocka_unit_test(paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
