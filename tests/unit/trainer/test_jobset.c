/* What is kept of a JobSet: trainer/jobset.h. */
#include "tests/unit/trainer/yaml_doc.h"
#include "trainer/jobset.h"

#define META                                                                            \
	"metadata: {name: j, namespace: ns, uid: u, resourceVersion: '7', generation: " \
	"2, "                                                                           \
	"labels: {a: b}, annotations: {c: d}"

/* One just written looks as the watch will show it, with the status of before. */
TEST(test_as_written)
{
	cleanup_json cJSON *meta = doc("{" META ", managedFields: []}}");
	cleanup_json cJSON *before = doc("{" META "}, spec: {suspend: true}, "
					 "status: {conditions: [{type: Suspended}]}}");
	cleanup_json cJSON *fresh = jobset_as_written(meta, false, NULL);

	for (int suspend = 0; suspend < 2; suspend++) {
		cleanup_json cJSON *have = jobset_as_written(meta, suspend, before);
		cleanup_json cJSON *watched = doc(
			"{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, " META
			"}, spec: {suspend: false, network: {}}, status: {conditions: "
			"[{type: Suspended}], failed: 1}}");
		cleanup_free char *want = NULL;

		json_put_bool(watched, suspend, "spec", "suspend");
		jobset_digest(watched);
		assert_doc(have, want = json_text(watched));
	}
	assert_null(json_get(fresh, "status"));
}

TEST(test_counts)
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

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *jobset = doc(rows[i].jobset);

		assert_true(jobset_has_status(jobset) == rows[i].has_status);
		assert_true(jobset_is_active(jobset) == rows[i].active);
		assert_int_equal(jobset_restarts(jobset), rows[i].restarts);
	}
}

static cJSON *sorted(const char *spec, const char *names)
{
	cleanup_json cJSON *list = doc(names);
	cJSON *ret = doc(spec);

	jobset_sort_jobs(ret, list);
	return ret;
}

/* As in a list of names; those that it lacks come first and keep their order. */
TEST(test_order)
{
	static const struct {
		const char *jobs, *names, *want;
	} rows[] = {
		{ "[{name: a}, {name: b}, {name: c}]", "[c, a, b]",
		  "[{name: c}, {name: a}, {name: b}]" },
		{ "[{name: x}, {name: b}, {name: y}]", "[a, b]",
		  "[{name: x}, {name: y}, {name: b}]" },
		{ "[{name: y}, {name: a}, {name: x}]", "[a, b]",
		  "[{name: y}, {name: a}, {name: x}]" },
		{ "[]", "[a]", "[]" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena arena = { 0 };
		cleanup_json cJSON *have =
			sorted(arena_printf(&arena, "{replicatedJobs: %s}", rows[i].jobs),
			       rows[i].names);
		cleanup_json cJSON *names = NULL, *again = NULL;

		assert_doc(json_get(have, "replicatedJobs"), rows[i].want);
		names = jobset_job_names(have);
		again = json_dup(have);
		jobset_sort_jobs(again, names);
		assert_true(json_equal(again, have));
	}
}

#define RJOB_OF(pod) "{name: a, template: {spec: {template: {spec: {" pod "}}}}}"
#define CLAIMS       "volumeClaimPolicies: [{templates: [{metadata: {name: data}}, {}]}]"

/* KEP-572 of JobSet: a claim is a volume of each pod that mounts it. */
TEST(test_claims)
{
	static const struct {
		const char *pod, *want;
	} rows[] = {
		{ "containers: [{name: c, volumeMounts: [{name: data, mountPath: /d}]}]",
		  "[{name: data, persistentVolumeClaim: {claimName: data-j}}]" },
		{ "initContainers: [{name: c, volumeMounts: [{name: data, mountPath: "
		  "/d}]}], volumes: [{name: other}]",
		  "[{name: other}, {name: data, persistentVolumeClaim: "
		  "{claimName: data-j}}]" },
		{ "containers: [{name: c, volumeMounts: [{name: data, mountPath: /d}]}], "
		  "volumes: [{name: data, emptyDir: {}}]",
		  "[{name: data, emptyDir: {}}]" },
		{ "containers: [{name: c}], volumes: []", "[]" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena arena = { 0 };
		cleanup_json cJSON *jobset =
			doc(arena_printf(&arena,
					 "{metadata: {name: j}, spec: {" CLAIMS
					 ", replicatedJobs: [" RJOB_OF("%s") "]}}",
					 rows[i].pod));
		cJSON *spec;

		jobset_add_claims(jobset);
		spec = rjob_pod_spec(jobset_jobs(json_get(jobset, "spec"))->child);
		assert_doc(json_get(spec, "volumes"), rows[i].want);
	}
}

/* KEP-572; jobset#1304: a policy without retentionPolicy, or without whenDeleted. */
TEST(test_claims_that_go_with_the_jobset)
{
	cleanup_json cJSON *jobset =
		doc("{metadata: {name: j}, spec: {volumeClaimPolicies: ["
		    "{templates: [{metadata: {name: a}}, {}]}, "
		    "{templates: [{metadata: {name: b}}], retentionPolicy: {}}, "
		    "{templates: [{metadata: {name: c}}], "
		    "retentionPolicy: {whenDeleted: Retain}}, "
		    "{templates: [{metadata: {name: d}}], "
		    "retentionPolicy: {whenDeleted: Delete}}]}}");
	cleanup_json cJSON *claims = jobset_own_claims(jobset);
	cleanup_json cJSON *empty = doc("{}");
	cleanup_json cJSON *none = jobset_own_claims(empty);

	assert_doc(claims, "[a-j, b-j, d-j]");
	assert_doc(none, "[]");
}

TEST(test_dropped_placement)
{
	static const struct {
		const char *before, *after;
		bool drops;
	} rows[] = {
		{ "containers: []", "nodeSelector: {a: b}, tolerations: [{key: t}]",
		  false },
		{ "nodeSelector: {a: b}", "nodeSelector: {a: c, d: e}", false },
		{ "nodeSelector: {a: b}", "nodeSelector: {d: e}", true },
		{ "nodeSelector: {a: b}", "containers: []", true },
		{ "tolerations: [{key: t}]", "tolerations: [{key: u}, {key: t}]", false },
		{ "tolerations: [{key: t}]", "tolerations: [{key: u}]", true },
		{ "tolerations: [{key: t, effect: NoExecute, tolerationSeconds: 5}]",
		  "tolerations: [{tolerationSeconds: 5, effect: NoExecute, key: t}]",
		  false },
		{ "tolerations: [{key: t, effect: NoExecute, tolerationSeconds: 5}]",
		  "tolerations: [{key: t, effect: NoExecute, tolerationSeconds: 6}]",
		  true },
		{ "schedulingGates: [{name: g}]", "schedulingGates: []", true },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena arena = { 0 };
		cleanup_json cJSON *before = doc(arena_printf(
			&arena,
			"{spec: {replicatedJobs: [{name: x}, " RJOB_OF("%s") "]}}",
			rows[i].before));
		cleanup_json cJSON *after = doc(arena_printf(
			&arena, "{spec: {replicatedJobs: [" RJOB_OF("%s") "]}}",
			rows[i].after));

		assert_int_equal(jobset_drops_placement(before, after), rows[i].drops);
	}
}

RUN_TESTS(NULL, NULL)
