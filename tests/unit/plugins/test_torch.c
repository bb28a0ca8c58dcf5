/* Rules: upstream pkg/runtime/framework/plugins/torch; pkg/runtime/runtime.go. */
#include "tests/unit/plugins/build.h"

#define PET(nodes, procs)                                                        \
	"PET_NNODES=" nodes " PET_NPROC_PER_NODE=" procs " PET_NODE_RANK<" INDEX \
	" PET_MASTER_ADDR=tj-node-0-0.tj PET_MASTER_PORT=29500"

TEST(test_env_in_order)
{
	cleanup_json cJSON *o =
		build("{trainer: {numNodes: 3, numProcPerNode: 2, env:"
		      " [{name: B, value: '2'}, {name: A, value: '3'}]}}",
		      RUNTIME("torch: {}", "env: [{name: A, value: '1'},"
					   " {name: PET_NNODES, value: x}]"));
	const cJSON *node = container(o, "node", "node");

	/* what stands keeps its place; the job's come before the policy's */
	assert_env(node, "A=3 PET_NNODES=3 B=2 PET_NPROC_PER_NODE=2 PET_NODE_RANK<" INDEX
			 " PET_MASTER_ADDR=tj-node-0-0.tj PET_MASTER_PORT=29500");
	assert_doc(json_get(node, "ports"), "[{containerPort: 29500}]");
	assert_int_equal(count(o, "node"), 3);
}

TEST(test_nothing_without_trainer)
{
	cleanup_json cJSON *o =
		build("{}", RUNTIME("torch: {}, numNodes: 2", PLAIN_NODE));

	assert_null(json_get(container(o, "node", "node"), "env"));
	assert_null(json_get(container(o, "node", "node"), "ports"));
	assert_int_equal(count(o, "node"), 2);
}

#define MORE_MEMORY "{resourcesPerNode: {limits: {memory: 1Gi}}}"

