/* Rules: upstream pkg/runtime/framework/plugins/{coscheduling,volcano}. */
#include "tests/unit/plugins/build.h"

#define GANG(policy, jobs)                                                        \
	"{mlPolicy: {torch: {}}, podGroupPolicy: {" policy "}, template: {spec: " \
	"{replicatedJobs: [" jobs "]}}}"
#define COSCHEDULING  "coscheduling: {scheduleTimeoutSeconds: 30}"
#define ASKS(name, r) WITH(name, "resources: {requests: " r "}")

static const cJSON *group(const cJSON *objects)
{
	return json_get(object(objects, "PodGroup"), "spec");
}

TEST(test_all_pods_count)
{
	cleanup_json cJSON *o = build(
		"{trainer: {numNodes: 100}}",
		GANG(COSCHEDULING,
		     RJOB("dataset-initializer", ROLE("dataset-initializer"), ASKS("dataset-initializer", "{cpu: 1, memory: 4Gi}")) ", " RJOB(
			     "model-initializer", ROLE("model-initializer"),
			     ASKS("model-initializer",
				  "{cpu: 1, memory: 4Gi}")) ", " RJOB("node", TRAINS,
								      ASKS("node",
									   "{cpu: 1, memory: 4Gi}"))));

	assert_doc(group(o),
		   "{minMember: 102, minResources: {cpu: '102', memory: 408Gi}, "
		   "scheduleTimeoutSeconds: 30}");
	assert_string_equal(meta_api_version(object(o, "PodGroup")),
			    "scheduling.x-k8s.io/v1alpha1");
	assert_doc(json_get(rjob(o, "node"), "template", "spec", "template", "metadata"),
		   "{labels: {scheduling.x-k8s.io/pod-group: tj}}");
	assert_doc(json_get(rjob(o, "model-initializer"), "template", "spec", "template",
			    "metadata"),
		   "{labels: {scheduling.x-k8s.io/pod-group: tj}}");
}

/* The jobs of `names` are those with the mark, and no others. */
static void assert_marked(const cJSON *objects, const char *mark, const char *value,
			  const char *const *names)
{
	const cJSON *job;

	json_each(job, json_get(object(objects, "JobSet"), "spec", "replicatedJobs")) {
		const cJSON *metadata =
			json_get(job, "template", "spec", "template", "metadata");
		const char *found = json_str(metadata, "labels", mark);

		found = found ? found : json_str(metadata, "annotations", mark);
		if (str_in(json_str(job, "name"), names))
			assert_string_equal(found, value);
		else
			assert_null(found);
	}
}

#define AFTER(name, role, on, status)                                                  \
	"{name: " name ", dependsOn: [{name: " on ", status: " status "}], template: " \
	"{" role " spec: {template: {spec: {" ASKS(name, "{cpu: 1}") "}}}}}"
#define FIRST(name) RJOB(name, "", ASKS(name, "{cpu: 1}"))

