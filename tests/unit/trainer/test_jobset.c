/* What is kept of a JobSet: trainer/jobset.h. */
#include "tests/unit/trainer/yaml_doc.h"
#include "trainer/jobset.h"

#define META                                                                            \
	"metadata: {name: j, namespace: ns, uid: u, resourceVersion: '7', generation: " \
	"2, "                                                                           \
	"labels: {a: b}, annotations: {c: d}"

/* One just written looks as the watch will show it: with its own spec.suspend, and the status of before. */
static void test_as_written(void **state)
{
	cleanup_json cJSON *meta = doc("{" META ", managedFields: []}}");
	cleanup_json cJSON *before = doc("{" META "}, spec: {suspend: true}, "
					 "status: {conditions: [{type: Suspended}]}}");

	cleanup_json cJSON *fresh = jobset_as_written(meta, false, NULL);

	(void)state;
	for (int suspend = 0; suspend < 2; suspend++) {
		cleanup_json cJSON *have = jobset_as_written(meta, suspend, before);
		cleanup_json cJSON *watched = doc(
			"{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, " META
			"}, spec: {suspend: false, network: {}}, status: {conditions: "
			"[{type: Suspended}], restarts: 1}}");
		cleanup_free char *want = NULL;

		json_put_bool(watched, suspend, "spec", "suspend");
		jobset_digest(watched);
		assert_doc(have, want = json_text(watched));
	}
	assert_null(json_get(fresh, "status"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_written),
	};

	return cmocka_run_group_tests_name("jobset", tests, NULL, NULL);
}
