/* Rules: k8s.io/component-helpers/resource (PodRequests), KEP-753, KEP-2837. */
#include "tests/unit/trainer/yaml_doc.h"
#include "trainer/requests.h"

static void assert_requests(const char *pod, int64_t factor, const char *want)
{
	cleanup_resource_list struct resource_list sum = { 0 };
	cleanup_json cJSON *spec = doc(pod), *have = NULL;
	struct error err = { 0 };

	if (pod_requests_add(&sum, spec, factor, &err))
		fail_msg("%s: %s", pod, err.msg);
	have = resource_list_json(&sum);
	assert_doc(have, want);
}

#define C(r)       "{name: c, resources: {requests: " r "}}"
#define SIDECAR(r) "{name: s, restartPolicy: Always, resources: {requests: " r "}}"

TEST(test_pods)
{
	static const struct {
		const char *pod, *want;
	} rows[] = {
		{ "{}", "{}" },
		{ "{containers: [{name: a}]}", "{}" },
		/* containers run together */
		{ "{containers: [" C("{cpu: 1, memory: 1Gi}") ", " C("{cpu: 500m}") "]}",
		  "{cpu: 1500m, memory: 1Gi}" },
		/* init containers one after another */
		{ "{initContainers: [" C("{cpu: 3}") ", " C(
			  "{cpu: 2}") "], containers: [" C("{cpu: 1}") "]}",
		  "{cpu: '3'}" },
		{ "{initContainers: [" C("{cpu: 1}") "], containers: [" C(
			  "{cpu: 2}") "]}",
		  "{cpu: '2'}" },
		/* a sidecar runs beside all that come after it */
		{ "{initContainers: [" SIDECAR("{cpu: 1}") "], containers: [" C(
			  "{cpu: 2}") "]}",
		  "{cpu: '3'}" },
		{ "{initContainers: [" SIDECAR("{cpu: 1}") ", " C(
			  "{cpu: 4}") "], containers: [" C("{cpu: 2}") "]}",
		  "{cpu: '5'}" },
		{ "{initContainers: [" C("{cpu: 4}") ", " SIDECAR(
			  "{cpu: 1}") "], containers: [" C("{cpu: 2}") "]}",
		  "{cpu: '4'}" },
		{ "{initContainers: [" SIDECAR("{cpu: 1}") ", " SIDECAR("{cpu: 3}") "]}",
		  "{cpu: '4'}" },
		/* of the whole pod, for what may be said of it */
		{ "{containers: [" C(
			  "{cpu: 1, a.b/c: 1}") "], resources: {requests: {cpu: 7, "
						"hugepages-2Mi: 2Mi, a.b/c: 9}}}",
		  "{cpu: '7', a.b/c: '1', hugepages-2Mi: 2Mi}" },
		/* a limit of the pod is its request where the containers ask for nothing */
		{ "{containers: [" C("{cpu: 1}") "], resources: {limits: {cpu: 7, "
						 "memory: 1Gi}}}",
		  "{cpu: '1', memory: 1Gi}" },
		{ "{containers: [" C(
			  "{cpu: 1}") "], overhead: {cpu: 250m, memory: 120Mi}}",
		  "{cpu: 1250m, memory: 120Mi}" },
		/* a limit alone is the request */
		{ "{containers: [{name: c, resources: {limits: {cpu: 2, memory: 1Gi}, "
		  "requests: {cpu: 1}}}]}",
		  "{cpu: '1', memory: 1Gi}" },
		/* the format of the first stays; numbers are quantities too */
		{ "{containers: [" C("{memory: 1Gi}") ", " C("{memory: 1048576}") "]}",
		  "{memory: 1025Mi}" },
		{ "{containers: [" C("{nvidia.com/gpu: 2.0}") "]}",
		  "{nvidia.com/gpu: '2'}" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		assert_requests(rows[i].pod, 1, rows[i].want);
	assert_requests("{containers: [" C("{cpu: 1500m, memory: '128974848'}") "]}", 2,
			"{cpu: '3', memory: '257949696'}");
	assert_requests("{containers: [" C("{cpu: 1}") "]}", 0, "{cpu: '0'}");
}

TEST(test_a_bad_quantity_is_named)
{
	static const struct {
		const char *pod, *message;
	} rows[] = {
		{ "{containers: [" C("{cpu: lots}") "]}", "container c: cpu: " },
		{ "{containers: [{name: c, resources: {limits: {cpu: lots}}}]}",
		  "container c: cpu: " },
		{ "{initContainers: [" C("{cpu: lots}") "]}", "init container c: cpu: " },
		{ "{resources: {requests: {cpu: lots}}}", "cpu: " },
		{ "{resources: {limits: {cpu: lots}}}", "cpu: " },
		{ "{overhead: {cpu: lots}}", "overhead: cpu: " },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_resource_list struct resource_list sum = { 0 };
		cleanup_json cJSON *spec = doc(rows[i].pod);
		struct error err = { 0 };

		assert_int_equal(pod_requests_add(&sum, spec, 1, &err), -1);
		if (!str_starts(err.msg, rows[i].message))
			fail_msg("%s: %s", rows[i].pod, err.msg);
	}
}

TEST(test_gpus)
{
	static const struct {
		const char *resources;
		int64_t want;
	} rows[] = {
		{ "{}", 0 },
		{ "{requests: {nvidia.com/gpu: 2}, limits: {nvidia.com/gpu: 4}}", 2 },
		{ "{requests: {cpu: 2}, limits: {nvidia.com/gpu: 4}}", 4 },
		{ "{requests: {nvidia.com/gpu: 0}, limits: {nvidia.com/gpu: 4}}", 4 },
		{ "{limits: {nvidia.com/mig-1g.5gb: 4}}", 0 },
		{ "{limits: {google.com/tpu: 4}}", 0 },
		{ "{limits: {Vendor.com/MyGpu: 3}}", 3 },
		/* several: the one that is called gpu, whatever the order */
		{ "{limits: {nvidia.com/gpumem: 80, nvidia.com/gpu: 2}}", 2 },
		{ "{limits: {nvidia.com/gpu: 2, nvidia.com/gpucores: 30}}", 2 },
		{ "{limits: {b.com/gpu: 1, a.com/gpu: 5}}", 5 },
		{ "{limits: {a.com/gpu: 5, b.com/gpu: 1}}", 5 },
		{ "{limits: {nvidia.com/gpu: many}}", 0 },
		/* none of those: another kind */
		{ "{limits: {amd.com/gpu: 0, nvidia.com/gpu: 8}}", 8 },
		{ "{limits: {volcano.sh/vgpu-cores: 50, volcano.sh/vgpu-memory: 3000, "
		  "volcano.sh/vgpu-number: 2}}",
		  2 },
		{ "{limits: {gpu.intel.com/memory.max: 10Gi, gpu.intel.com/xe: 2}}", 2 },
		{ "{limits: {aliyun.com/gpu-mem: 3}}", 3 },
	};

	assert_int_equal(resources_gpus(NULL), 0);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *r = doc(rows[i].resources);

		assert_int_equal(resources_gpus(r), rows[i].want);
	}
}

TEST(test_merge)
{
	cleanup_json cJSON *c =
		doc("{name: c, resources: {limits: {cpu: '2', memory: 4Gi}}}");
	cleanup_json cJSON *from =
		doc("{limits: {cpu: 4, example.com/fpga: 1}, requests: "
		    "{memory: 3072Mi, cpu: '0.5'}}");
	struct error err = { 0 };

	assert_int_equal(resources_merge(c, from, &err), 0);
	assert_doc(json_get(c, "resources"),
		   "{limits: {cpu: '4', memory: 4Gi, example.com/fpga: '1'}, requests: "
		   "{memory: 3Gi, cpu: 500m}}");
}

TEST(test_a_merge_that_fails)
{
	static const char *const rows[] = { "{limits: {cpu: many}}",
					    "{requests: {cpu: many}}" };

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *c = doc("{name: c}"), *from = doc(rows[i]);
		struct error err = { 0 };

		assert_int_equal(resources_merge(c, from, &err), -1);
		if (!strstr(err.msg, i ? "requests.cpu: " : "limits.cpu: "))
			fail_msg("%s", err.msg);
	}
}

/* Nothing is taken where nothing is said, as the API server has it. */
TEST(test_a_merge_of_null)
{
	cleanup_json cJSON *c = doc("{name: c, resources: {limits: {cpu: '2'}}}");
	cleanup_json cJSON *from = doc("{limits: {cpu: null}}");
	struct error err = { 0 };

	assert_int_equal(resources_merge(c, from, &err), 0);
	assert_doc(json_get(c, "resources"), "{limits: {cpu: '2'}}");
}

RUN_TESTS(NULL, NULL)
