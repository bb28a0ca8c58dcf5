/*
 * Rules: KAI's pod grouper reads labels and annotations under kai.scheduler/ and the label
 * priorityClassName; yunikorn-k8shim 1.8, pkg/common/constants and pkg/cache/utils.go.
 */
#include "tests/unit/plugins/build.h"

#define KAI      "schedulerName: kai-scheduler, "
#define YUNIKORN "schedulerName: yunikorn, "
#define RT(jobs) "{mlPolicy: {torch: {}}, template: {spec: {replicatedJobs: [" jobs "]}}}"
#define Y        "yunikorn.apache.org/"

/* Of a TrainJob that has this metadata besides its name. */
static cJSON *build_of(const char *metadata, const char *spec, const char *rt_spec)
{
	cleanup_json cJSON *tj = job(spec), *extra = doc(metadata);
	cleanup_json cJSON *rt = runtime(rt_spec);
	struct error err = { 0 };
	const cJSON *member;
	cJSON *ret;

	json_each(member, extra)
		json_put(tj, json_dup(member), "metadata", member->string);
	ret = build_with(&offline, tj, rt, &err);
	if (!ret)
		fail_msg("%s", err.msg);
	return ret;
}

static const cJSON *pod_metadata(const cJSON *objects, const char *name)
{
	return json_get(rjob(objects, name), "template", "spec", "template", "metadata");
}

#define KAI_METADATA                                                             \
	"{labels: {kai.scheduler/queue: q, priorityClassName: train, team: a}, " \
	"annotations: {kai.scheduler/topology: t, note: b}}"

TEST(test_kai)
{
	cleanup_json cJSON *o = build_of(KAI_METADATA, "{}",
					 RT(RJOB("side", "", ONE("side")) ", " RJOB(
						 "node", TRAINS, KAI ONE("node"))));

	assert_doc(pod_metadata(o, "node"),
		   "{labels: {kai.scheduler/queue: q, priorityClassName: train}, "
		   "annotations: {kai.scheduler/topology: t}}");
	assert_null(pod_metadata(o, "side"));
	assert_doc(json_get(object(o, "JobSet"), "metadata", "labels"),
		   "{kai.scheduler/queue: q, priorityClassName: train}");
	assert_doc(json_get(object(o, "JobSet"), "metadata", "annotations"),
		   "{kai.scheduler/topology: t}");
	assert_null(object(o, "PodGroup"));
}

TEST(test_kai_is_not_used)
{
	cleanup_json cJSON *o =
		build_of(KAI_METADATA, "{}", RT(RJOB("node", TRAINS, ONE("node"))));

	assert_null(pod_metadata(o, "node"));
	assert_null(json_get(object(o, "JobSet"), "metadata", "labels"));
	assert_null(json_get(object(o, "JobSet"), "metadata", "annotations"));
}

/* What the TrainJob says wins over the runtime's template. */
TEST(test_kai_over_the_runtime)
{
	cleanup_json cJSON *o = build_of(
		KAI_METADATA, "{}",
		"{template: {metadata: {labels: {kai.scheduler/queue: r, a: b}}, spec: "
		"{replicatedJobs: [" RJOB("node", TRAINS, KAI ONE("node")) "]}}}");

	assert_doc(json_get(object(o, "JobSet"), "metadata", "labels"),
		   "{kai.scheduler/queue: q, a: b, priorityClassName: train}");
}

/* The groups of a job's pods, as a document. */
static cJSON *groups_of(const cJSON *objects, const char *name)
{
	const char *text =
		json_str(pod_metadata(objects, name), "annotations", Y "task-groups");

	return text ? doc(text) : NULL;
}

#define QUEUED "{labels: {queue: root.a, yunikorn.apache.org/queue: root.b, other: c}}"

