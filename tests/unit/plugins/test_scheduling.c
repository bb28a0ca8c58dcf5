/*
 * Rules: upstream's KEP-3015 (docs/proposals/3015-workload-aware-scheduling), its stories
 * and its validation; k8s.io/api v0.37 scheduling/v1beta1.
 */
#include "tests/unit/plugins/build.h"

#define STEP(name, rest) \
	"{name: " name ", " rest " template: {spec: {template: {spec: {" ONE(name) "}}}}}"
#define NODE_JOB RJOB("node", TRAINS, ONE("node"))
#define AFTER    "dependsOn: [{name: prep, status: Complete}],"
#define RT(scheduling, jobs)                                                  \
	"{mlPolicy: {numNodes: 3, torch: {}}, scheduling: {" scheduling "}, " \
	"template: {spec: {replicatedJobs: [" jobs "]}}}"
#define WORKLOAD "tj-bda28d8c"

/* ---- what is built ---- */

/* The PodGroup of the job's pods, or NULL. */
static const cJSON *group_of(const cJSON *objects, const char *job)
{
	const char *name = json_str(pod(objects, job), "schedulingGroup", "podGroupName");
	const cJSON *obj;

	json_each(obj, objects)
		if (str_eq(meta_kind(obj), "PodGroup") && str_eq(meta_name(obj), name))
			return obj;
	return NULL;
}

static int groups_in(const cJSON *objects)
{
	const cJSON *obj;
	int n = 0;

	json_each(obj, objects)
		n += str_eq(meta_kind(obj), "PodGroup");
	return n;
}

static void assert_template(const cJSON *objects, const char *job, const char *name,
			    const char *want)
{
	const cJSON *group = group_of(objects, job);
	const cJSON *workload = object(objects, "Workload");
	cleanup_json cJSON *spec = json_dup(json_get(group, "spec"));
	cleanup_json cJSON *template = json_dup(json_find_const(
		json_get(workload, "spec", "podGroupTemplates"), "name", name));

	assert_non_null(group);
	assert_string_equal(meta_api_version(group), "scheduling.k8s.io/v1beta1");
	assert_string_equal(json_str(spec, "workloadRef", "workloadName"),
			    meta_name(workload));
	assert_string_equal(json_str(spec, "workloadRef", "templateName"), name);
	json_del(spec, JSON_PATH("workloadRef"));
	assert_doc(spec, want);
	json_del(template, JSON_PATH("name"));
	assert_doc(template, want);
}

#define GANG(n) "{schedulingPolicy: {gang: {minCount: " n "}}}"

/* Story 1: one group, of all pods. Its Workload comes first, the JobSet last. */
TEST(test_whole_job)
{
	cleanup_json cJSON *o = build("{trainer: {numNodes: 100}}",
				      RT("schedulingPolicy: {gang: {}}", NODE_JOB));
	const cJSON *workload = object(o, "Workload");

	assert_doc(
		json_get(workload, "spec"),
		"{controllerRef: {apiGroup: trainer.kubeflow.org, kind: TrainJob, name: "
		"tj}, podGroupTemplates: [{name: tj, schedulingPolicy: {gang: {minCount: "
		"100}}}]}");
	assert_string_equal(meta_name(workload), WORKLOAD);
	assert_string_equal(meta_name(group_of(o, "node")), WORKLOAD "-12b3a4b5");
	assert_string_equal(meta_owner_uid(meta_controller(workload)), "u-1");
	assert_template(o, "node", "tj", GANG("100"));
	assert_ptr_equal(o->child, workload);
	assert_string_equal(meta_kind(o->child->next), "PodGroup");
}

/* Gang is the default. */
TEST(test_default)
{
	cleanup_json cJSON *o = build("{}", RT("", NODE_JOB));

	assert_template(o, "node", "tj", GANG("3"));
}

TEST(test_fields_pass_through)
{
	cleanup_json cJSON *o = build(
		"{}", RT("schedulingConstraints: {topology: [{key: rack}]}, "
			 "disruptionMode: {all: {}}, resourceClaims: [{name: c, "
			 "resourceClaimName: x}]",
			 RJOB("node", TRAINS, "priorityClassName: high, " ONE("node"))));

	assert_template(
		o, "node", "tj",
		"{schedulingPolicy: {gang: {minCount: 3}}, schedulingConstraints: "
		"{topology: [{key: rack}]}, disruptionMode: {all: {}}, "
		"resourceClaims: [{name: c, resourceClaimName: x}], "
		"priorityClassName: high}");
}

/* Jobs that start one after the other are groups of their own. */
TEST(test_sequence)
{
	cleanup_json cJSON *o = build(
		"{}",
		RT("schedulingPolicy: {gang: {}}",
		   STEP("prep", "") ", {name: node, " AFTER " template: {" TRAINS
				    " spec: {template: {spec: {" ONE("node") "}}}}}"));

	assert_int_equal(groups_in(o), 2);
	assert_template(o, "prep", "prep", GANG("1"));
	assert_template(o, "node", "node", GANG("3"));
}