TEST(test_processes_on_a_node)
{
	static const struct {
		const char *trainer, *node, *want;
	} rows[] = {
		{ "{}", PLAIN_NODE, "1" },
		{ "{}", "resources: {requests: {cpu: 2500m}}", "3" },
		{ "{}", "resources: {requests: {cpu: 700m}}", "1" },
		{ "{}", "resources: {limits: {cpu: 4}}", "4" },
		{ "{}", "resources: {requests: {cpu: 2}, limits: {cpu: 8}}", "2" },
		{ "{}", "resources: {requests: {cpu: 0}, limits: {cpu: 8}}", "8" },
		{ "{}", "resources: {limits: {nvidia.com/gpu: 4}}", "auto" },
		{ "{}", "resources: {limits: {example.com/myGPU: 1}}", "auto" },
		{ "{}", "resources: {limits: {google.com/tpu: 4, cpu: 6}}", "6" },
		{ "{numProcPerNode: 5}", "resources: {limits: {nvidia.com/gpu: 4}}",
		  "5" },
		{ "{resourcesPerNode: {requests: {cpu: 3}}}",
		  "resources: {requests: {cpu: 8}}", "3" },
		{ "{resourcesPerNode: {requests: {nvidia.com/gpu: 2}}}", PLAIN_NODE,
		  "auto" },
		/* Defect 19: upstream counts the job's resources alone. */
		{ MORE_MEMORY, "resources: {limits: {nvidia.com/gpu: 4}}", "auto" },
		{ MORE_MEMORY, "resources: {limits: {amd.com/gpu: 4}}", "auto" },
		{ MORE_MEMORY, "resources: {requests: {cpu: 8}}", "8" },
		{ MORE_MEMORY, "resources: {limits: {nvidia.com/mig-1g.5gb: 2, cpu: 3}}",
		  "3" },
		{ "{resourcesPerNode: {requests: {cpu: 16}}}",
		  "resources: {limits: {nvidia.com/gpu: 4}}", "auto" },
		{ "{resourcesPerNode: {limits: {nvidia.com/gpu: 0}}}",
		  "resources: {limits: {nvidia.com/gpu: 4, cpu: 2}}", "2" },
		{ "{resourcesPerNode: {limits: {nvidia.com/gpu: 2, amd.com/gpu: 0}}}",
		  "resources: {limits: {amd.com/gpu: 4}}", "auto" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena a = { 0 };
		cleanup_json cJSON *o = build(
			arena_printf(&a, "{trainer: %s}", rows[i].trainer),
			arena_printf(&a,
				     "{mlPolicy: {torch: {}}, template: {spec: "
				     "{replicatedJobs: [{name: node, template: {" TRAINS
				     " spec: {template: {spec: {containers: "
				     "[{name: node, %s}]}}}}}]}}}",
				     rows[i].node));
		const cJSON *env = json_get(container(o, "node", "node"), "env");

		assert_string_equal(
			json_str(json_find_const(env, "name", "PET_NPROC_PER_NODE"),
				 "value"),
			rows[i].want);
	}
}

TEST(test_inject_into_other_containers)
{
	const char *rt =
		"{mlPolicy: {torch: {envInjection: {targets: ["
		"{jobName: node, containerNames: [side, init]}, {jobName: eval, "
		"containerNames: [e]}]}}}, template: {spec: {replicatedJobs: [" RJOB(
			"node", TRAINS,
			"initContainers: [{name: init}], containers: [{name: node}, "
			"{name: side}]") ", " RJOB("eval", "", ONE("e")) "]}}}";
	cleanup_json cJSON *o = build("{}", rt);

	assert_env(container(o, "node", "side"), PET("1", "1"));
	assert_env(container(o, "node", "init"), PET("1", "1"));
	assert_env(container(o, "eval", "e"), PET("1", "1"));
	assert_env(container(o, "node", "node"), "");
}

TEST(test_addresses_follow_subdomain_and_job)
{
	cleanup_json cJSON *o = build(
		"{trainer: {}}",
		"{mlPolicy: {torch: {}}, template: {spec: {network: {subdomain: ring}, "
		"replicatedJobs: [" RJOB("worker", TRAINS, ONE("node")) "]}}}");

	assert_env(container(o, "worker", "node"),
		   "PET_NNODES=1 PET_NPROC_PER_NODE=1 PET_NODE_RANK<" INDEX
		   " PET_MASTER_ADDR=tj-worker-0-0.ring PET_MASTER_PORT=29500");
}

/* Upstream takes two ports without a name for one and replaces 8080. */
TEST(test_defect_03_unnamed_ports_stay)
{
	cleanup_json cJSON *o =
		build("{trainer: {}}",
		      RUNTIME("torch: {}",
			      "ports: [{containerPort: 8080}, {containerPort: 9}]"));

	assert_doc(json_get(container(o, "node", "node"), "ports"),
		   "[{containerPort: 8080}, {containerPort: 9}, {containerPort: 29500}]");
}

TEST(test_port_replaces_its_number)
{
	cleanup_json cJSON *o =
		build("{trainer: {}}",
		      RUNTIME("torch: {}", "ports: [{containerPort: 29500, name: x}, "
					   "{containerPort: 1, name: q}]"));

	assert_doc(json_get(container(o, "node", "node"), "ports"),
		   "[{containerPort: 29500}, {containerPort: 1, name: q}]");
}

TEST(test_defect_07_claims_are_kept)
{
	cleanup_json cJSON *o = build(
		"{trainer: {resourcesPerNode: {limits: {cpu: 0.5}, claims: "
		"[{name: b}]}}}",
		RUNTIME("torch: {}", "resources: {limits: {cpu: 2, memory: 1024Mi}, "
				     "claims: [{name: a}]}"));

	/* merged key by key, canonical */
	assert_doc(json_get(container(o, "node", "node"), "resources"),
		   "{limits: {cpu: 500m, memory: 1Gi}, claims: [{name: a}, {name: b}]}");
}

TEST(test_defect_08_env_sources_are_kept)
{
	const char *env = "[{name: F, valueFrom: {fileKeyRef: {volumeName: v, path: p, "
			  "key: k}}}, {name: P, valueFrom: {fieldRef: {apiVersion: v2, "
			  "fieldPath: metadata.name}}}, {name: R, valueFrom: "
			  "{resourceFieldRef: {resource: limits.cpu, divisor: '1'}}}]";
	cleanup_arena struct arena a = { 0 };
	cleanup_json cJSON *o = build(arena_printf(&a, "{trainer: {env: %s}}", env),
				      "{template: {spec: {replicatedJobs: [" RJOB(
					      "node", TRAINS, ONE("node")) "]}}}");

	assert_doc(json_get(container(o, "node", "node"), "env"), env);
}

TEST(test_env_without_the_default_version)
{
	cleanup_json cJSON *o =
		build("{trainer: {env: [{name: P, value: x, valueFrom: {fieldRef: "
		      "{apiVersion: v1, fieldPath: metadata.name}}}, {name: E}]}}",
		      "{template: {spec: {replicatedJobs: [" RJOB("node", TRAINS,
								  ONE("node")) "]}}}");

	assert_doc(json_get(container(o, "node", "node"), "env"),
		   "[{name: P, valueFrom: {fieldRef: {fieldPath: metadata.name}}}, "
		   "{name: E, value: ''}]");
}

TEST(test_reserved_env_is_refused)
{
	assert_errors("{trainer: {env: [{name: PET_NODE_RANK}, {name: OK}, "
		      "{name: PET_MASTER_ADDR}]}}",
		      RUNTIME("torch: {}", PLAIN_NODE),
		      ERRORS("spec.trainer.env: Invalid value: "
			     "|: PET_MASTER_ADDR, PET_NODE_RANK"));
	assert_errors("{trainer: {env: [{name: PET_NODE_RANK}]}}",
		      RUNTIME("jax: {}", PLAIN_NODE), NO_ERRORS);
}

/* Upstream says of an unknown job that its container is not found. */
TEST(test_correction_08_unknown_job_is_named)
{
#define TARGET(j, c)                                                                    \
	RUNTIME("torch: {envInjection: {targets: [{jobName: " j ", containerNames: [" c \
		"]}]}}",                                                                \
		PLAIN_NODE)
	assert_errors("{}", TARGET("nope", "x"),
		      ERRORS("spec.runtimeRef: Invalid value: |has no job \"nope\""));
	assert_errors("{}", TARGET("node", "x"),
		      ERRORS("spec.runtimeRef: Invalid value: |no container \"x\""));
	assert_build_fails("{}", TARGET("nope", "x"), "has no job \"nope\"");
}

RUN_TESTS(NULL, NULL)
