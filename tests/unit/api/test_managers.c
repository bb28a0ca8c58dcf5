/*
 * Who set which field, merges by type, JSON Patch. tests/cluster/apiserver.py compares the
 * same with a real API server.
 */

#include "api/jsonpatch.h"
#include "api/managers.h"
#include "base/cleanup.h"
#include "base/str.h"
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
	"      a: {type: string}\n"
	"      m: {type: object, additionalProperties: {type: string}}\n"
	"      s:\n"
	"        type: array\n"
	"        x-kubernetes-list-type: set\n"
	"        items: {type: string}\n"
	"      l:\n"
	"        type: array\n"
	"        x-kubernetes-list-type: map\n"
	"        x-kubernetes-list-map-keys: [k]\n"
	"        items:\n"
	"          type: object\n"
	"          required: [k]\n"
	"          properties: {k: {type: string}, v: {type: integer}}\n"
	"      atom:\n"
	"        type: object\n"
	"        x-kubernetes-map-type: atomic\n"
	"        properties: {x: {type: string}}\n"
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

static cJSON *doc(const char *text)
{
	struct error err = { 0 };
	cleanup_json cJSON *docs = NULL;

	if (yaml_parse(&docs, text, strlen(text), &err))
		fail_msg("%s: %s", text, err.msg);
	return cJSON_DetachItemFromArray(docs, 0);
}

static void same(const cJSON *have, const char *want_text, const char *about)
{
	cleanup_json cJSON *want = doc(want_text);
	cleanup_free char *text = json_text(have);

	if (!json_equal(have, want))
		fail_msg("%s: %s instead of %s", about, text, want_text);
}

/* ---- sets ---- */

TEST(union_intersection_difference)
{
	static const struct {
		const char *a, *b, *both, *common, *rest;
	} rows[] = {
		{ "{'f:a': {}}", "{'f:b': {}}", "{'f:a': {}, 'f:b': {}}", "{}",
		  "{'f:a': {}}" },
		{ "{'f:a': {'f:x': {}}}", "{'f:a': {}}", "{'f:a': {.: {}, 'f:x': {}}}",
		  "{}", "{'f:a': {'f:x': {}}}" },
		{ "{'f:a': {.: {}, 'f:x': {}}}", "{'f:a': {'f:x': {}, 'f:y': {}}}",
		  "{'f:a': {.: {}, 'f:x': {}, 'f:y': {}}}", "{'f:a': {'f:x': {}}}",
		  "{'f:a': {}}" },
		{ "{'v:\"1\"': {}, 'f:a': {}}", "{'f:a': {}}",
		  "{'f:a': {}, 'v:\"1\"': {}}", "{'f:a': {}}", "{'v:\"1\"': {}}" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *raw_a = doc(rows[i].a), *raw_b = doc(rows[i].b);
		cleanup_json cJSON *a = fieldset_read(raw_a), *b = fieldset_read(raw_b);
		cleanup_json cJSON *both = fieldset_union(a, b);
		cleanup_json cJSON *common = fieldset_intersection(a, b);
		cleanup_json cJSON *rest = fieldset_difference(a, b);

		same(both, rows[i].both, "union");
		same(common, rows[i].common, "intersection");
		same(rest, rows[i].rest, "difference");
	}
}

TEST(test_bad_sets)
{
	static const char *const bad[] = { "[]", "{a: {}}", "{'f:a': 1}",
					   "{'f:a': {b: {}}}", "{'x:a': {}}" };

	for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
		cleanup_json cJSON *raw = doc(bad[i]);
		cleanup_json cJSON *set = fieldset_read(raw);

		assert_null(set);
	}
}

/* ---- values ---- */