/* So is that of an entry; one of basic policy is not. */
TEST(test_sequence_in_an_entry)
{
	cleanup_json cJSON *gang =
		build("{}", RT("replicatedJobs: [{targetReplicatedJobs: [a, b]}]",
			       STEP("a", "") ", " STEP(
				       "b", "dependsOn: [{name: a, status: Ready}],")));
	cleanup_json cJSON *basic = build(
		"{}",
		RT("replicatedJobs: [{targetReplicatedJobs: [a, b], schedulingPolicy: "
		   "{basic: {}}}]",
		   STEP("a", "") ", " STEP("b",
					   "dependsOn: [{name: a, status: Ready}],")));

	assert_template(gang, "a", "a", GANG("1"));
	assert_template(gang, "b", "b", GANG("1"));
	assert_int_equal(groups_in(basic), 1);
	assert_template(basic, "b", "a-b", "{schedulingPolicy: {basic: {}}}");
}

/* Stories 2 and 3. */
TEST(test_entries)
{
	cleanup_json cJSON *o =
		build("{trainer: {numNodes: 50}}",
		      RT("replicatedJobs: [{targetReplicatedJobs: [launcher, node]}, "
			 "{targetReplicatedJobs: [prep], schedulingPolicy: {basic: {}}}]",
			 STEP("prep", "") ", " STEP("launcher", "") ", " NODE_JOB));

	assert_int_equal(groups_in(o), 2);
	assert_ptr_equal(group_of(o, "launcher"), group_of(o, "node"));
	assert_template(o, "node", "launcher-node", GANG("51"));
	assert_template(o, "prep", "prep", "{schedulingPolicy: {basic: {}}}");
}

/* Story 4, with one replica: a group of a Job counts its pods only. */
TEST(test_jobs)
{
	cleanup_json cJSON *o =
		build("{}", RT("replicatedJobs: [{targetReplicatedJobs: "
			       "[node], job: {disruptionMode: {all: {}}}}]",
			       NODE_JOB));

	assert_template(
		o, "node", "node-0",
		"{schedulingPolicy: {gang: {minCount: 3}}, disruptionMode: {all: {}}}");
}

TEST(test_replicas)
{
	cleanup_json cJSON *o =
		build("{}", RT("", NODE_JOB ", " STEP("ps", "replicas: 4,")));

	assert_template(o, "ps", "tj", GANG("7"));
}

/* Names of Kubernetes' objects are labels. */
TEST(test_long_names)
{
	static const char longest[] =
		"a123456789b123456789c123456789d123456789e123456789f123456789g12";
	cleanup_json cJSON *tj = job("{}");
	cleanup_json cJSON *rt = runtime(RT(
		"replicatedJobs: [{targetReplicatedJobs: [launcher-of-a-very-long-name, "
		"node-of-a-name-that-is-also-very-long]}]",
		STEP("launcher-of-a-very-long-name",
		     "") ", " STEP("node-of-a-name-that-is-also-very-long", "")));
	struct error err = { 0 };
	cleanup_json cJSON *o = NULL;
	const cJSON *obj;

	json_put_str(tj, longest, "metadata", "name");
	o = build_with(&offline, tj, rt, &err);
	json_each(obj, o)
		if (!str_eq(meta_kind(obj), "JobSet"))
			assert_in_range(strlen(meta_name(obj)), 1, 63);
	obj = json_get(object(o, "Workload"), "spec", "podGroupTemplates");
	assert_in_range(strlen(json_str(obj->child, "name")), 1, 63);
}

TEST(test_gate)
{
	const struct plugin_env off = { .keys = &keys_placeholder,
					.scheduling_off = true };
	cleanup_json cJSON *tj = job("{}"), *rt = runtime(RT("", NODE_JOB));
	struct error err = { 0 };
	cleanup_json cJSON *o = build_with(&off, tj, rt, &err);

	assert_int_equal(cJSON_GetArraySize(o), 1);
	assert_null(json_get(pod(o, "node"), "schedulingGroup"));
}

TEST(test_limits)
{
	assert_build_fails("{trainer: {numNodes: 2147483647}}",
			   RT("", NODE_JOB ", " STEP("ps", "")),
			   "Workload Build: more than 2147483647 pods");
}

/* ---- what is refused ---- */

#define S     "spec.scheduling"
#define LISTS S ".replicatedJobs"
#define NINE  "a, b, c, d, e, f, g, h, i"
#define IN_ORDER                                                                                     \
	"{scheduling: {}, template: {spec: {startupPolicy: {startupPolicyOrder: "                    \
	"InOrder}, replicatedJobs: [" STEP("a", "") ", " STEP("b", "") ", " STEP("c", "") ", " STEP( \
		"d",                                                                                 \
		"") ", " STEP("e",                                                                   \
			      "") ", " STEP("f",                                                     \
					    "") ", " STEP("g",                                       \
							  "") ", " STEP("h",                         \
									"") ", " STEP("i",           \
										      "") "]}}}"

