/* Rules: upstream's KEP-2782; ResourceClaimTemplate is that of resource.k8s.io/v1. */
#include "tests/unit/plugins/build.h"
#include "trainer/claims.h"

#define JOB                                                                          \
	"{trainer: {resourceClaimsPerNode: [{name: gpu, resourceClaimTemplateName: " \
	"t}]}}"
#define TEMPLATE(requests)                                                          \
	"[{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: " \
	"{name: t, namespace: ns}, spec: {spec: {devices: {requests: [" requests    \
	"]}}}}]"

static const char *procs(const cJSON *objects)
{
	const cJSON *env = json_get(container(objects, "node", "node"), "env");

	return json_str(json_find_const(env, "name", "PET_NPROC_PER_NODE"), "value");
}

TEST(test_devices)
{
	static const struct {
		const char *requests, *runtime, *want;
	} rows[] = {
		{ "{name: a, exactly: {deviceClassName: gpu.x, count: 4}}", "tty: false",
		  "4" },
		{ "{name: a, exactly: {deviceClassName: GPU}}", "tty: false", "1" },
		{ "{name: a, exactly: {deviceClassName: nic, count: 4}}", "tty: false",
		  "1" },
		{ "{name: a, exactly: {deviceClassName: gpu, allocationMode: All}}",
		  "tty: false", "1" },
		{ "{name: a, exactly: {deviceClassName: gpu, count: -3}}", "tty: false",
		  "1" },
		{ "{name: a, firstAvailable: [{name: b, deviceClassName: gpu, count: 2}, "
		  "{name: c, deviceClassName: nic, count: 4}]}",
		  "tty: false", "1" },
		{ "{name: a}", "tty: false", "1" },
		{ "", "tty: false", "1" },
		/* one request of the claim only */
		{ "{name: a, exactly: {deviceClassName: gpu, count: 2}}, {name: b, "
		  "exactly: {deviceClassName: gpu, count: 5}}",
		  "resources: {claims: [{name: gpu, request: b}]}", "5" },
		/* GPUs of another kind, which torchrun counts itself */
		{ "{name: a, exactly: {deviceClassName: gpu, count: 2}}",
		  "resources: {limits: {nvidia.com/gpu: 1}}", "auto" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena a = { 0 };
		cleanup_json cJSON *have =
			doc(arena_printf(&a, TEMPLATE("%s"), rows[i].requests));
		cleanup_json cJSON *tj = job(JOB);
		cleanup_json cJSON *rt = runtime(
			arena_printf(&a, RUNTIME("torch: {}", "%s"), rows[i].runtime));
		struct plugin_env env = cluster(have);
		struct error err = { 0 };
		cleanup_json cJSON *o = build_with(&env, tj, rt, &err);

		assert_non_null(o);
		assert_string_equal(procs(o), rows[i].want);
	}
}

/* A client has no cluster to ask: the CPUs count. */
TEST(test_without_a_cluster)
{
	cleanup_json cJSON *o = build(JOB, RUNTIME("torch: {}", PLAIN_NODE));

	assert_string_equal(procs(o), "1");
	assert_doc(json_get(pod(o, "node"), "resourceClaims"),
		   "[{name: gpu, resourceClaimTemplateName: t}]");
	assert_doc(json_get(container(o, "node", "node"), "resources"),
		   "{claims: [{name: gpu}]}");
}

static int broken_get(void *ctx, const struct object_ref *ref, const cJSON **ret,
		      struct error *err)
{
	*ret = NULL;
	if (!str_eq(ref->kind, "ResourceClaimTemplate"))
		return 0;
	return error_set(err, ERR_DENIED, "no right to get it");
}

TEST(test_cluster_does_not_answer)
{
	struct plugin_env env = { .keys = &keys_placeholder, .get = broken_get };
	cleanup_json cJSON *tj = job(JOB);
	cleanup_json cJSON *rt = runtime(RUNTIME("torch: {}", PLAIN_NODE));
	cleanup_free char *said = admission_with(&env, NULL, tj, rt);
	struct error err = { 0 };
	cleanup_json cJSON *o = build_with(&env, tj, rt, &err);

	assert_null(o);
	assert_string_equal(err.msg, "ResourceClaimTemplate t: no right to get it");
	assert_non_null(strstr(said, "ResourceClaimTemplate t: no right to get it"));
}

/* Both jobs of MPI in which processes run. */
TEST(test_mpi)
{
	cleanup_json cJSON *have =
		doc(TEMPLATE("{name: a, exactly: {deviceClassName: gpu, count: 4}}"));
	cleanup_json cJSON *tj = job(JOB);
	cleanup_json cJSON *rt = runtime(
		"{mlPolicy: {numNodes: 2, mpi: {mpiImplementation: OpenMPI, "
		"runLauncherAsNode: true}}, template: {spec: {replicatedJobs: [" RJOB(
			"launcher", TRAINS, ONE("node")) ", " RJOB("node", "",
								   ONE("node")) "]}}}");
	struct plugin_env env = cluster(have);
	struct error err = { 0 };
	cleanup_json cJSON *o = build_with(&env, tj, rt, &err);
	const char *hosts = json_str(object(o, "ConfigMap"), "data", "hostfile");

	assert_non_null(hosts);
	assert_non_null(strstr(hosts, "slots=4"));
	assert_doc(json_get(pod(o, "launcher"), "resourceClaims"),
		   "[{name: gpu, resourceClaimTemplateName: t}]");
	assert_doc(json_get(pod(o, "node"), "resourceClaims"),
		   "[{name: gpu, resourceClaimTemplateName: t}]");
}

/* What was admitted before stays as it is. */
TEST(test_update)
{
	cleanup_json cJSON *tj =
		job("{trainer: {resourcesPerNode: {claims: [{name: a}]}}}");
	cleanup_json cJSON *rt = runtime(RUNTIME("torch: {}", PLAIN_NODE));
	cleanup_free char *created = admission_with(&offline, NULL, tj, rt);
	cleanup_free char *updated = admission_with(&offline, tj, tj, rt);

	assert_non_null(
		strstr(created, "spec.trainer.resourcesPerNode.claims: Forbidden"));
	assert_string_equal(updated, "");
}

/* Of the job itself, or of a patch of the runtime. */
TEST(test_given)
{
#define PATCHED(pod)                                                               \
	"{runtimePatches: [{manager: a/b, trainingRuntimeSpec: {template: {spec: " \
	"{replicatedJobs: [{name: x}, {name: node, template: {spec: {template: "   \
	"{spec: {" pod "}}}}}]}}}}]}"
	static const struct {
		const char *spec;
		bool given;
	} rows[] = {
		{ "{}", false },
		{ JOB, true },
		{ PATCHED("nodeSelector: {a: b}"), false },
		{ PATCHED("resourceClaims: [{name: gpu}]"), true },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *tj = job(rows[i].spec);

		if (claims_given(tj) != rows[i].given)
			fail_msg("%s", rows[i].spec);
	}
}

RUN_TESTS(NULL, NULL)
