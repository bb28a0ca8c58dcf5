/*
 * Server-side apply by kubectl of what it applied client-side: it takes over the fields
 * that nobody has changed since, and updates its annotation.
 */

#include "api/last_applied.h"
#include "api/managers.h"
#include "api/meta.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "base/xmalloc.h"
#include "base/yaml.h"
#include "tests/unit/unit.h"

static const char shape[] =
	"group: g\n"
	"version: v1\n"
	"kinds:\n"
	"  Thing:\n"
	"    plural: things\n"
	"    scope: Namespaced\n"
	"    schema: {$ref: Thing}\n"
	"definitions:\n"
	"  Thing:\n"
	"    type: object\n"
	"    properties:\n"
	"      apiVersion: {type: string}\n"
	"      kind: {type: string}\n"
	"      metadata:\n"
	"        type: object\n"
	"        properties:\n"
	"          annotations: {type: object, additionalProperties: {type: string}}\n"
	"          name: {type: string}\n"
	"          uid: {type: string}\n"
	"      a: {type: string}\n"
	"      i: {type: integer}\n"
	"      m: {type: object, additionalProperties: {type: string}}\n"
	"      words: {type: array, items: {type: string}}\n";

static struct schema *schema;
static const struct node *type;

static int setup(void **state)
{
	struct error err = { 0 };

	if (schema_load(&schema, shape, strlen(shape), &err))
		fail_msg("%s", err.msg);
	type = typed_of(schema, "g/v1", "Thing");
	return type ? 0 : -1;
}

static int teardown(void **state)
{
	schema_free(schema);
	return 0;
}

static cJSON *thing(const char *members)
{
	struct error err = { 0 };
	cleanup_json cJSON *docs = NULL;
	cJSON *ret;

	if (yaml_parse(&docs, members, strlen(members), &err))
		fail_msg("%s: %s", members, err.msg);
	ret = cJSON_DetachItemFromArray(docs, 0);
	json_put_str(ret, "g/v1", "apiVersion");
	json_put_str(ret, "Thing", "kind");
	json_put_str(ret, "t", "metadata", "name");
	return ret;
}

static struct manager_of by(const char *manager)
{
	return (struct manager_of){ .type = type,
				    .manager = manager,
				    .api_version = "g/v1",
				    .subresource = "",
				    .now = "2026-01-01T00:00:00Z" };
}

/* An object that `kubectl apply` stored with this annotation. */
static cJSON *stored(const char *members, const char *annotation)
{
	const struct manager_of csa = by("kubectl-client-side-apply");
	cleanup_json cJSON *nothing = cJSON_CreateObject();
	cJSON *ret = thing(members);

	if (annotation)
		meta_set_annotation(ret, LAST_APPLIED, annotation);
	managers_update(&csa, nothing, ret);
	json_put_str(ret, "u", "metadata", "uid");
	return ret;
}

#define THING "\"apiVersion\": \"g/v1\", \"kind\": \"Thing\""
#define CSA   "\"kubectl-client-side-apply\" using g/v1"

static const struct {
	const char *manager, *annotation, *live, *config;
	const char *conflict; /* NULL: accepted */
} rows[] = {
	/* as it was, and changed */
	{ "kubectl", "{" THING ", \"a\": \"x\"}", "{a: x}", "{a: x}", NULL },
	{ "kubectl", "{" THING ", \"a\": \"x\"}", "{a: x}", "{a: y}", NULL },
	{ "kubectl", "{" THING ", \"words\": [\"x\"]}", "{words: [x]}", "{words: [y]}",
	  NULL },
	/* by kubectl alone */
	{ "other", "{" THING ", \"a\": \"x\"}", "{a: x}", "{a: y}",
	  "1 conflict: conflict with " CSA ": .a" },
	/* changed since, or never applied */
	{ "kubectl", "{" THING ", \"a\": \"x\"}", "{a: z}", "{a: y}",
	  "1 conflict: conflict with " CSA ": .a" },
	{ "kubectl", "{" THING "}", "{a: x}", "{a: y}",
	  "1 conflict: conflict with " CSA ": .a" },
	{ "kubectl", "{" THING ", \"i\": 1}", "{a: x, i: 1}", "{a: y, i: 2}",
	  "1 conflict: conflict with " CSA ": .a" },
	{ "kubectl", "{" THING ", \"m\": {\"p\": \"1\"}}", "{m: {p: '1', q: '1'}}",
	  "{m: {p: '2', q: '2'}}", "1 conflict: conflict with " CSA ": .m.q" },
	/* no annotation, or none of this object */
	{ "kubectl", NULL, "{a: x}", "{a: y}", "1 conflict: conflict with " CSA ": .a" },
	{ "kubectl", "", "{a: x}", "{a: y}", "1 conflict: conflict with " CSA ": .a" },
	{ "kubectl", "{", "{a: x}", "{a: y}", "1 conflict: conflict with " CSA ": .a" },
	{ "kubectl", "[1]", "{a: x}", "{a: y}", "1 conflict: conflict with " CSA ": .a" },
	{ "kubectl", "{\"apiVersion\": \"g/v2\", \"kind\": \"Thing\", \"a\": \"x\"}",
	  "{a: x}", "{a: y}", "1 conflict: conflict with " CSA ": .a" },
	{ "kubectl", "{\"apiVersion\": \"g/v1\", \"kind\": \"Else\", \"a\": \"x\"}",
	  "{a: x}", "{a: y}", "1 conflict: conflict with " CSA ": .a" },
	{ "kubectl", "{" THING ", \"a\": \"x\", \"zz\": 1}", "{a: x}", "{a: y}",
	  "1 conflict: conflict with " CSA ": .a" },
};