TEST(test_refused)
{
	static const struct {
		const char *rt, *want; /* NULL: accepted */
	} rows[] = {
		{ RT("", NODE_JOB), NULL },
		{ RT("schedulingPolicy: {}", NODE_JOB), S
		  ".schedulingPolicy: Invalid value: {}: set exactly one of basic and gang" },
		{ RT("schedulingPolicy: {basic: {}, gang: {}}", NODE_JOB),
		  "set exactly one of basic and gang" },
		{ RT("schedulingPolicy: {gang: {minCount: 2}}", NODE_JOB),
		  "gang.minCount is computed from numNodes" },
		{ RT("disruptionMode: {}", NODE_JOB), S
		  ".disruptionMode: Invalid value: {}: set exactly one of single and all" },
		{ RT("schedulingConstraints: {topology: [{key: a b}]}", NODE_JOB),
		  S ".schedulingConstraints.topology[0].key: Invalid value" },
		{ RT("schedulingConstraints: {topology: [{key: a}, {key: b}]}", NODE_JOB),
		  S ".schedulingConstraints.topology" },
		{ RT("resourceClaims: [{name: A_}]", NODE_JOB),
		  S ".resourceClaims[0].name: Invalid value" },
		{ RT("replicatedJobs: [{targetReplicatedJobs: [node]}], disruptionMode: "
		     "{all: {}}",
		     NODE_JOB),
		  S ".disruptionMode: Forbidden: must not be set beside replicatedJobs" },
		{ RT("replicatedJobs: [{targetReplicatedJobs: [node], job: {}, "
		     "schedulingPolicy: {gang: {}}}]",
		     NODE_JOB),
		  LISTS "[0].schedulingPolicy: Forbidden: must not be set beside job" },
		{ RT("replicatedJobs: [{targetReplicatedJobs: [node, side], job: {}}]",
		     NODE_JOB ", " STEP("side", "")),
		  "with job, must name exactly one job" },
		{ RT("replicatedJobs: [{targetReplicatedJobs: [side], job: {}}]",
		     STEP("side", "replicas: 2,")),
		  "the target must have 1 replica" },
		{ RT("replicatedJobs: [{targetReplicatedJobs: [node, nod]}]", NODE_JOB),
		  "the runtime's template has no such job" },
		{ RT("replicatedJobs: [{targetReplicatedJobs: [node]}]",
		     NODE_JOB ", " STEP("side", "")),
		  "no targetReplicatedJobs has the job side" },
		{ RT("replicatedJobs: [{targetReplicatedJobs: [node]}, "
		     "{targetReplicatedJobs: [node]}]",
		     NODE_JOB),
		  "job node must be in only one targetReplicatedJobs" },
		{ RT("", RJOB("node", TRAINS,
			      "schedulingGroup: {podGroupName: x}, " ONE("node"))),
		  "schedulingGroup: Forbidden: must not be set beside spec.scheduling" },
		{ RT("",
		     RJOB("node", TRAINS,
			  "schedulerName: other, " ONE("node")) ", " STEP("side", "")),
		  "replicatedJobs[1].template.spec.template.spec.schedulerName: Invalid "
		  "value: the pods of a group must name one scheduler; others of "
		  "this group name other" },
		{ RT("replicatedJobs: [{targetReplicatedJobs: [node]}, "
		     "{targetReplicatedJobs: [side]}]",
		     RJOB("node", TRAINS,
			  "schedulerName: other, " ONE("node")) ", " STEP("side", "")),
		  NULL },
		{ "{scheduling: {}, podGroupPolicy: {volcano: {}}, template: {spec: "
		  "{replicatedJobs: [" NODE_JOB "]}}}",
		  "scheduling and podGroupPolicy are mutually exclusive" },
		{ IN_ORDER,
		  "more than 8 groups of pods, the limit of Kubernetes' Workload" },
		{ RT("replicatedJobs: [{targetReplicatedJobs: [" NINE "]}]", NODE_JOB),
		  LISTS "[0].targetReplicatedJobs" },
		{ RT("replicatedJobs: 1", NODE_JOB), LISTS ": Invalid value: 1" },
		{ RT("resourceClaims: [{}]", NODE_JOB),
		  S ".resourceClaims[0].name: Required value" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_json cJSON *rt = runtime(rows[i].rt);
		cleanup_free char *text = NULL;
		struct field_errors errs = { 0 };

		pipeline_validate_runtime(rt, &errs, NULL);
		text = errors_text(&errs);
		if (rows[i].want ? !strstr(text, rows[i].want) : *text != 0)
			fail_msg("%s: wanted %s, got: %s", rows[i].rt,
				 rows[i].want ? rows[i].want : "nothing", text);
	}
}

RUN_TESTS(NULL, NULL)
