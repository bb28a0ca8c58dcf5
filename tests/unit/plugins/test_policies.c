/* PlainML, JAX, XGBoost. Rules: upstream pkg/runtime/framework/plugins/{plainml,jax,xgboost}. */
#include "tests/unit/plugins/build.h"

#define JOB_ENV "env: [{name: B, value: '2'}, {name: A, value: '3'}]"

TEST(test_plain_without_policy)
{
	cleanup_json cJSON *o =
		build("{trainer: {numNodes: 3, command: [c], resourcesPerNode: "
		      "{requests: {cpu: 4}}, " JOB_ENV "}}",
		      "{template: {spec: {replicatedJobs: [" RJOB(
			      "node", TRAINS,
			      WITH("node",
				   "env: [{name: A, value: '1'}], args: [x], resources: "
				   "{requests: {cpu: 1}}")) "]}}}");
	const cJSON *node = container(o, "node", "node");

	assert_env(node, "A=3 B=2");
	assert_int_equal(count(o, "node"), 3);
	assert_doc(json_get(node, "command"), "[c]");
	assert_doc(json_get(node, "args"), "[x]");
	/* without mlPolicy resourcesPerNode is not looked at */
	assert_doc(json_get(node, "resources"), "{requests: {cpu: '1'}}");
	assert_null(json_get(node, "ports"));
}

TEST(test_explicit_empty_lists_clear)
{
	cleanup_json cJSON *o = build("{trainer: {command: [], args: []}}",
				      RUNTIME("numNodes: 1", "command: [c], args: [x]"));

	assert_null(json_get(container(o, "node", "node"), "command"));
	assert_null(json_get(container(o, "node", "node"), "args"));
}

TEST(test_jax)
{
	cleanup_json cJSON *o =
		build("{trainer: {numNodes: 2, env: [{name: U, value: u}, "
		      "{name: JAX_NUM_PROCESSES, value: '9'}]}}",
		      RUNTIME("jax: {}", PLAIN_NODE));
	cleanup_json cJSON *none =
		build("{}", RUNTIME("jax: {}, numNodes: 2", PLAIN_NODE));

	/* the job's variables come last and win */
	assert_env(container(o, "node", "node"),
		   "JAX_NUM_PROCESSES=9 JAX_PROCESS_ID<" INDEX
		   " JAX_COORDINATOR_ADDRESS=tj-node-0-0.tj:29500 U=u");
	assert_doc(json_get(container(o, "node", "node"), "ports"),
		   "[{containerPort: 29500}]");
	assert_env(container(none, "node", "node"), "");
	assert_int_equal(count(none, "node"), 2);
}

#define DMLC(n)                                                    \
	"DMLC_TRACKER_URI=tj-node-0-0.tj DMLC_TRACKER_PORT=29500 " \
	"DMLC_TASK_ID<" INDEX " DMLC_NUM_WORKER=" n

TEST(test_xgboost_workers)
{
	static const struct {
		const char *trainer, *want;
	} rows[] = {
		{ "{}", DMLC("1") },
		{ "{numNodes: 3}", DMLC("3") },
		{ "{numNodes: 3, resourcesPerNode: {limits: {nvidia.com/gpu: 2}}}",
		  DMLC("6") },
		{ "{numNodes: 0}", DMLC("0") },
		/* numProcPerNode is not looked at */
		{ "{numNodes: 2, numProcPerNode: 4}", DMLC("2") },
	};
	cleanup_json cJSON *more_memory = NULL;

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena a = { 0 };
		cleanup_json cJSON *o =
			build(arena_printf(&a, "{trainer: %s}", rows[i].trainer),
			      RUNTIME("xgboost: {}", PLAIN_NODE));

		assert_env(container(o, "node", "node"), rows[i].want);
	}
	/* Defect 19: upstream counts the job's resources alone. */
	more_memory =
		build("{trainer: {numNodes: 2, resourcesPerNode: {limits: "
		      "{memory: 1Gi}}}}",
		      RUNTIME("xgboost: {}", "resources: {limits: {nvidia.com/gpu: 4}}"));
	assert_env(container(more_memory, "node", "node"), DMLC("8"));
	assert_build_fails("{trainer: {numNodes: 2000000000, resourcesPerNode: "
			   "{limits: {nvidia.com/gpu: 8E}}}}",
			   RUNTIME("xgboost: {}", PLAIN_NODE),
			   "2000000000 nodes of 8000000000000000000 GPUs have too many "
			   "workers to count");
}

/* With a runtime of this framework. */
static cJSON *build_of(const char *framework, const char *spec, const char *rt_spec)
{
	cleanup_json cJSON *tj = job(spec), *rt = runtime(rt_spec);
	struct error err = { 0 };
	cJSON *ret;

	json_put_str(rt, framework, "metadata", "labels", LABEL_FRAMEWORK);
	ret = build_with(&offline, tj, rt, &err);
	if (!ret)
		fail_msg("%s: %s", rt_spec, err.msg);
	return ret;
}

/* From two pods on there is somebody to find. */
TEST(test_tensorflow_of_two_pods)
{
	cleanup_json cJSON *objects = build_of(
		"tensorflow", "{}",
		"{mlPolicy: {numNodes: 1}, template: {spec: {replicatedJobs: [" RJOB(
			"chief", "", ONE("node")) ", " RJOB("node", TRAINS,
							    ONE("node")) "]}}}");

	assert_non_null(
		json_find_const(json_get(container(objects, "chief", "node"), "env"),
				"name", "TF_CONFIG"));
	assert_non_null(
		json_find_const(json_get(container(objects, "node", "node"), "env"),
				"name", "TF_CONFIG"));
}