/* Upstream counts all jobs, also those that never run at the same time. */
TEST(test_steps)
{
	static const struct {
		const char *what, *jobs;
		int64_t members;
		const char *names[4];
	} rows[] = {
		{ "one before",
		  FIRST("i") ", " AFTER("node", TRAINS, "i", "Complete"),
		  3,
		  { "node" } },
		{ "one after",
		  RJOB("node", TRAINS,
		       ASKS("node", "{cpu: 1}")) ", " AFTER("e", "", "node", "Complete"),
		  3,
		  { "node" } },
		{ "beside the trainer",
		  FIRST("i") ", " AFTER("b", "", "i", "Complete") ", " AFTER(
			  "node", TRAINS, "i", "Complete"),
		  4,
		  { "b", "node" } },
		{ "through another",
		  FIRST("i") ", " AFTER("c", "", "i", "Complete") ", " AFTER(
			  "node", TRAINS, "c", "Ready"),
		  3,
		  { "node" } },
		{ "Ready alone changes nothing",
		  FIRST("i") ", " AFTER("node", TRAINS, "i", "Ready"),
		  4,
		  { "i", "node" } },
		{ "no trainer",
		  FIRST("i") ", " AFTER("e", "", "i", "Complete"),
		  2,
		  { "i", "e" } },
		{ "a job that does not exist",
		  FIRST("i") ", " AFTER("node", TRAINS, "x", "Complete"),
		  4,
		  { "i", "node" } },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena a = { 0 };
		const char *co = arena_printf(&a, GANG(COSCHEDULING, "%s"), rows[i].jobs);
		const char *vo =
			arena_printf(&a, GANG("volcano: {}", "%s"), rows[i].jobs);
		cleanup_json cJSON *one = build("{trainer: {numNodes: 3}}", co);
		cleanup_json cJSON *two = build("{trainer: {numNodes: 3}}", vo);
		const char *cpu = arena_printf(&a, "%lld", (long long)rows[i].members);

		print_message("%s\n", rows[i].what);
		assert_int_equal(json_int(group(one), -1, "minMember"), rows[i].members);
		assert_int_equal(json_int(group(two), -1, "minMember"), rows[i].members);
		assert_string_equal(json_str(group(one), "minResources", "cpu"), cpu);
		assert_string_equal(json_str(group(two), "minResources", "cpu"), cpu);
		assert_marked(one, "scheduling.x-k8s.io/pod-group", "tj", rows[i].names);
		assert_marked(two, "scheduling.k8s.io/group-name", "tj", rows[i].names);
	}
}

/* Upstream ignores replicas. */
TEST(test_replicas_count)
{
	cleanup_json cJSON *o =
		build("{trainer: {numNodes: 2}}",
		      GANG(COSCHEDULING,
			   "{name: db, replicas: 3, template: {spec: {parallelism: 2, "
			   "template: {spec: {" ASKS("db", "{cpu: 500m}") "}}}}}, " RJOB(
				   "node", TRAINS, ASKS("node", "{cpu: 1}"))));

	assert_int_equal(json_int(group(o), -1, "minMember"), 8);
	assert_doc(json_get(group(o), "minResources"), "{cpu: '5'}");
}

/* A job with a role gets one replica in the JobSet, so its pods count once. */
TEST(test_a_role_has_one_replica)
{
	cleanup_json cJSON *o = build(
		"{trainer: {numNodes: 2}}",
		GANG(COSCHEDULING,
		     "{name: node, replicas: 3, template: {" TRAINS
		     " spec: {template: {spec: {" ASKS("node", "{cpu: 1}") "}}}}}"));

	assert_int_equal(json_int(group(o), -1, "minMember"), 2);
	assert_doc(json_get(group(o), "minResources"), "{cpu: '2'}");
}

/* Upstream counts requests only, so that GPUs given as limits are not there. */
TEST(test_limits_are_requests)
{
	cleanup_json cJSON *o = build(
		"{trainer: {numNodes: 2, resourcesPerNode: {limits: {nvidia.com/gpu: 4, "
		"cpu: 8}, requests: {cpu: 2}}}}",
		GANG(COSCHEDULING, RJOB("node", TRAINS, ONE("node"))));

	assert_doc(json_get(group(o), "minResources"), "{cpu: '4', nvidia.com/gpu: '8'}");
}

/* Upstream: minMember 0, which the CRD refuses. */
TEST(test_correction_05_at_least_one_member)
{
	cleanup_json cJSON *o =
		build("{trainer: {numNodes: 0}}",
		      GANG(COSCHEDULING, RJOB("node", TRAINS, ONE("node"))));

	assert_int_equal(json_int(group(o), -1, "minMember"), 1);
	assert_int_equal(count(o, "node"), 0);
}

TEST(test_defect_02_no_timeout_and_no_tier)
{
	cleanup_json cJSON *co =
		build("{}", GANG("coscheduling: {scheduleTimeoutSeconds: null}",
				 RJOB("node", TRAINS, ONE("node"))));
	cleanup_json cJSON *volcano =
		build("{}", GANG("volcano: {networkTopology: {highestTierAllowed: null}}",
				 RJOB("node", TRAINS, ONE("node"))));
	cleanup_json cJSON *none =
		build("{}", GANG("volcano: {}", RJOB("node", TRAINS, ONE("node"))));

	assert_int_equal(json_int(group(co), -1, "scheduleTimeoutSeconds"), 60);
	assert_doc(json_get(group(volcano), "networkTopology"),
		   "{mode: hard, highestTierAllowed: 1}");
	assert_null(json_get(group(none), "networkTopology"));
}

