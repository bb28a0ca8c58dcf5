/* The source itself: it loads, and an error in it is found. */
#include "tests/unit/api/schema_fixture.h"

#include "api/schema_node.h"
#include "base/str.h"

/* Every rule of the source has a function, or it would not have loaded. */
static bool source_has_rule(const cJSON *node, const char *id)
{
	const cJSON *child;

	if (cJSON_IsObject(node))
		json_each(child, json_get(node, "x-kubernetes-validations"))
			if (str_eq(json_str(child, "id"), id))
				return true;
	json_each(child, node)
		if (source_has_rule(child, id))
			return true;
	return false;
}

TEST(test_every_function_has_a_rule)
{
	const struct schema *schema = *state;

	for (const struct rule_check *c = rule_checks; c->id; c++)
		if (!source_has_rule(schema->doc, c->id))
			fail_msg("%s: no rule of schema.yaml has this id", c->id);
}

static bool source_refers_to(const cJSON *node, const char *name)
{
	const cJSON *child;

	if (cJSON_IsObject(node) && str_eq(json_str(node, "$ref"), name))
		return true;
	json_each(child, node)
		if (source_refers_to(child, name))
			return true;
	return false;
}

TEST(test_every_definition_is_used)
{
	const struct schema *schema = *state;

	for (size_t i = 0; i < schema->n_definitions; i++)
		if (!source_refers_to(schema->doc, schema->definitions[i].name))
			fail_msg("%s: nothing refers to it", schema->definitions[i].name);
}

TEST(test_knows)
{
	static const struct {
		const char *text;
		bool known;
	} rows[] = {
		{ "{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob}", true },
		{ "{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainingRuntime}",
		  true },
		{ "{apiVersion: trainer.kubeflow.org/v1alpha1, kind: "
		  "ClusterTrainingRuntime}",
		  true },
		{ "{apiVersion: trainer.kubeflow.org/v1alpha1, kind: OptimizationJob}",
		  false },
		{ "{apiVersion: trainer.kubeflow.org/v1, kind: TrainJob}", false },
		{ "{apiVersion: kubeflow.org/v1, kind: PyTorchJob}", false },
		{ "{kind: TrainJob}", false },
		{ "{apiVersion: 1, kind: 2}", false },
		{ "[]", false },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *doc = yaml_doc(rows[i].text);

		assert_int_equal(schema_knows(*state, doc), rows[i].known);
	}
}

#define HEAD  "{group: g, version: v1, kinds: {K: {plural: ks, scope: Cluster, schema: "
#define TAIL  "}}, definitions: {"
#define CLOSE "}}"

TEST(test_an_error_in_the_source_is_said)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ HEAD "{type: object, requird: [a]}" TAIL CLOSE,
		  "schema: kinds: K: unknown keyword requird" },
		{ HEAD "{$ref: A}" TAIL CLOSE,
		  "schema: kinds: K: $ref: A: no such definition" },
		{ HEAD "{type: object}" TAIL
		       "A: {type: object, properties: {b: {$ref: A}}}" CLOSE,
		  "schema: definitions: A: b: $ref: A: refers to itself" },
		{ HEAD "{type: objekt}" TAIL CLOSE,
		  "schema: kinds: K: type: not a value of this keyword: \"objekt\"" },
		{ HEAD "{type: string, pattern: '('}" TAIL CLOSE,
		  "schema: kinds: K: pattern: not a value of this keyword: \"(\"" },
		{ HEAD "{type: integer, minimum: 1.5}" TAIL CLOSE,
		  "schema: kinds: K: minimum: not a value of this keyword: 1.5" },
		{ HEAD "{type: object, x-kubernetes-validations: "
		       "[{id: no-such, rule: x, message: m}]}" TAIL CLOSE,
		  "schema: kinds: K: rule no-such: no such function" },
		{ HEAD
		  "{type: object, x-kubernetes-validations: [{rule: x, message: m}]}" TAIL
			  CLOSE,
		  "schema: kinds: K: x-kubernetes-validations: not a value "
		  "of this keyword: [{\"rule\":\"x\",\"message\":\"m\"}]" },
		{ HEAD "{type: object, format: float}" TAIL CLOSE,
		  "schema: kinds: K: format: not a value of this keyword: \"float\"" },
		{ HEAD "{type: object, x-kubernetes-list-type: bag}" TAIL CLOSE,
		  "schema: kinds: K: x-kubernetes-list-type: not a value of this "
		  "keyword: \"bag\"" },
		{ HEAD "{type: object, x-kubernetes-map-type: round}" TAIL CLOSE,
		  "schema: kinds: K: x-kubernetes-map-type: not a value of "
		  "this keyword: \"round\"" },
		{ HEAD "{type: object, x-kubernetes-int-or-string: false}" TAIL CLOSE,
		  "schema: kinds: K: x-kubernetes-int-or-string: not a value of this "
		  "keyword: false" },
		{ HEAD "{type: object, enum: a}" TAIL CLOSE,
		  "schema: kinds: K: enum: not a value of this keyword: \"a\"" },
		{ HEAD "{type: object, pattern: 1}" TAIL CLOSE,
		  "schema: kinds: K: pattern: not a value of this keyword: 1" },
		{ HEAD "{type: object, maxLength: x}" TAIL CLOSE,
		  "schema: kinds: K: maxLength: not a value of this keyword: \"x\"" },
		{ "{}", "schema: kinds, group or version is missing" },
		{ "{group: g, version: v1}",
		  "schema: kinds, group or version is missing" },
		{ "{group: g, kinds: {K: {}}}",
		  "schema: kinds, group or version is missing" },
		{ "{version: v1, kinds: {K: {}}}",
		  "schema: kinds, group or version is missing" },
		{ "[", NULL },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct error err = { 0 };
		struct schema *schema = NULL;

		assert_int_equal(
			schema_load(&schema, rows[i].text, strlen(rows[i].text), &err),
			-1);
		assert_null(schema);
		if (rows[i].want)
			assert_string_equal(err.msg, rows[i].want);
	}
}