TEST(test_yunikorn)
{
	cleanup_json cJSON *o = build_of(
		QUEUED,
		"{trainer: {numNodes: 3, resourcesPerNode: {limits: {nvidia.com/gpu: 2}, "
		"requests: {cpu: 500m, memory: 1Gi}}}}",
		RT(RJOB("dataset-initializer", ROLE("dataset-initializer"), YUNIKORN ONE("dataset-initializer")) ", " RJOB(
			"node", TRAINS,
			YUNIKORN
			"overhead: {cpu: 100m}, initContainers: [{name: i, image: "
			"i, resources: {requests: {cpu: 2, memory: 1Mi}}}], "
			"nodeSelector: {zone: a}, tolerations: [{key: t}], " ONE(
				"node"))));
	cleanup_json cJSON *groups = groups_of(o, "node");

	assert_doc(pod_metadata(o, "dataset-initializer"),
		   "{labels: {" Y "app-id: u-1, queue: root.a, " Y "queue: root.b}}");
	assert_doc(json_get(pod_metadata(o, "node"), "labels"),
		   "{" Y "app-id: u-1, queue: root.a, " Y "queue: root.b}");
	assert_string_equal(
		json_str(pod_metadata(o, "node"), "annotations", Y "task-group-name"),
		"node");
	assert_doc(groups, "[{name: node, minMember: 3, minResource: {cpu: 2100m, "
			   "memory: 1Gi, nvidia.com/gpu: '2'}, nodeSelector: {zone: "
			   "a}, tolerations: [{key: t}]}]");
}

TEST(test_yunikorn_without_requests)
{
	cleanup_json cJSON *o =
		build_of("{}", "{}", RT(RJOB("node", TRAINS, YUNIKORN ONE("node"))));
	cleanup_json cJSON *groups = groups_of(o, "node");

	assert_doc(groups, "[{name: node, minMember: 1, minResource: {}}]");
}

/* Both jobs of MPI in which processes run, each pod with both groups. */
TEST(test_yunikorn_of_mpi)
{
	cleanup_json cJSON *o = build_of(
		"{}", "{trainer: {numNodes: 3, resourcesPerNode: {requests: {cpu: 1}}}}",
		"{mlPolicy: {mpi: {mpiImplementation: OpenMPI, "
		"runLauncherAsNode: true}}, template: {spec: {replicatedJobs: [" RJOB(
			"launcher", TRAINS,
			YUNIKORN ONE("node")) ", " RJOB("node", "",
							YUNIKORN ONE("node")) "]}}}");
	cleanup_json cJSON *of_launcher = groups_of(o, "launcher");
	cleanup_json cJSON *of_node = groups_of(o, "node");

	assert_doc(
		of_launcher,
		"[{name: launcher, minMember: 1, minResource: {cpu: '1'}}, {name: node, "
		"minMember: 2, minResource: {cpu: '1'}}]");
	assert_true(cJSON_Compare(of_launcher, of_node, true));
	assert_string_equal(
		json_str(pod_metadata(o, "node"), "annotations", Y "task-group-name"),
		"node");
}

/* What the user set, the scheduler of others, and a job of no pods. */
TEST(test_yunikorn_leaves_alone)
{
#define OWN(map)                                                               \
	"{name: node, template: {" TRAINS " spec: {template: {metadata: {" map \
	"}, spec: {" YUNIKORN ONE("node") "}}}}}"
	static const struct {
		const char *jobs, *spec, *want;
	} rows[] = {
		{ OWN("annotations: {" Y "task-group-name: mine}"), "{}",
		  "{annotations: {" Y "task-group-name: mine}, labels: {" Y
		  "app-id: u-1}}" },
		{ OWN("annotations: {" Y "task-groups: '[]'}"), "{}",
		  "{annotations: {" Y "task-groups: '[]'}, labels: {" Y "app-id: u-1}}" },
		{ OWN("labels: {" Y "app-id: mine}"), "{trainer: {numNodes: 0}}",
		  "{labels: {" Y "app-id: mine}}" },
		{ RJOB("node", TRAINS, "schedulerName: default-scheduler, " ONE("node")),
		  "{}", NULL },
		{ RJOB("node", TRAINS, ONE("node")), "{}", NULL },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena a = { 0 };
		cleanup_json cJSON *o = build_of(
			"{}", rows[i].spec, arena_printf(&a, RT("%s"), rows[i].jobs));

		if (rows[i].want)
			assert_doc(pod_metadata(o, "node"), rows[i].want);
		else
			assert_null(pod_metadata(o, "node"));
	}
}

TEST(test_yunikorn_bad_request)
{
	assert_build_fails(
		"{}",
		RT(RJOB("node", TRAINS,
			YUNIKORN WITH("node", "resources: {requests: {cpu: lots}}"))),
		"cpu");
}

RUN_TESTS(NULL, NULL)