TEST(test_volcano)
{
	cleanup_json cJSON *o = build(
		"{trainer: {numNodes: 2}}",
		"{mlPolicy: {torch: {}}, podGroupPolicy: {volcano: "
		"{networkTopology: {mode: soft, highestTierAllowed: 2}}}, "
		"template: {metadata: {annotations: "
		"{scheduling.volcano.sh/queue-name: q}}, spec: {replicatedJobs: [" RJOB(
			"a", "",
			"priorityClassName: low, " ONE(
				"a")) ", " RJOB("node", TRAINS,
						"priorityClassName: high, " ONE(
							"node")) "]}}}");

	assert_doc(group(o),
		   "{minMember: 3, minResources: {}, queue: q, priorityClassName: "
		   "high, networkTopology: {mode: soft, highestTierAllowed: 2}}");
	assert_doc(json_get(rjob(o, "a"), "template", "spec", "template", "metadata"),
		   "{annotations: {scheduling.k8s.io/group-name: tj}}");
	assert_string_equal(json_str(object(o, "JobSet"), "metadata", "annotations",
				     "scheduling.volcano.sh/queue-name"),
			    "q");
}

TEST(test_left_alone_while_the_job_runs)
{
	cleanup_json cJSON *rt =
		runtime(GANG(COSCHEDULING, RJOB("node", TRAINS, ONE("node"))));
	cleanup_json cJSON *have =
		doc("[{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: "
		    "PodGroup, metadata: {name: tj}}]");
	cleanup_json cJSON *running = job("{suspend: false}");
	cleanup_json cJSON *suspended = job("{suspend: true}");
	struct plugin_env env = cluster(have);
	struct error err = { 0 };
	cleanup_json cJSON *a = build_with(&env, running, rt, &err);
	cleanup_json cJSON *b = build_with(&env, suspended, rt, &err);

	assert_null(object(a, "PodGroup"));
	assert_non_null(object(b, "PodGroup"));
}

TEST(test_volcano_admission)
{
	cleanup_json cJSON *have = doc("[{apiVersion: scheduling.k8s.io/v1, kind: "
				       "PriorityClass, metadata: {name: there}}]");
	struct plugin_env env = cluster(have);
	static const struct {
		const char *pods, *want;
	} rows[] = {
		{ RJOB("node", TRAINS, "priorityClassName: there, " ONE("node")), "" },
		{ RJOB("node", TRAINS, "priorityClassName: '', " ONE("node")), "" },
		{ RJOB("node", TRAINS, "priorityClassName: nope, " ONE("node")),
		  "spec.templateSpec.priorityClassName: Invalid value: \"nope\": "
		  "no PriorityClass of this name exists\n" },
		/* a class of the system ends the check */
		{ RJOB("a", "",
		       "priorityClassName: system-node-critical, " ONE(
			       "a")) ", " RJOB("node", TRAINS,
					       "priorityClassName: nope, " ONE("node")),
		  "" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena a = { 0 };
		cleanup_json cJSON *tj = job("{trainer: {}}");
		cleanup_json cJSON *rt = runtime(
			arena_printf(&a,
				     "{podGroupPolicy: {volcano: {}}, template: {spec: "
				     "{replicatedJobs: [%s]}}}",
				     rows[i].pods));
		cleanup_free char *in_cluster = admission_with(&env, NULL, tj, rt);
		cleanup_free char *off = admission_with(&offline, NULL, tj, rt);

		assert_string_equal(in_cluster, rows[i].want);
		assert_string_equal(off, "");
	}
	assert_errors(
		"{}",
		"{podGroupPolicy: {volcano: {}}, template: {metadata: {annotations: "
		"{scheduling.volcano.sh/queue-name: ''}}, spec: {replicatedJobs: [" RJOB(
			"node", TRAINS, ONE("node")) "]}}}",
		ERRORS("spec.annotations[scheduling.volcano.sh/queue-name]: Invalid "
		       "value: \"\"|queue"));
}

RUN_TESTS(NULL, NULL)