/* Keywords that the API's own schema does not use. */
TEST(test_other_keywords)
{
	static const char text[] =
		HEAD "{type: object, properties: {apiVersion: {type: string}, "
		     "kind: {type: string}, metadata: {type: object, "
		     "x-kubernetes-preserve-unknown-fields: true}, spec: {type: "
		     "object, maxProperties: 1, additionalProperties: {type: "
		     "string}}}}" TAIL CLOSE;
	static const struct {
		const char *spec, *want;
	} rows[] = {
		{ "{a: x}", "" },
		{ "{a: x, b: z}", "spec: Too many: 2: must have at most 1 item\n" },
	};
	struct schema *schema = NULL;
	struct error err = { 0 };

	if (schema_load(&schema, text, strlen(text), &err))
		fail_msg("%s", err.msg);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_field_errors struct field_errors errs = { 0 };
		cleanup_buf struct buf out = { .max = 4096 };
		cleanup_json cJSON *obj =
			yaml_doc("{apiVersion: g/v1, kind: K, metadata: {name: a}}");

		json_put(obj, yaml_doc(rows[i].spec), "spec");
		schema_validate(schema, obj, NULL, &errs);
		assert_string_equal(errors_text(&out, &errs), rows[i].want);
	}
	schema_free(schema);
}

#define TYPED(spec)                                                                     \
	HEAD "{type: object, properties: {apiVersion: {type: string}, kind: {type: "    \
	     "string}, metadata: {type: object, x-kubernetes-preserve-unknown-fields: " \
	     "true}, spec: " spec "}}" TAIL

/* Its own definition is used before the one of that name in the base. */
TEST(test_definitions_of_the_base)
{
	static const char text[] =
		TYPED("{type: object, properties: {own: {$ref: TrainJob}, other: {$ref: "
		      "RuntimeRef}}}") "TrainJob: {type: string}" CLOSE;
	static const char bad[] = TYPED("{$ref: Runtimeref}") CLOSE;
	cleanup_field_errors struct field_errors errs = { 0 };
	cleanup_json cJSON *obj = yaml_doc("{apiVersion: g/v1, kind: K, metadata: {name: "
					   "a}, spec: {own: 1, other: {name: 1}}}");
	struct schema *schema = NULL;
	struct error err = { 0 };

	assert_int_equal(schema_load_on(&schema, *state, bad, strlen(bad), &err), -1);
	assert_non_null(strstr(err.msg, "$ref: Runtimeref: no such definition"));
	assert_int_equal(schema_load(&schema, text, strlen(text), &err), -1);
	if (schema_load_on(&schema, *state, text, strlen(text), &err))
		fail_msg("%s", err.msg);
	schema_validate(schema, obj, NULL, &errs);
	assert_int_equal(errs.n, 2);
	assert_string_equal(errs.list[0].path, "spec.own");
	assert_string_equal(errs.list[1].path, "spec.other.name");
	schema_free(schema);
}

RUN_TESTS(group_setup, group_teardown)
