#include "api/event.h"
#include "api/kinds.h"
#include "api/meta.h"
#include "base/cleanup.h"
#include "tests/unit/unit.h"

static cJSON *doc(const char *text)
{
	struct error err = { 0 };
	cJSON *ret = NULL;

	assert_int_equal(json_parse(&ret, text, strlen(text), &err), 0);
	return ret;
}

TEST(test_groups)
{
	cleanup_arena struct arena arena = { 0 };

	assert_string_equal(api_group(&arena, "apps/v1"), "apps");
	assert_string_equal(api_group(&arena, "v1"), "");
	assert_string_equal(api_group(&arena, NULL), "");
}

TEST(test_kinds)
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

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *obj = doc(rows[i].doc);

		assert_true(meta_is(obj, rows[i].group, rows[i].kind) == rows[i].is);
	}
}

TEST(test_new_and_owner)
{
	cleanup_json cJSON *tj =
		meta_new("trainer.kubeflow.org/v1alpha1", "TrainJob", "ns", "tj");
	cleanup_json cJSON *cm = meta_new("v1", "ConfigMap", NULL, "cm");
	const cJSON *ref;

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
	meta_set_uid(tj, "u-2");
	assert_string_equal(meta_uid(tj), "u-2");
	meta_set_uid(tj, NULL);
	assert_null(meta_uid(tj));
}

TEST(test_overlay)
{
	cleanup_json cJSON *onto = doc("{\"a\":\"1\",\"b\":\"2\"}");
	cleanup_json cJSON *map = doc("{\"b\":\"3\",\"c\":\"4\"}");
	cleanup_json cJSON *want = doc("{\"a\":\"1\",\"b\":\"3\",\"c\":\"4\"}");

	meta_overlay(onto, map);
	meta_overlay(onto, NULL);
	assert_true(json_equal(onto, want));
}

/* What the controller keeps of objects that it only counts. */
TEST(test_digest)
{
	cleanup_json cJSON *obj = doc(
		"{\"kind\":\"K\",\"metadata\":{\"labels\":{\"a\":\"b\"},\"name\":\"n\","
		"\"namespace\":\"ns\",\"uid\":\"u\",\"managedFields\":[{}],"
		"\"resourceVersion\":\"7\",\"generation\":2,\"deletionTimestamp\":\"t\","
		"\"ownerReferences\":[{\"uid\":\"o\"}]},\"spec\":{}}");
	cleanup_free char *text = NULL;

	meta_digest(obj);
	text = json_text(json_get(obj, "metadata"));
	assert_string_equal(
		text,
		"{\"name\":\"n\",\"namespace\":\"ns\",\"uid\":\"u\",\"resourceVersion"
		"\":\"7\",\"generation\":2,\"deletionTimestamp\":\"t\","
		"\"ownerReferences\":[{\"uid\":\"o\"}]}");
	assert_non_null(json_get(obj, "spec"));
}