/* Upstream draws by lot whether the job's variables stand before or after. */
TEST(test_defect_06_order_is_fixed)
{
	cleanup_free char *first = NULL;

	for (int i = 0; i < 20; i++) {
		cleanup_json cJSON *o = build("{trainer: {" JOB_ENV "}}",
					      RUNTIME("xgboost: {}", PLAIN_NODE));
		char *text = json_text(o);

		assert_env(container(o, "node", "node"), "B=2 A=3 " DMLC("1"));
		if (first)
			assert_string_equal(first, text);
		free(first);
		first = text;
	}
}

TEST(test_xgboost_reserved)
{
	assert_errors("{trainer: {env: [{name: A}, {name: DMLC_TASK_ID}, "
		      "{name: DMLC_NUM_WORKER}]}}",
		      RUNTIME("xgboost: {}", PLAIN_NODE),
		      ERRORS("spec.trainer.env[1]: Forbidden: |DMLC_TASK_ID",
			     "spec.trainer.env[2]: Forbidden: |DMLC_NUM_WORKER"));
}

TEST(test_addresses)
{
#define ELSEWHERE(policy)                                                          \
	"{mlPolicy: {" policy ": {}}, template: {spec: {network: {subdomain: d}, " \
	"replicatedJobs: [" RJOB("w", TRAINS, ONE("node")) "]}}}"
	static const struct {
		const char *runtime, *name, *want;
	} rows[] = {
		{ ELSEWHERE("jax"), "JAX_COORDINATOR_ADDRESS", "tj-w-0-0.d:29500" },
		{ ELSEWHERE("xgboost"), "DMLC_TRACKER_URI", "tj-w-0-0.d" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *o = build("{trainer: {}}", rows[i].runtime);

		assert_string_equal(
			json_str(json_find_const(
					 json_get(container(o, "w", "node"), "env"),
					 "name", rows[i].name),
				 "value"),
			rows[i].want);
	}
}

/* The container that trains gets the port that the others connect to, unless it has it. */
TEST(test_paddle_ports)
{
	static const struct {
		const char *node, *want;
	} rows[] = {
		{ "name: node, image: i", "[{containerPort: 36543}]" },
		{ "name: node, image: i, ports: [{name: master, containerPort: 7}]",
		  "[{name: master, containerPort: 7}]" },
		{ "name: node, image: i, ports: [{containerPort: 7}]",
		  "[{containerPort: 7}, {containerPort: 36543}]" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena a = { 0 };
		cleanup_json cJSON *o = build_of(
			"paddle", "{trainer: {}}",
			arena_printf(
				&a,
				"{template: {spec: {replicatedJobs: [{name: node, template: {" TRAINS
				" spec: {template: {spec: "
				"{containers: [{%s}, {name: side, image: i}]}}}}}]}}}",
				rows[i].node));

		assert_doc(json_get(container(o, "node", "node"), "ports"), rows[i].want);
		assert_null(json_get(container(o, "node", "side"), "ports"));
	}
}

/* Who is one of TensorFlow's tasks, and when somebody is told of the others. */
TEST(test_tasks_of_tensorflow)
{
#define TWO(name)      \
	"{name: " name \
	", replicas: 2, template: {spec: {template: {spec: {" ONE("node") "}}}}}"
	static const struct {
		const char *jobs, *told, *not_told; /* NULL: none */
	} rows[] = {
		{ RJOB("chief", "", ONE("node")) ", " RJOB(
			  "other", "", ONE("node")) ", " RJOB("node", TRAINS,
							      ONE("node")),
		  "node", "other" },
		/* the second of a task is none of them */
		{ RJOB("chief", "", ONE("node")) ", " RJOB(
			  "worker", "", ONE("node")) ", " RJOB("node", TRAINS,
							       ONE("node")),
		  "worker", NULL },
		{ RJOB("ps", "", ONE("side")) ", " RJOB("node", TRAINS, ONE("node")),
		  NULL, "node" },
		{ RJOB("node", TRAINS, ONE("node")), NULL, "node" },
		{ RJOB("chief", "", ONE("node")) ", " TWO("ps") ", " RJOB("node", TRAINS,
									  ONE("node")),
		  NULL, "chief" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena a = { 0 };
		cleanup_json cJSON *o = build_of(
			"tensorflow", "{}",
			arena_printf(&a,
				     "{mlPolicy: {numNodes: 1}, template: {spec: "
				     "{replicatedJobs: [%s]}}}",
				     rows[i].jobs));

		if (rows[i].told &&
		    !json_find_const(json_get(container(o, rows[i].told, "node"), "env"),
				     "name", "TF_CONFIG"))
			fail_msg("row %zu: %s has no TF_CONFIG", i, rows[i].told);
		if (rows[i].not_told &&
		    json_find_const(
			    json_get(container(o, rows[i].not_told, "node"), "env"),
			    "name", "TF_CONFIG"))
			fail_msg("row %zu: %s has a TF_CONFIG", i, rows[i].not_told);
	}
}

RUN_TESTS(NULL, NULL)
