#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/event.h"
#include "api/kinds.h"
#include "api/meta.h"
#include "base/cleanup.h"

static cJSON *doc(const char *text)
{
	struct error err = { 0 };
	cJSON *ret = NULL;

	assert_int_equal(json_parse(&ret, text, strlen(text), &err), 0);
	return ret;
}

static void test_groups(void **state)
{
	cleanup_arena struct arena arena = { 0 };

	(void)state;
	assert_string_equal(api_group(&arena, "apps/v1"), "apps");
	assert_string_equal(api_group(&arena, "v1"), "");
	assert_string_equal(api_group(&arena, NULL), "");
}

static void test_kinds(void **state)
{
	static const struct {
		const char *doc, *group, *kind;
		bool is;
	} rows[] = {
		{ "{\"apiVersion\":\"a.b/v1\",\"kind\":\"K\"}", "a.b", "K", true },
		{ "{\"apiVersion\":\"a.b/v2\",\"kind\":\"K\"}", "a.b", "K", true },
		{ "{\"apiVersion\":\"a.bc/v1\",\"kind\":\"K\"}", "a.b", "K", false },
		{ "{\"apiVersion\":\"a.b/v1\",\"kind\":\"L\"}", "a.b", "K", false },
		{ "{\"apiVersion\":\"v1\",\"kind\":\"Pod\"}", "", "Pod", true },
		{ "{\"apiVersion\":\"a/v1\",\"kind\":\"Pod\"}", "", "Pod", false },
		{ "{\"kind\":\"K\"}", "a.b", "K", false },
		{ "{\"apiVersion\":7,\"kind\":\"K\"}", "a.b", "K", false },
		{ "{\"apiVersion\":\"a.b/v1\"}", "a.b", "K", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		cleanup_json cJSON *obj = doc(rows[i].doc);

		assert_true(meta_is(obj, rows[i].group, rows[i].kind) == rows[i].is);
	}
}

static void test_new_and_owner(void **state)
{
	cleanup_json cJSON *tj =
		meta_new("trainer.kubeflow.org/v1alpha1", "TrainJob", "ns", "tj");
	cleanup_json cJSON *cm = meta_new("v1", "ConfigMap", NULL, "cm");
	const cJSON *ref;

	(void)state;
	assert_string_equal(meta_namespace(tj), "ns");
	assert_null(meta_namespace(cm));
	assert_null(meta_label(cm, "a/b"));
	meta_set_owner(cm, tj); /* not stored yet: no uid, no reference */
	assert_null(json_get(cm, "metadata", "ownerReferences"));
	json_put_str(tj, "u-1", "metadata", "uid");
	meta_set_owner(cm, tj);
	meta_set_owner(cm, tj); /* once is enough */
	ref = json_get((const cJSON *)cm, "metadata", "ownerReferences")->child;
	assert_null(ref->next);
	assert_string_equal(json_str(ref, "kind"), "TrainJob");
	assert_string_equal(json_str(ref, "name"), "tj");
	assert_string_equal(json_str(ref, "uid"), "u-1");
	assert_true(json_bool(ref, false, "controller"));
	assert_true(json_bool(ref, false, "blockOwnerDeletion"));
}

static void test_overlay(void **state)
{
	cleanup_json cJSON *onto = doc("{\"a\":\"1\",\"b\":\"2\"}");
	cleanup_json cJSON *map = doc("{\"b\":\"3\",\"c\":\"4\"}");
	cleanup_json cJSON *want = doc("{\"a\":\"1\",\"b\":\"3\",\"c\":\"4\"}");

	(void)state;
	meta_overlay(onto, map);
	meta_overlay(onto, NULL);
	assert_true(json_equal(onto, want));
}

/* What the controller keeps of objects that it only counts. */
static void test_digest(void **state)
{
	cleanup_json cJSON *obj = doc(
		"{\"kind\":\"K\",\"metadata\":{\"labels\":{\"a\":\"b\"},\"name\":\"n\","
		"\"namespace\":\"ns\",\"uid\":\"u\",\"managedFields\":[{}],"
		"\"resourceVersion\":\"7\",\"generation\":2,\"deletionTimestamp\":\"t\","
		"\"ownerReferences\":[{\"uid\":\"o\"}]},\"spec\":{}}");
	cleanup_free char *text = NULL;

	(void)state;
	meta_digest(obj);
	text = json_text(json_get(obj, "metadata"));
	assert_string_equal(
		text,
		"{\"name\":\"n\",\"namespace\":\"ns\",\"uid\":\"u\",\"resourceVersion"
		"\":\"7\",\"generation\":2,\"deletionTimestamp\":\"t\","
		"\"ownerReferences\":[{\"uid\":\"o\"}]}");
	assert_non_null(json_get(obj, "spec"));
}

static void test_scopes(void **state)
{
	static const struct {
		const char *api_version, *kind;
		bool namespaced;
	} rows[] = {
		{ "v1", "Pod", true },
		{ "v1", "Namespace", false },
		{ "v1", "PersistentVolumeClaim", true },
		{ "v1", "Node", false },
		{ "rbac.authorization.k8s.io/v1", "Role", true },
		{ "rbac.authorization.k8s.io/v1", "RoleBinding", true },
		{ "rbac.authorization.k8s.io/v1", "ClusterRole", false },
		{ "rbac.authorization.k8s.io/v1", "ClusterRoleBinding", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct kind *k = kind_find(rows[i].api_version, rows[i].kind);

		if (!k || k->namespaced != rows[i].namespaced)
			fail_msg("%s", rows[i].kind);
	}
}

/* Nothing but the version differs in the metadata. */
static void test_same(void **state)
{
	static const struct {
		const char *a, *b;
		bool same;
	} rows[] = {
		{ "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"1\"}}",
		  "{\"metadata\":{\"resourceVersion\":\"2\",\"name\":\"a\"}}", true },
		{ "{\"metadata\":{\"name\":\"a\"}}", "{\"metadata\":{\"name\":\"b\"}}",
		  false },
		{ "{\"metadata\":{\"name\":\"a\"}}",
		  "{\"metadata\":{\"name\":\"a\",\"uid\":\"u\"}}", false },
		{ "{}", "{}", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		cleanup_json cJSON *a = doc(rows[i].a), *b = doc(rows[i].b);

		assert_true(meta_is_same(a, b) == rows[i].same);
		assert_true(meta_is_same(b, a) == rows[i].same);
	}
}

static void test_an_event(void **state)
{
	cleanup_json cJSON *about =
		doc("{\"apiVersion\":\"a/v1\",\"kind\":\"K\",\"metadata\":{"
		    "\"name\":\"n\",\"namespace\":\"ns\",\"uid\":\"u\"}}");
	cleanup_json cJSON *want =
		doc("{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"metadata\":{\"name\":"
		    "\"\",\"namespace\":"
		    "\"ns\"},\"involvedObject\":{\"kind\":\"K\",\"namespace\":\"ns\","
		    "\"name\":\"n\",\"uid\":"
		    "\"u\",\"apiVersion\":\"a/"
		    "v1\"},\"reason\":\"R\",\"message\":\"m\",\"type\":\"Warning\","
		    "\"source\":{\"component\":\"c\"},\"reportingComponent\":\"c\"}");
	cleanup_json cJSON *have = event_new(about, "c", true, "R", "m");

	(void)state;
	assert_true(json_equal(have, want));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_digest),        cmocka_unit_test(test_scopes),
		cmocka_unit_test(test_groups),        cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_new_and_owner), cmocka_unit_test(test_overlay),
		cmocka_unit_test(test_an_event),      cmocka_unit_test(test_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