TEST(test_fields)
{
	static const struct {
		const char *value, *set;
	} rows[] = {
		{ "{a: x}", "{'f:a': {}}" },
		{ "{m: {x: '1'}}", "{'f:m': {'f:x': {}}}" },
		{ "{m: {}}", "{'f:m': {}}" },
		{ "{s: [b, a]}", "{'f:s': {'v:\"a\"': {}, 'v:\"b\"': {}}}" },
		{ "{l: [{k: x, v: 1}]}",
		  "{'f:l': {'k:{\"k\":\"x\"}': {.: {}, 'f:k': {}, 'f:v': {}}}}" },
		{ "{atom: {x: '1'}}", "{'f:atom': {}}" },
		{ "{words: [a, b]}", "{'f:words': {}}" },
		{ "{}", "{}" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *value = doc(rows[i].value);
		cleanup_json cJSON *set = typed_fields(type, value);

		same(set, rows[i].set, rows[i].value);
	}
}

TEST(test_named)
{
	static const struct {
		const char *set, *want;
	} rows[] = {
		{ "{'f:a': {}}", "{'f:a': {}}" },
		{ "{'f:l': {'k:{\"k\":\"x\"}': {'f:v': {}}}}",
		  "{'f:l': {.: {}, 'k:{\"k\":\"x\"}': {'f:v': {}}}}" },
		/* steps that the type does not have: they come from outside */
		{ "{'f:no': {'v:1': {'f:x': {}}}}", "{'f:no': {'v:1': {'f:x': {}}}}" },
		{ "{'v:1': {'f:a': {}}}", "{'v:1': {'f:a': {}}}" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *raw = doc(rows[i].set);
		cleanup_json cJSON *set = fieldset_read(raw);
		cleanup_json cJSON *named = typed_named(type, set);

		same(named, rows[i].want, rows[i].set);
	}
}

TEST(test_merge)
{
	static const struct {
		const char *live, *config, *want;
	} rows[] = {
		{ "{a: x, m: {p: '1'}}", "{m: {q: '2'}}", "{a: x, m: {p: '1', q: '2'}}" },
		{ "{words: [a, b]}", "{words: [c]}", "{words: [c]}" },
		{ "{atom: {x: '1'}}", "{atom: {}}", "{atom: {}}" },
		{ "{s: [a, b]}", "{s: [b, c]}", "{s: [a, b, c]}" },
		{ "{s: [a, b, c]}", "{s: [c, a]}", "{s: [b, c, a]}" },
		{ "{l: [{k: x, v: 1}, {k: y, v: 2}]}", "{l: [{k: y, v: 3}]}",
		  "{l: [{k: x, v: 1}, {k: y, v: 3}]}" },
		{ "{l: [{k: x}, {k: y}]}", "{l: [{k: n}, {k: x}]}",
		  "{l: [{k: n}, {k: x}, {k: y}]}" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *live = doc(rows[i].live);
		cleanup_json cJSON *config = doc(rows[i].config);
		cleanup_json cJSON *merged = typed_merge(type, live, config);

		same(merged, rows[i].want, rows[i].config);
	}
}

TEST(test_check)
{
	static const struct {
		const char *value;
		bool strict;
		const char *why; /* NULL: it is fine */
	} rows[] = {
		{ "{l: [{k: x}, {k: y}]}", true, NULL },
		{ "{l: [{k: x}, {k: x}]}", false,
		  ".l: duplicate entries for key [k=\"x\"]" },
		{ "{l: [{v: 1}]}", false,
		  ".l: element 0: associative list with keys has an element "
		  "that omits all key fields [\"k\"] (and doesn't have "
		  "default values for any key fields)" },
		{ "{s: [a, a]}", false, ".s: duplicate entries for key [=\"a\"]" },
		{ "{nope: 1}", false, NULL },
		{ "{nope: 1}", true, ".nope: field not declared in schema" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *value = doc(rows[i].value);
		struct error err = { 0 };
		int rc = typed_check(type, value, rows[i].strict, &err);

		assert_int_equal(rc, rows[i].why ? -1 : 0);
		if (rc)
			assert_string_equal(err.msg, rows[i].why);
	}
}

/* ---- apply: each step by a manager, and what is there after it ---- */

static const struct step {
	const char *manager, *config;
	bool force, update;
	const char *want; /* NULL: a conflict */
	const char *conflict;
} steps[] = {
	{ "one", "{a: x, m: {p: '1'}, l: [{k: x, v: 1}]}", false, false,
	  "{a: x, m: {p: '1'}, l: [{k: x, v: 1}]}", NULL },
	{ "two", "{m: {q: '2'}, l: [{k: y, v: 2}]}", false, false,
	  "{a: x, m: {p: '1', q: '2'}, l: [{k: x, v: 1}, {k: y, v: 2}]}", NULL },
	{ "two", "{a: z, m: {q: '2'}, l: [{k: y, v: 2}]}", false, false, NULL,
	  "Apply failed with 1 conflict: conflict with \"one\": .a" },
	{ "two", "{a: z, m: {q: '2'}}", true, false,
	  "{a: z, m: {p: '1', q: '2'}, l: [{k: x, v: 1}]}", NULL },
	{ "one", "{m: {p: '1'}, l: [{k: x, v: 1}]}", false, false,
	  "{a: z, m: {p: '1', q: '2'}, l: [{k: x, v: 1}]}", NULL },
	{ "hand", "{a: u, m: {p: '1', q: '2', r: '3'}, l: [{k: x, v: 1}]}", false, true,
	  "{a: u, m: {p: '1', q: '2', r: '3'}, l: [{k: x, v: 1}]}", NULL },
	{ "one", "{m: {p: '1', r: '4'}}", false, false, NULL,
	  "Apply failed with 1 conflict: conflict with \"hand\" using g/v1: .m.r" },
	{ "one", "{m: {p: '1'}}", false, false, "{a: u, m: {p: '1', q: '2', r: '3'}}",
	  NULL },
	{ "one", "{}", false, false, "{a: u, m: {q: '2', r: '3'}}", NULL },
	{ "two", "{}", false, false, "{a: u, m: {r: '3'}}", NULL },
};

static cJSON *without_meta(const cJSON *obj)
{
	cJSON *copy = json_dup(obj);

	json_del(copy, JSON_PATH("metadata"));
	return copy;
}

static struct manager_of by_manager(const char *manager, bool force, const cJSON *ignored)
{
	return (struct manager_of){ .type = type,
				    .manager = manager,
				    .api_version = "g/v1",
				    .subresource = "",
				    .now = "2026-01-01T00:00:00Z",
				    .force = force,
				    .ignored = ignored };
}

static void take_step(cJSON **live, const struct step *s)
{
	const struct manager_of by = by_manager(s->manager, s->force, NULL);
	cleanup_json cJSON *config = doc(s->config), *causes = NULL, *bare = NULL;
	struct error err = { 0 };
	cJSON *obj = NULL;
	int rc = 0;

	if (s->update)
		managers_update(&by, *live, obj = STEAL(config));
	else
		rc = managers_apply(&by, *live, config, &obj, &causes, &err);
	if (!s->want) {
		assert_int_equal(rc, -1);
		assert_int_equal(err.kind, ERR_CONFLICT);
		assert_string_equal(err.msg, s->conflict);
		assert_int_equal(cJSON_GetArraySize(causes), 1);
		return;
	}
	assert_int_equal(rc, 0);
	bare = without_meta(obj);
	same(bare, s->want, s->config);
	cJSON_Delete(*live);
	*live = obj;
}

/* A stored object, after its first write. */
static cJSON *live_after(const struct step *first)
{
	cJSON *live = cJSON_CreateObject();

	take_step(&live, first);
	json_put_str(live, "u", "metadata", "uid");
	return live;
}

TEST(test_apply)
{
	cleanup_json cJSON *live = cJSON_CreateObject();

	for (size_t i = 0; i < N_ELEMENTS(steps); i++)
		take_step(&live, &steps[i]);
	same(json_get(live, "metadata", "managedFields"),
	     "[{manager: hand, operation: Update, apiVersion: g/v1, time: "
	     "'2026-01-01T00:00:00Z', fieldsType: FieldsV1, fieldsV1: {'f:a': {}, 'f:m': "
	     "{'f:r': {}}}}]",
	     "in the end");
}

/* What an object has that nobody has tracked, somebody set before; not so of a tracked one. */
TEST(test_untracked)
{
	static const struct step conflict = {
		"one",
		"{a: y}",
		false,
		false,
		NULL,
		"Apply failed with 1 conflict: conflict with \"before-first-apply\" "
		"using g/v1: .a"
	};
	static const struct step beside = { "one", "{m: {q: '2'}}",       false,
					    false, "{a: x, m: {q: '2'}}", NULL };
	static const struct step first = {
		"one", "{a: x}", false, false, "{a: x}", NULL
	};
	static const struct step second = { "two", "{m: {q: '2'}}",       false,
					    false, "{a: x, m: {q: '2'}}", NULL };
	cleanup_json cJSON *untracked = doc("{metadata: {uid: u, name: n, namespace: ns, "
					    "generation: 1, resourceVersion: '7', "
					    "labels: {b: c}}, a: x}");
	cleanup_json cJSON *live = live_after(&first);
	const cJSON *fields;

	take_step(&untracked, &conflict);
	take_step(&untracked, &beside);
	same(json_get(untracked, "metadata", "managedFields"),
	     "[{manager: one, operation: Apply, apiVersion: g/v1, time: "
	     "'2026-01-01T00:00:00Z', fieldsType: FieldsV1, fieldsV1: {'f:m': {'f:q': "
	     "{}}}}, {manager: before-first-apply, operation: Update, apiVersion: g/v1, "
	     "time: '2026-01-01T00:00:00Z', fieldsType: FieldsV1, fieldsV1: {'f:a': {}, "
	     "'f:metadata': {'f:labels': {'.': {}, 'f:b': {}}}}}]",
	     "untracked");
	take_step(&live, &second);
	fields = json_get(live, "metadata", "managedFields");
	assert_int_equal(cJSON_GetArraySize(fields), 2);
	assert_string_equal(json_str(cJSON_GetArrayItem(fields, 0), "manager"), "one");
	assert_string_equal(json_str(cJSON_GetArrayItem(fields, 1), "manager"), "two");
}

/* An update takes fields from who set them; who has none left is no manager. */
TEST(test_taken_over)
{
	static const struct step first = { "one", "{a: x}", false, true, "{a: x}", NULL };
	static const struct step second = {
		"two", "{a: y}", false, true, "{a: y}", NULL
	};
	cleanup_json cJSON *live = live_after(&first);

	take_step(&live, &second);
	same(json_get(live, "metadata", "managedFields"),
	     "[{manager: two, operation: Update, apiVersion: g/v1, time: "
	     "'2026-01-01T00:00:00Z', fieldsType: FieldsV1, fieldsV1: {'f:a': {}}}]",
	     "taken over");
}

TEST(test_conflicts)
{
	static const struct step first = { "one", "{a: x, m: {p: '1'}}", false,
					   false, "{a: x, m: {p: '1'}}", NULL };
	static const struct step hand = { "hand", "{a: x, m: {p: '2'}}", false,
					  true,   "{a: x, m: {p: '2'}}", NULL };
	static const struct step forced = { "two", "{a: z, m: {p: '3'}}", true,
					    false, "{a: z, m: {p: '3'}}", NULL };
	const struct manager_of by = by_manager("two", false, NULL);
	cleanup_json cJSON *live = live_after(&first);
	cleanup_json cJSON *config = doc("{a: z, m: {p: '3'}}");
	cleanup_json cJSON *obj = NULL, *causes = NULL;
	struct error err = { 0 };

	take_step(&live, &hand);
	assert_int_equal(managers_apply(&by, live, config, &obj, &causes, &err), -1);
	assert_string_equal(err.msg,
			    "Apply failed with 2 conflicts: conflicts with \"hand\" "
			    "using g/v1:\n- .m.p\nconflicts with \"one\":\n- .a");
	assert_int_equal(cJSON_GetArraySize(causes), 2);
	/* Nobody else has a field left. */
	take_step(&live, &forced);
	same(json_get(live, "metadata", "managedFields"),
	     "[{manager: two, operation: Apply, apiVersion: g/v1, time: "
	     "'2026-01-01T00:00:00Z', fieldsType: FieldsV1, fieldsV1: {'f:a': {}, 'f:m': "
	     "{'f:p': {}}}}]",
	     "forced");
}

/* What an endpoint does not write, it does not make anybody's. */
TEST(test_ignored)
{
	cleanup_json cJSON *ignored = doc("{'f:m': {}}");
	cleanup_json cJSON *live = cJSON_CreateObject();
	cleanup_json cJSON *config = doc("{a: x, m: {p: '1'}}");
	cleanup_json cJSON *obj = NULL, *causes = NULL;
	const struct manager_of by = by_manager("one", false, ignored);
	struct error err = { 0 };

	assert_int_equal(managers_apply(&by, live, config, &obj, &causes, &err), 0);
	same(json_get(cJSON_GetArrayItem(json_get(obj, "metadata", "managedFields"), 0),
		      "fieldsV1"),
	     "{'f:a': {}}", "ignored");
}

/* The same of an update: what it adds, changes and removes there keeps its manager. */
TEST(test_updates_are_ignored_too)
{
	static const struct step first = { "one", "{m: {p: '1'}}", false,
					   true,  "{m: {p: '1'}}", NULL };
	static const struct {
		const char *m;
	} rows[] = { { "{p: '1', q: '2'}" }, { "{p: '3'}" }, { "{}" } };
	cleanup_json cJSON *ignored = doc("{'f:m': {}}");

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const struct manager_of by = by_manager("two", false, ignored);
		cleanup_json cJSON *live = live_after(&first), *obj = json_dup(live);
		const cJSON *left;

		json_put(obj, doc(rows[i].m), "m");
		managers_update(&by, live, obj);
		left = json_get(obj, "metadata", "managedFields");
		assert_int_equal(cJSON_GetArraySize(left), 1);
		assert_string_equal(json_str(left->child, "manager"), "one");
		same(json_get(left->child, "fieldsV1"), "{'f:m': {.: {}, 'f:p': {}}}",
		     rows[i].m);
	}
}

TEST(oldest_updates_are_merged_into_ancient_changes)
{
	cleanup_json cJSON *live = cJSON_CreateObject();
	char name[16], config[64], want[64];
	const cJSON *ancient;

	for (int i = 0; i < 2 * MANAGERS_MAX_UPDATES; i++) {
		cleanup_json cJSON *obj = json_dup(live);
		struct manager_of by = by_manager(name, false, NULL);

		snprintf(name, sizeof(name), "m%02d", i);
		snprintf(config, sizeof(config), "k%d", i);
		snprintf(want, sizeof(want), "%d", i);
		json_put_str(obj, want, "m", config);
		managers_update(&by, live, obj);
		cJSON_Delete(live);
		live = STEAL(obj);
	}
	assert_int_equal(cJSON_GetArraySize(json_get(live, "metadata", "managedFields")),
			 MANAGERS_MAX_UPDATES);
	ancient = json_find_const(json_get(live, "metadata", "managedFields"), "manager",
				  "ancient-changes");
	assert_non_null(ancient);
	assert_string_equal(json_str(ancient, "time"), "2026-01-01T00:00:00Z");
}

/* ---- JSON Patch ---- */

TEST(test_jsonpatch)
{
	static const struct {
		const char *doc, *patch, *want; /* want NULL: refused */
	} rows[] = {
		{ "{a: 1}", "[{op: add, path: /b, value: 2}]", "{a: 1, b: 2}" },
		{ "{a: [1, 3]}", "[{op: add, path: /a/1, value: 2}]", "{a: [1, 2, 3]}" },
		{ "{a: [1]}", "[{op: add, path: /a/-, value: 2}]", "{a: [1, 2]}" },
		{ "{a: [1]}", "[{op: add, path: /a/3, value: 2}]", NULL },
		{ "{a: [1, 2]}", "[{op: remove, path: /a/0}]", "{a: [2]}" },
		{ "{a: 1}", "[{op: remove, path: /b}]", NULL },
		{ "{a: 1}", "[{op: replace, path: /b, value: 1}]", "{a: 1, b: 1}" },
		{ "{a: 1}", "[{op: replace, path: /b/c, value: 1}]", NULL },
		{ "{a: [1]}", "[{op: replace, path: /a/1, value: 2}]", NULL },
		{ "{a: [1]}", "[{op: replace, path: /a/-, value: 2}]", NULL },
		{ "{a: 1}", "[{op: replace, path: /a}]", "{a: null}" },
		{ "{a: [1, 2]}", "[{op: replace, path: /a/0, value: 3}]", "{a: [3, 2]}" },
		{ "{a: 1}", "[{op: replace, path: '', value: {b: 2}}]", "{b: 2}" },
		{ "{a: 1}", "[{op: move, from: /a, path: /b}]", "{b: 1}" },
		{ "{a: {x: 1}}", "[{op: move, from: /a, path: /a/y}]", NULL },
		{ "{a: 1}", "[{op: copy, from: /a, path: /b}]", "{a: 1, b: 1}" },
		{ "{a/b: 1, m~n: 2}",
		  "[{op: remove, path: /a~1b}, {op: test, path: /m~0n, value: 2}]",
		  "{m~n: 2}" },
		{ "{a: 1}", "[{op: test, path: /a, value: 2}]", NULL },
		{ "{a: 1}", "[{op: test, path: /b, value: null}]", "{a: 1}" },
		{ "{a: 1}", "[{op: add, path: /b/c, value: 1}]", NULL },
		{ "{a: 1}", "[{op: add, path: /b}]", "{a: 1, b: null}" },
		{ "{a: 1}", "[{op: add, path: b, value: 1}]", NULL },
		{ "{a: 1}", "[{op: move, path: /b}]", NULL },
		{ "{a: 1}", "[{op: copy, from: a, path: /b}]", NULL },
		{ "{a: 1}", "[{op: move, from: /c, path: /b}]", NULL },
		{ "{a: 1}", "[{op: copy, from: /c, path: /b}]", "{a: 1, b: null}" },
		{ "{a: [1]}", "[{op: copy, from: /a/1, path: /b}]", NULL },
		{ "{a: [1]}", "[{op: remove, path: /a/x}]", NULL },
		{ "{a: [1]}", "[{op: remove, path: /a/1}]", NULL },
		{ "{a: [1]}", "[{op: add, path: /a/1, value: 2}]", "{a: [1, 2]}" },
		{ "{a: 1}", "[{op: remove, path: ''}]", NULL },
		{ "{a: 1}", "[{op: add, path: '', value: {b: 1}}]", NULL },
		{ "{a: 1}", "[{op: copy, from: '', path: /b}]", NULL },
		{ "{a: 1}", "[{op: copy, from: /a, path: ''}]", NULL },
		{ "{a: 1}", "[{op: test, path: '', value: {a: 1}}]", "{a: 1}" },
		{ "{a: [1, 2]}", "[{op: add, path: /a/-1, value: 3}]", "{a: [1, 2, 3]}" },
		{ "{a: [1, 2]}", "[{op: add, path: /a/-3, value: 3}]", "{a: [3, 1, 2]}" },
		{ "{a: [1, 2]}", "[{op: add, path: /a/-4, value: 3}]", NULL },
		{ "{a: [1, 2]}", "[{op: replace, path: /a/-1, value: 3}]",
		  "{a: [1, 3]}" },
		{ "{a: [1, 2]}", "[{op: remove, path: /a/-2}]", "{a: [2]}" },
		{ "{a: [1, 2]}", "[{op: remove, path: /a/-3}]", NULL },
		{ "{a: [1, 2]}", "[{op: test, path: /a/-1, value: 2}]", "{a: [1, 2]}" },
		{ "{a: [{b: 1}]}", "[{op: replace, path: /a/-1/b, value: 2}]",
		  "{a: [{b: 2}]}" },
		{ "{a: [1, 2]}", "[{op: move, from: /a/0, path: /a/-1}]", "{a: [2, 1]}" },
		{ "{a: [1, 2]}", "[{op: remove, path: /a/+01}]", "{a: [1]}" },
		{ "{a: [1, 2]}", "[{op: remove, path: /a/+-1}]", NULL },
		{ "{a: [1, 2]}", "[{op: remove, path: /a/}]", NULL },
		{ "{a: [1]}", "[{op: test, path: /a/-, value: null}]", NULL },
		{ "{a: [1]}", "[{op: test, path: /a/1, value: null}]", NULL },
		{ "{a: 1}", "[{op: test, path: /b, value: 1}]", NULL },
		{ "{a: null}", "[{op: test, path: /a}]", "{a: null}" },
		{ "{a: 1}", "[{op: test, path: /a}]", NULL },
		{ "{'~2': 1}", "[{op: remove, path: /~2}]", "{}" },
		{ "{a: 1}", "[{op: what, path: /a}]", NULL },
		{ "{a: 1}", "[{path: /a}]", NULL },
		{ "{a: 1}", "[1]", NULL },
		{ "{a: 1}", "{}", NULL },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *patch = doc(rows[i].patch);
		cJSON *have = doc(rows[i].doc);
		struct error err = { 0 };
		int rc = jsonpatch_apply(&have, patch, &err);

		if (rc != (rows[i].want ? 0 : -1))
			fail_msg("%s: %s", rows[i].patch, err.msg);
		if (!rc)
			same(have, rows[i].want, rows[i].patch);
		cJSON_Delete(have);
	}
}

/* Each step doubles the document. */
TEST(test_jsonpatch_doubles)
{
	cleanup_json cJSON *obj = cJSON_CreateObject();
	cleanup_json cJSON *patch = cJSON_CreateArray();
	cJSON *list = cJSON_AddArrayToObject(obj, "a");
	struct error err = { 0 };
	char text[4096] = "";

	memset(text, 'x', sizeof(text) - 1);
	cJSON_AddItemToArray(list, cJSON_CreateString(text));
	for (int i = 0; i < 12; i++)
		cJSON_AddItemToArray(patch, doc("{op: copy, from: /a, path: /a/-}"));
	assert_int_equal(jsonpatch_apply(&obj, patch, &err), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
}

TEST(test_jsonpatch_diff)
{
	static const struct {
		const char *before, *after, *ops;
	} rows[] = {
		{ "{}", "{}", "[]" },
		{ "{\"a\":1,\"b\":[1,2]}", "{\"b\":[1,2],\"a\":1.0}", "[]" },
		{ "{}", "{\"a\":{\"b\":1}}",
		  "[{\"op\":\"add\",\"path\":\"/a\",\"value\":{\"b\":1}}]" },
		{ "{\"a\":1,\"b\":2}", "{\"b\":2}",
		  "[{\"op\":\"remove\",\"path\":\"/a\"}]" },
		{ "{\"l\":[{\"t\":null},{}]}", "{\"l\":[{\"t\":\"x\"},{\"t\":\"y\"}]}",
		  "[{\"op\":\"replace\",\"path\":\"/l/0/"
		  "t\",\"value\":\"x\"},{\"op\":\"add\","
		  "\"path\":\"/l/1/t\",\"value\":\"y\"}]" },
		{ "{\"l\":[1]}", "{\"l\":[1,2]}",
		  "[{\"op\":\"replace\",\"path\":\"/l\",\"value\":[1,2]}]" },
		{ "{\"a/b\":{\"~\":1}}", "{\"a/b\":{\"~\":2}}",
		  "[{\"op\":\"replace\",\"path\":\"/a~1b/~0\",\"value\":2}]" },
		{ "{\"a\":1,\"c\":1}", "{\"c\":1,\"d\":1}",
		  "[{\"op\":\"remove\",\"path\":\"/"
		  "a\"},{\"op\":\"add\",\"path\":\"/d\","
		  "\"value\":1}]" },
		{ "1", "2", "[{\"op\":\"replace\",\"path\":\"\",\"value\":2}]" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *before = doc(rows[i].before),
				   *after = doc(rows[i].after);
		cleanup_json cJSON *ops = jsonpatch_diff(before, after);
		cleanup_free char *text = json_text(ops);
		struct error err = { 0 };

		assert_string_equal(text, rows[i].ops);
		if (jsonpatch_apply(&before, ops, &err))
			fail_msg("%s: %s", text, err.msg);
		assert_true(json_equal(before, after));
	}
}

TEST(test_jsonpatch_steps)
{
	for (int n = JSONPATCH_MAX_STEPS; n <= JSONPATCH_MAX_STEPS + 1; n++) {
		cleanup_json cJSON *obj = doc("{a: 1}"), *patch = cJSON_CreateArray();
		cleanup_json cJSON *step = doc("{op: test, path: /a, value: 1}");
		struct error err = { 0 };

		for (int i = 0; i < n; i++)
			cJSON_AddItemToArray(patch, json_dup(step));
		assert_int_equal(jsonpatch_apply(&obj, patch, &err),
				 n > JSONPATCH_MAX_STEPS ? -1 : 0);
		if (n > JSONPATCH_MAX_STEPS)
			assert_string_equal(err.msg,
					    "The allowed maximum operations in a JSON "
					    "patch is 10000, got 10001");
	}
}

/* What a path adds to the depth of a value counts. */
TEST(test_jsonpatch_depth)
{
	for (int deeper = 0; deeper < 2; deeper++) {
		cleanup_json cJSON *obj = doc("{a: {}}"), *patch = cJSON_CreateArray();
		cJSON *step = doc("{op: add}"), *value = cJSON_CreateObject();
		struct error err = { 0 };

		for (int i = 3 - deeper; i < JSON_MAX_DEPTH; i++) {
			cJSON *outer = cJSON_CreateObject();

			cJSON_AddItemToObject(outer, "x", value);
			value = outer;
		}
		json_put_str(step, "/a/b", "path");
		json_put(step, value, "value");
		cJSON_AddItemToArray(patch, step);
		assert_int_equal(jsonpatch_apply(&obj, patch, &err), deeper ? -1 : 0);
		if (deeper)
			assert_int_equal(err.kind, ERR_LIMIT);
	}
}

static void add_line(void *ctx, const char *path)
{
	buf_printf(ctx, "%s\n", path);
}

/* As the API server writes the path of a conflict. */
TEST(test_paths)
{
	cleanup_json cJSON *raw =
		doc("{'f:a': {}, 'f:l': {'k:{\"k\":\"x\",\"n\":1}': {.: {}, 'f:v': {}}, "
		    "'v:\"s\"': {}}, 'f:m': {'i:3': {}}}");
	cleanup_json cJSON *set = fieldset_read(raw);
	cleanup_buf struct buf text = { .max = 4096 };

	fieldset_each(set, add_line, &text);
	assert_string_equal((const char *)text.data, ".a\n"
						     ".l[k=\"x\",n=1]\n"
						     ".l[k=\"x\",n=1].v\n"
						     ".l[=\"s\"]\n"
						     ".m[3]\n");
}

TEST(test_faults)
{
#define ENTRY "operation: Apply, fieldsType: FieldsV1, fieldsV1: {'f:a': {}}"
	static const struct {
		const char *managed, *fault;
	} rows[] = {
		{ "[]", NULL },
		{ "[{manager: m, " ENTRY "}]", NULL },
		{ "[{manager: m, operation: Update}]", NULL },
		{ "{}", "must be a list" },
		{ "[{operation: Delete}]", "operation: must be Apply or Update" },
		{ "[{}]", "operation: must be Apply or Update" },
		{ "[{operation: Apply, fieldsType: FieldsV2}]",
		  "fieldsType: must be FieldsV1" },
		{ "[{operation: Update, fieldsV1: []}]",
		  "fieldsV1: not a set of fields" },
		/* the first of them */
		{ "[{" ENTRY "}, {operation: 1}, {operation: Apply, fieldsType: a}]",
		  "operation: must be Apply or Update" },
	};
	char name[MANAGER_NAME_MAX + 2];

	assert_null(managers_invalid(NULL));
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *list = doc(rows[i].managed);
		const char *fault = managers_invalid(list);

		if (!fault != !rows[i].fault || !str_eq(fault, rows[i].fault))
			fail_msg("%s: %s", rows[i].managed, fault ? fault : "(none)");
	}
	memset(name, 'm', sizeof(name));
	for (size_t len = MANAGER_NAME_MAX; len <= MANAGER_NAME_MAX + 1; len++) {
		cleanup_json cJSON *list = doc("[{" ENTRY "}]");

		name[len] = '\0';
		json_put_str(list->child, name, "manager");
		assert_true(!managers_invalid(list) == (len == MANAGER_NAME_MAX));
		name[len] = 'm';
	}
}

/* A subresource is another manager, and a conflict names it. */
TEST(test_subresources)
{
	struct manager_of status = by_manager("one", false, NULL);
	const struct manager_of two = by_manager("two", false, NULL);
	cleanup_json cJSON *live = cJSON_CreateObject();
	cleanup_json cJSON *obj = doc("{metadata: {uid: u}, a: x}");
	cleanup_json cJSON *config = doc("{a: y}"), *ret = NULL, *causes = NULL;
	struct error err = { 0 };

	status.subresource = "status";
	managers_update(&status, live, obj);
	same(json_get(obj, "metadata", "managedFields"),
	     "[{manager: one, operation: Update, apiVersion: g/v1, time: "
	     "'2026-01-01T00:00:00Z', fieldsType: FieldsV1, fieldsV1: {'f:a': {}}, "
	     "subresource: status}]",
	     "status");
	assert_int_equal(managers_apply(&two, obj, config, &ret, &causes, &err), -1);
	assert_string_equal(err.msg,
			    "Apply failed with 1 conflict: conflict with \"one\" "
			    "with subresource \"status\" using g/v1: .a");
}

/* Who writes an empty list, or one with an empty entry, says: forget who set what. */
TEST(test_forgotten)
{
	static const struct step first = { "one", "{a: x}", false, true, "{a: x}", NULL };
	static const struct {
		const char *written;
		int left;
		const char *manager;
	} rows[] = {
		{ "[]", 0, NULL },
		{ "[{}]", 0, NULL },
		{ "[{manager: other, operation: Update, apiVersion: g/v1, time: "
		  "'2025-01-01T00:00:00Z', fieldsType: FieldsV1, fieldsV1: {'f:a': {}}}]",
		  1, "other" },
		/* wrong ones are not used */
		{ "[{operation: Delete}]", 1, "one" },
		{ "{}", 1, "one" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const struct manager_of by = by_manager("two", false, NULL);
		cleanup_json cJSON *live = live_after(&first), *obj = json_dup(live);
		const cJSON *left;

		json_put(obj, doc(rows[i].written), "metadata", "managedFields");
		managers_update(&by, live, obj);
		left = json_get(obj, "metadata", "managedFields");
		if (cJSON_GetArraySize(left) != rows[i].left)
			fail_msg("%s", rows[i].written);
		if (rows[i].left)
			assert_string_equal(json_str(left->child, "manager"),
					    rows[i].manager);
	}
}

/* A write that changes nothing but who wrote when is none. */
TEST(writes_that_differ_in_time_only_are_the_same)
{
#define BY(manager, time)                                                           \
	"metadata: {resourceVersion: '1', managedFields: [{manager: " manager       \
	", operation: Update, time: '" time "', fieldsV1: {'f:a': {}}}, {manager: " \
	"z, time: '" time "'}]}"
	static const struct {
		const char *a, *b;
		bool same;
	} rows[] = {
		{ "{" BY("one", "1") "}", "{" BY("one", "2") "}", true },
		{ "{" BY("one", "1") "}", "{" BY("two", "1") "}", false },
		{ "{" BY("one", "1") "}", "{" BY("one", "1") ", a: x}", false },
		{ "{metadata: {resourceVersion: '1'}}",
		  "{metadata: {resourceVersion: '2'}}", true },
		{ "{metadata: {name: a}}", "{metadata: {name: b}}", false },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *a = doc(rows[i].a), *b = doc(rows[i].b);

		if (managers_same(a, b) != rows[i].same)
			fail_msg("%s and %s", rows[i].a, rows[i].b);
	}
}

/* What every object has is nobody's, whoever says so. */
TEST(test_fields_of_nobody)
{
	const struct manager_of by = by_manager("one", false, NULL);
	cleanup_json cJSON *live = doc("{a: x}"), *obj = json_dup(live);

	json_put(
		obj,
		doc("[{manager: m, operation: Update, apiVersion: g/v1, time: "
		    "'2026-01-01T00:00:00Z', fieldsType: FieldsV1, fieldsV1: {'f:a': {}, "
		    "'f:apiVersion': {}, 'f:kind': {}, 'f:metadata': {'f:name': {}, "
		    "'f:uid': {}, 'f:labels': {'f:l': {}}}}}]"),
		"metadata", "managedFields");
	managers_update(&by, live, obj);
	same(json_get(obj, "metadata", "managedFields"),
	     "[{manager: m, operation: Update, apiVersion: g/v1, time: "
	     "'2026-01-01T00:00:00Z', fieldsType: FieldsV1, fieldsV1: {'f:a': {}, "
	     "'f:metadata': {'f:labels': {'f:l': {}}}}}]",
	     "nobody's");
}

RUN_TESTS(setup, teardown)