TEST(test_migrates)
{
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const struct manager_of who = by(rows[i].manager);
		cleanup_json cJSON *live = stored(rows[i].live, rows[i].annotation);
		cleanup_json cJSON *config = thing(rows[i].config);
		cleanup_json cJSON *obj = NULL, *causes = NULL;
		struct error err = { 0 };
		int rc = managers_apply(&who, live, config, &obj, &causes, &err);

		if (!rc != !rows[i].conflict ||
		    (rc && !strstr(err.msg, rows[i].conflict)))
			fail_msg("%zu: '%s' instead of '%s'", i, err.msg,
				 rows[i].conflict ? rows[i].conflict : "");
		if (rc)
			assert_int_equal(cJSON_GetArraySize(causes), 1);
		else
			assert_true(
				json_equal(json_get(obj, "a"), json_get(config, "a")));
	}
}

/* Its fields are then kubectl's: a second change needs no annotation. */
TEST(test_takes_over)
{
	const struct manager_of who = by("kubectl");
	cleanup_json cJSON *live = stored("{a: x}", "{" THING ", \"a\": \"x\"}");
	cleanup_json cJSON *config = thing("{a: y}"), *next = thing("{a: z}");
	cleanup_json cJSON *obj = NULL, *causes = NULL, *last = NULL;
	struct error err = { 0 };
	cleanup_free char *managers = NULL;

	assert_int_equal(managers_apply(&who, live, config, &obj, &causes, &err), 0);
	managers = json_text(json_get(obj, "metadata", "managedFields"));
	assert_non_null(strstr(managers, "\"kubectl\",\"operation\":\"Apply\""));
	json_del(obj, JSON_PATH("metadata", "annotations"));
	assert_int_equal(managers_apply(&who, obj, next, &last, &causes, &err), 0);
	assert_string_equal(json_str(last, "a"), "z");
}

TEST(test_updates_the_annotation)
{
	static const struct {
		const char *before, *config, *after;
	} updates[] = {
		{ "{}", "{words: ['<&>'], a: x}",
		  "{\"a\":\"x\",\"apiVersion\":\"g/v1\",\"kind\":\"Thing\",\"metadata\":{"
		  "\"name\":\"t\"},\"words\":[\"\\u003c\\u0026\\u003e\"]}\n" },
		{ "{}", "{metadata: {annotations: {b: '2', a: '1'}}}",
		  "{\"apiVersion\":\"g/v1\",\"kind\":\"Thing\",\"metadata\":{"
		  "\"annotations\":{\"a\":\"1\",\"b\":\"2\"},\"name\":\"t\"}}\n" },
		{ "", "{a: x}", "" },
		{ NULL, "{a: x}", NULL },
	};

	for (size_t i = 0; i < N_ELEMENTS(updates); i++) {
		cleanup_json cJSON *obj = stored("{a: x}", updates[i].before);
		cleanup_json cJSON *config = thing(updates[i].config);
		const char *after;

		last_applied_update(obj, config);
		after = meta_annotation(obj, LAST_APPLIED);
		if (!str_eq(after, updates[i].after))
			fail_msg("%zu: %s", i, after ? after : "none");
	}
}

/* An object too large for its annotation is applied without one. */
TEST(test_too_large)
{
	static const size_t sizes[] = { META_ANNOTATIONS_MAX, META_ANNOTATIONS_MAX - 80 };

	for (size_t i = 0; i < N_ELEMENTS(sizes); i++) {
		cleanup_free char *text = xcalloc(1, sizes[i] + 1);
		cleanup_json cJSON *obj = stored("{a: x}", "{}");
		cleanup_json cJSON *config = thing("{a: x}");

		memset(text, 'a', sizes[i]);
		json_put_str(config, text, "m", "p");
		last_applied_update(obj, config);
		assert_null(meta_annotation(obj, LAST_APPLIED));
	}
}

RUN_TESTS(setup, teardown)