/* As `kubectl api-resources` shows them. */
TEST(test_resources)
{
	static const struct {
		const char *api_version, *kind, *plural;
		bool namespaced;
	} rows[] = {
		{ "v1", "Pod", "pods", true },
		{ "v1", "Namespace", "namespaces", false },
		{ "v1", "PersistentVolumeClaim", "persistentvolumeclaims", true },
		{ "v1", "Node", "nodes", false },
		{ "v1", "ConfigMap", "configmaps", true },
		{ "v1", "Event", "events", true },
		{ "v1", "LimitRange", "limitranges", true },
		{ "v1", "Secret", "secrets", true },
		{ "v1", "Service", "services", true },
		{ "v1", "ServiceAccount", "serviceaccounts", true },
		{ "apps/v1", "Deployment", "deployments", true },
		{ "batch/v1", "Job", "jobs", true },
		{ "coordination.k8s.io/v1", "Lease", "leases", true },
		{ "discovery.k8s.io/v1", "EndpointSlice", "endpointslices", true },
		{ "networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", true },
		{ "node.k8s.io/v1", "RuntimeClass", "runtimeclasses", false },
		{ "policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", true },
		{ "resource.k8s.io/v1", "ResourceClaimTemplate", "resourceclaimtemplates",
		  true },
		{ "scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", false },
		{ "rbac.authorization.k8s.io/v1", "Role", "roles", true },
		{ "rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings", true },
		{ "rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", false },
		{ "rbac.authorization.k8s.io/v1", "ClusterRoleBinding",
		  "clusterrolebindings", false },
		{ "admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration",
		  "mutatingwebhookconfigurations", false },
		{ "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration",
		  "validatingwebhookconfigurations", false },
		{ "apiextensions.k8s.io/v1", "CustomResourceDefinition",
		  "customresourcedefinitions", false },
		{ "authentication.k8s.io/v1", "TokenReview", "tokenreviews", false },
		{ "authentication.k8s.io/v1", "SelfSubjectReview", "selfsubjectreviews",
		  false },
		{ "authorization.k8s.io/v1", "SubjectAccessReview",
		  "subjectaccessreviews", false },
		{ "authorization.k8s.io/v1", "SelfSubjectAccessReview",
		  "selfsubjectaccessreviews", false },
		{ "trainer.kubeflow.org/v1alpha1", "TrainJob", "trainjobs", true },
		{ "trainer.kubeflow.org/v1alpha1", "TrainingRuntime", "trainingruntimes",
		  true },
		{ "trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime",
		  "clustertrainingruntimes", false },
		{ "jobset.x-k8s.io/v1alpha2", "JobSet", "jobsets", true },
		{ "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "leaderworkersets",
		  true },
		{ "scheduling.x-k8s.io/v1alpha1", "PodGroup", "podgroups", true },
		{ "scheduling.volcano.sh/v1beta1", "PodGroup", "podgroups", true },
	};

	assert_null(kind_find("v1", "Deployment"));
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const struct kind *k = kind_find(rows[i].api_version, rows[i].kind);

		if (!k || k->namespaced != rows[i].namespaced)
			fail_msg("%s", rows[i].kind);
		assert_string_equal(k->plural, rows[i].plural);
	}
}

TEST(test_names_of_a_list)
{
	cleanup_json cJSON *list = doc("[{\"metadata\":{\"name\":\"a\"}},{},"
				       "{\"metadata\":{\"name\":\"b\"}}]");
	cleanup_arena struct arena arena = { 0 };
	const char **names = meta_names(&arena, list);

	assert_string_equal(names[0], "a");
	assert_string_equal(names[1], "b");
	assert_null(names[2]);
	assert_null(meta_names(&arena, NULL)[0]);
}

TEST(test_version_numbers)
{
	static const struct {
		const char *version;
		uint64_t number;
	} rows[] = { { "7", 7 },
		     { "0", 0 },
		     { "9223372036854775807", INT64_MAX },
		     { "9223372036854775808", 0 },
		     { "-1", 0 },
		     { "7a", 0 },
		     { "", 0 } };
	cleanup_json cJSON *none = doc("{}");

	assert_int_equal(meta_version_number(none), 0);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *obj = doc("{}");

		json_put_str(obj, rows[i].version, "metadata", "resourceVersion");
		if (meta_version_number(obj) != rows[i].number)
			fail_msg("%s", rows[i].version);
	}
}

/* Nothing but the version differs in the metadata. */
TEST(objects_that_differ_in_version_only_are_the_same)
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

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *a = doc(rows[i].a), *b = doc(rows[i].b);

		assert_true(meta_is_same(a, b) == rows[i].same);
		assert_true(meta_is_same(b, a) == rows[i].same);
	}
}

TEST(test_an_event)
{
	cleanup_json cJSON *about =
		doc("{\"apiVersion\":\"a/v1\",\"kind\":\"K\",\"metadata\":{"
		    "\"name\":\"n\",\"namespace\":\"ns\",\"uid\":\"u\"}}");
	cleanup_json cJSON *want = doc(
		"{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"metadata\":{\"name\":\"\",\"namespace\":\"ns\"},\"involvedObject\":{\"kind\":\"K\",\"namespace\":\"ns\",\"name\":\"n\",\"uid\":\"u\",\"apiVersion\":\"a/v1\"},\"reason\":\"R\",\"message\":\"m\",\"type\":\"Warning\",\"source\":{\"component\":\"c\"},\"reportingComponent\":\"c\"}");
	cleanup_json cJSON *have = event_new(about, "c", true, "R", "m");

	assert_true(json_equal(have, want));
}

RUN_TESTS(NULL, NULL)
