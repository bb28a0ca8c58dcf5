#include "trainer/snapshot.h"

#include "tests/unit/base/base_test.h"
#include "tests/unit/trainer/yaml_doc.h"

#define OWNED(uid)                                                                \
	"metadata: {name: tj-runtime-snapshot, namespace: a, ownerReferences: [{" \
	"apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, name: tj, "   \
	"uid: " uid ", controller: true}]}\n"

static cJSON *job(const char *runtime_ref)
{
	cleanup_arena struct arena arena = { 0 };

	return doc(arena_printf(&arena,
				"{apiVersion: trainer.kubeflow.org/v1alpha1, kind: "
				"TrainJob, metadata: {name: tj, namespace: a, uid: u1}, "
				"spec: {runtimeRef: %s}}",
				runtime_ref));
}

#define REF "{name: rt, kind: TrainingRuntime, apiGroup: trainer.kubeflow.org}"

TEST(test_what_is_made_is_read)
{
	cleanup_json cJSON *tj = job(REF);
	cleanup_json cJSON *rt = doc(
		"{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainingRuntime, "
		"metadata: {name: rt, namespace: a, managedFields: [{manager: x}], "
		"annotations: {note: \"yes: 'no'\\nand 0x1F\\n\"}}, spec: {mlPolicy: "
		"{torch: {}}, template: {spec: {replicatedJobs: [{name: node, template: "
		"{spec: {template: {spec: {containers: [{name: node, args: ['1e3', "
		"'null', '~', 'on', ''], resources: {limits: {cpu: 4, memory: 0.5Gi}}}]}}}}}]}}}}");
	cleanup_json cJSON *map = NULL;
	cleanup_json cJSON *back = NULL;
	struct error err = { 0 };
	const cJSON *c;

	assert_int_equal(snapshot_make(&map, tj, rt, &err), 0);
	check_text("name", json_str(map, "metadata", "name"), "tj-runtime-snapshot");
	if (snapshot_read(&back, tj, map, &err))
		fail_msg("%s", err.msg);
	assert_null(json_get(back, "metadata", "managedFields"));
	c = json_get(back, "spec", "template", "spec", "replicatedJobs")->child;
	c = json_get(c, "template", "spec", "template", "spec", "containers")->child;
	check_text("cpu", json_str(c, "resources", "limits", "cpu"), "4");
	check_text("memory", json_str(c, "resources", "limits", "memory"), "512Mi");
	json_del(rt, JSON_PATH("metadata", "managedFields"));
	assert_true(json_equal(json_get(back, "metadata"), json_get(rt, "metadata")));
	assert_true(cJSON_IsObject(json_get(back, "spec", "mlPolicy", "torch")));
	assert_string_equal(json_get(c, "args")->child->next->valuestring, "null");
}

