/* What is kept of a JobSet: trainer/jobset.h. */
#include "tests/unit/trainer/yaml_doc.h"
#include "trainer/jobset.h"

#define META                                                                            \
	"metadata: {name: j, namespace: ns, uid: u, resourceVersion: '7', generation: " \
	"2, "                                                                           \
	"labels: {a: b}, annotations: {c: d}"

/* One just written looks as the watch will show it, with the status of before. */
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

static void test_counts(void **state)
{
	static const struct {
		const char *jobset;
		bool has_status, active;
		int64_t restarts;
	} rows[] = {
		{ "{}", false, false, 0 },
		{ "{status: {}}", false, false, 0 },
		{ "{status: {restarts: 2}}", true, false, 2 },
		{ "{status: {replicatedJobsStatus: [{name: a, active: 0, ready: 1}]}}",
		  true, false, 0 },
		{ "{status: {replicatedJobsStatus: [{name: a}, {name: b, active: 1}]}}",
		  true, true, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		cleanup_json cJSON *jobset = doc(rows[i].jobset);

		assert_true(jobset_has_status(jobset) == rows[i].has_status);
		assert_true(jobset_is_active(jobset) == rows[i].active);
		assert_int_equal(jobset_restarts(jobset), rows[i].restarts);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_written),
		cmocka_unit_test(test_counts),
	};

	return cmocka_run_group_tests_name("jobset", tests, NULL, NULL);
}