/* As upstream's controller writes them: Go's sigs.k8s.io/yaml of a typed object. */
TEST(test_what_upstream_wrote)
{
	static const char text[] =
		"apiVersion: trainer.kubeflow.org/v1alpha1\n"
		"kind: TrainingRuntime\n"
		"metadata:\n"
		"  annotations:\n"
		"    kubectl.kubernetes.io/last-applied-configuration: |\n"
		"      {\"apiVersion\":\"trainer.kubeflow.org/v1alpha1\"}\n"
		"  creationTimestamp: \"2026-09-01T10:00:00Z\"\n"
		"  managedFields:\n"
		"  - apiVersion: trainer.kubeflow.org/v1alpha1\n"
		"    fieldsType: FieldsV1\n"
		"    fieldsV1:\n"
		"      f:metadata:\n"
		"        f:annotations:\n"
		"          .: {}\n"
		"      f:spec:\n"
		"        f:template:\n"
		"          f:spec:\n"
		"            f:replicatedJobs:\n"
		"              .: {}\n"
		"              k:{\"name\":\"node\"}:\n"
		"                .: {}\n"
		"    manager: kubectl\n"
		"  name: rt\n"
		"  namespace: a\n"
		"  resourceVersion: \"1234\"\n"
		"spec:\n"
		"  mlPolicy:\n"
		"    torch: {}\n"
		"  template:\n"
		"    metadata: {}\n"
		"    spec:\n"
		"      replicatedJobs:\n"
		"      - name: node\n"
		"        template:\n"
		"          metadata:\n"
		"            creationTimestamp: null\n"
		"          spec:\n"
		"            template:\n"
		"              metadata:\n"
		"                creationTimestamp: null\n"
		"              spec:\n"
		"                containers:\n"
		"                - command:\n"
		"                  - bash\n"
		"                  - -c\n"
		"                  - |-\n"
		"                    set -e\n"
		"                    echo \"a: b\" > f\n"
		"                  - \"0123\"\n"
		"                  name: node\n"
		"                  resources:\n"
		"                    limits:\n"
		"                      nvidia.com/gpu: \"4\"\n";
	cleanup_json cJSON *tj = job(REF);
	cleanup_json cJSON *map = doc(OWNED("u1"));
	cleanup_json cJSON *back = NULL;
	struct error err = { 0 };
	const cJSON *c;

	json_put_str(map, text, "data", "runtime");
	if (snapshot_read(&back, tj, map, &err))
		fail_msg("%s", err.msg);
	c = json_get(back, "spec", "template", "spec", "replicatedJobs")->child;
	c = json_get(c, "template", "spec", "template", "spec", "containers")->child;
	c = json_get(c, "command")->child->next->next;
	check_text("block", c->valuestring, "set -e\necho \"a: b\" > f");
	check_text("octal", c->next->valuestring, "0123");
}

TEST(test_what_is_not_its_own)
{
	static const struct {
		const char *ref, *owner, *data, *want;
	} rows[] = {
		{ REF, OWNED("u2"), "kind: TrainingRuntime", "another object" },
		{ REF, "metadata: {name: x}", "kind: TrainingRuntime", "another object" },
		{ REF, OWNED("u1"), NULL, "no data key" },
		{ REF, OWNED("u1"), "a: [", "invalid runtime snapshot: " },
		{ REF, OWNED("u1"), "", "not a single object" },
		{ REF, OWNED("u1"), "- a", "not a single object" },
		{ REF, OWNED("u1"), "a: 1\n---\nb: 2", "not a single object" },
		{ REF, OWNED("u1"), "{kind: TrainingRuntime, metadata: {name: rt}}",
		  "wrong runtime" },
		{ REF, OWNED("u1"),
		  "{apiVersion: trainer.kubeflow.org/v1alpha1, kind: "
		  "ClusterTrainingRuntime, metadata: {name: rt}}",
		  "wrong runtime" },
		{ REF, OWNED("u1"),
		  "{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainingRuntime, "
		  "metadata: {name: other}}",
		  "\"other\"" },
		{ "{name: rt}", OWNED("u1"), "{kind: Any, metadata: {name: rt}}", NULL },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *tj = job(rows[i].ref);
		cleanup_json cJSON *map = doc(rows[i].owner);
		cleanup_json cJSON *back = NULL;
		struct error err = { 0 };

		if (rows[i].data)
			json_put_str(map, rows[i].data, "data", "runtime");
		if (!rows[i].want) {
			assert_int_equal(snapshot_read(&back, tj, map, &err), 0);
			continue;
		}
		assert_int_equal(snapshot_read(&back, tj, map, &err), -1);
		assert_int_equal(!strstr(err.msg, rows[i].want) ? (int)i + 1 : 0, 0);
		assert_null(back);
	}
}

TEST(test_what_does_not_fit)
{
	cleanup_json cJSON *tj = job(REF);
	cleanup_json cJSON *rt = doc("{kind: TrainingRuntime, metadata: {name: rt}}");
	cleanup_json cJSON *map = NULL;
	cleanup_free char *large = calloc(1, 1100000);
	struct error err = { 0 };

	memset(large, 'x', 1099999);
	json_put_str(rt, large, "spec", "large");
	assert_int_equal(snapshot_make(&map, tj, rt, &err), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
}

RUN_TESTS(NULL, NULL)
