/*
 * Where a TrainJob stands, of documents as controllers and kubelets write them.
 */

#include "base/cleanup.h"
#include "base/yaml.h"
#include "tests/unit/unit.h"
#include "why/phase.h"

#define JOBSET                                                                      \
	"---\nkind: JobSet\nspec: {replicatedJobs: [{name: node, template: {spec: " \
	"{parallelism: 2, completions: 2}}}]}\n"
#define WITH_DATA                                                                  \
	"---\nkind: JobSet\nspec: {replicatedJobs: [{name: dataset-initializer}, " \
	"{name: "                                                                  \
	"node, template: {spec: {parallelism: 2, completions: 2}}}]}\n"
#define POD(job, n, status)                                                            \
	"---\nkind: Pod\nmetadata: {name: a-" job "-" n                                \
	", labels: {jobset.sigs.k8s.io/replicatedjob-name: " job                       \
	", jobset.sigs.k8s.io/jobset-name: a, "                                        \
	"batch.kubernetes.io/job-completion-index: "                                   \
	"\"" n "\"}, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: a-" job \
	"-0, "                                                                         \
	"uid: j, controller: true}]}\nstatus: " status "\n"
#define JOB(uid)                                                                     \
	"---\nkind: Job\napiVersion: batch/v1\nmetadata: {name: a-node-0, uid: " uid \
	", ownerReferences: [{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, "  \
	"name: a, "                                                                  \
	"uid: s, controller: true}]}\n"
#define SPOOFED(status)                                  \
	"---\nkind: Pod\nmetadata: {name: x, labels: "   \
	"{jobset.sigs.k8s.io/replicatedjob-name: node, " \
	"jobset.sigs.k8s.io/jobset-name: a, "            \
	"batch.kubernetes.io/job-completion-index: \"1\"}}\nstatus: " status "\n"
#define READY   "{phase: Running, conditions: [{type: Ready, status: \"True\"}]}"
#define PENDING "{phase: Pending}"
#define NO_ROOM                                                                          \
	"{phase: Pending, conditions: [{type: PodScheduled, status: \"False\", reason: " \
	"Unschedulable, message: 0/2 nodes}]}"
#define NO_IMAGE                                                                        \
	"{phase: Pending, containerStatuses: [{name: node, image: x, state: {waiting: " \
	"{reason: ImagePullBackOff, message: m}}}]}"
#define FAILED(at)                                                           \
	"{phase: Failed, containerStatuses: [{name: node, image: x, state: " \
	"{terminated: {exitCode: 3, reason: Error, finishedAt: \"" at "\"}}}]}"
#define ENDED "{phase: Running}"

static const struct {
	const char *docs;
	bool ran;
	enum phase_kind kind;
	const char *line, *trouble;
} cases[] = {
	{ "kind: TrainJob", false, PHASE_CREATED, "waiting for the controller", NULL },
	{ "{kind: TrainJob, spec: {suspend: true}}", false, PHASE_SUSPENDED,
	  "suspended; start it with 'kftrainer resume a -n ns'", NULL },
	{ "{kind: TrainJob, metadata: {labels: {kueue.x-k8s.io/queue-name: q}}, spec: "
	  "{suspend: true}}",
	  false, PHASE_SUSPENDED, "queued in q", NULL },
	{ "kind: TrainJob\n" JOBSET, false, PHASE_STARTING, "pods starting: 0/2 ready",
	  NULL },
	{ "kind: TrainJob\n" JOBSET POD("node", "0", READY) POD("node", "1", PENDING),
	  false, PHASE_STARTING, "pods starting: 1/2 ready", NULL },
	/* its Job, and another Job of that name */
	{ "kind: TrainJob\n" JOBSET JOB("j") POD("node", "0", READY), false,
	  PHASE_STARTING, "pods starting: 1/2 ready", NULL },
	{ "kind: TrainJob\n" JOBSET JOB("k") POD("node", "0", READY), false,
	  PHASE_STARTING, "pods starting: 0/2 ready", NULL },
	/* a pod that only has the job's labels */
	{ "kind: TrainJob\n" JOBSET POD("node", "0", READY) SPOOFED(READY), false,
	  PHASE_STARTING, "pods starting: 1/2 ready", NULL },
	{ "kind: TrainJob\n" JOBSET POD("node", "0", READY) SPOOFED(NO_IMAGE), false,
	  PHASE_STARTING, "pods starting: 1/2 ready", NULL },
	{ "kind: TrainJob\n" JOBSET POD("node", "0", NO_ROOM) POD("node", "1", NO_ROOM),
	  false, PHASE_STARTING, "pods starting: 0/2 ready",
	  "2 pods, first node-0 (node rank 0): cannot be scheduled: 0/2 nodes" },
	{ "kind: TrainJob\n" JOBSET POD("node", "0", READY) POD("node", "1", NO_IMAGE),
	  false, PHASE_STARTING, "pods starting: 1/2 ready",
	  "node-1 (node rank 1): container node: image x: ImagePullBackOff: m" },
	{ "kind: TrainJob\n" JOBSET POD("node", "1", FAILED("2026-01-01T00:00:01Z"))
		  POD("node", "0", FAILED("2026-01-01T00:00:01Z")),
	  false, PHASE_STARTING, "pods starting: 0/2 ready",
	  "2 pods, first node-0 (node rank 0): container node: exit code 3" },
	{ "kind: TrainJob\n" JOBSET POD("node", "0", FAILED("2026-01-01T00:00:02Z"))
		  POD("node", "1", FAILED("2026-01-01T00:00:01Z")),
	  false, PHASE_STARTING, "pods starting: 0/2 ready",
	  "2 pods, first node-1 (node rank 1): container node: exit code 3" },
	/* Those of another job that had the name before. */
	{ "{kind: TrainJob, metadata: {creationTimestamp: "
	  "\"2026-01-01T00:01:00Z\"}}\n" JOBSET "---\n"
	  "{kind: Pod, metadata: {name: a-node-0-0-x, creationTimestamp: "
	  "\"2026-01-01T00:00:57Z\"}, status: " READY "}",
	  false, PHASE_STARTING, "pods starting: 0/2 ready", NULL },
	{ "kind: TrainJob\n" JOBSET POD("node", "0", READY) POD("node", "1", READY),
	  false, PHASE_RUNNING, "running", NULL },
	{ "kind: TrainJob\n" JOBSET POD("node", "0", READY)
		  POD("node", "1", "{phase: Succeeded}"),
	  false, PHASE_RUNNING, "running", NULL },
	{ "kind: TrainJob\n" JOBSET POD("node", "0", READY) POD("node", "1", ENDED), true,
	  PHASE_RUNNING, "running", NULL },
	{ "kind: TrainJob\n" JOBSET POD("node", "0", READY) POD("node", "1", ENDED),
	  false, PHASE_STARTING, "pods starting: 1/2 ready", NULL },
	{ "kind: TrainJob\n" JOBSET POD("node", "0", PENDING), true, PHASE_RUNNING,
	  "running: 0/2 pods ready", NULL },
	{ "{kind: TrainJob, status: {trainerStatus: {progressPercentage: 42, "
	  "estimatedRemainingSeconds: 190}}}\n" JOBSET POD("node", "0", READY)
		  POD("node", "1", READY),
	  false, PHASE_RUNNING, "running: 42 %, 3m10s left", NULL },
	{ "{kind: TrainJob, status: {trainerStatus: "
	  "{estimatedRemainingSeconds: 5}}}\n" JOBSET POD("node", "0", READY)
		  POD("node", "1", READY),
	  false, PHASE_RUNNING, "running: 5s left", NULL },
	{ "kind: TrainJob\n" WITH_DATA, false, PHASE_INITIALIZING,
	  "initializers: dataset-initializer is starting", NULL },
	{ "kind: TrainJob\n" WITH_DATA POD("dataset-initializer", "0", READY), false,
	  PHASE_INITIALIZING, "initializers: dataset-initializer runs", NULL },
	{ "kind: TrainJob\n" WITH_DATA POD("dataset-initializer", "0",
					   "{phase: Succeeded}"),
	  false, PHASE_STARTING, "pods starting: 0/2 ready", NULL },
	/* Neither JobSets nor pods may be read. */
	{ "{kind: TrainJob, status: {jobsStatus: [{name: node, ready: 1}]}}", false,
	  PHASE_RUNNING, "running", NULL },
	{ "{kind: TrainJob, status: {conditions: [{type: Complete, status: \"True\"}]}}",
	  true, PHASE_COMPLETE, "complete", NULL },
	{ "{kind: TrainJob, status: {conditions: [{type: Failed, "
	  "status: \"True\", reason: r}]}}",
	  true, PHASE_FAILED, "failed: r", NULL },
	{ "{kind: TrainJob, status: {conditions: [{type: Failed, "
	  "status: \"True\", reason: r, message: why}]}, spec: "
	  "{suspend: true}}",
	  true, PHASE_FAILED, "failed: why", NULL },
	/* A JobSet of this name that is not the job's, with its Jobs and pods. */
	{ "{kind: TrainJob, metadata: {name: a, uid: u}, status: {state: Created}}\n"
	  "---\n"
	  "{kind: JobSet, metadata: {name: a, uid: left}}\n"
	  "---\n"
	  "{kind: Job, metadata: {name: a-node-0, uid: j, ownerReferences: [{controller: "
	  "true, apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, name: a, uid: "
	  "left}]}}\n"
	  "---\n"
	  "{kind: Pod, metadata: {name: p, labels: {jobset.sigs.k8s.io/jobset-name: a}, "
	  "ownerReferences: [{controller: true, kind: Job, name: a-node-0, uid: j}]}, "
	  "status: {phase: Running}}",
	  false, PHASE_CREATED, "waiting for the controller", NULL },
	/* Documents of any shape. */
	{ "{kind: TrainJob, metadata: 1, spec: [], status: {conditions: {}, jobsStatus: x}}\n"
	  "---\n"
	  "{kind: JobSet, spec: {replicatedJobs: [1, null]}}\n"
	  "---\n"
	  "{kind: Pod, metadata: 3, status: [1]}",
	  false, PHASE_STARTING, "pods starting: 0/2 ready", NULL },
};

TEST(of_documents)
{
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		cleanup_view struct view v = { 0 };
		cleanup_json cJSON *docs = NULL;
		cleanup_arena struct arena arena = { 0 };
		struct error err = { 0 };
		struct phase p;

		view_init(&v, "ns", "a");
		assert_int_equal(
			yaml_parse(&docs, cases[i].docs, strlen(cases[i].docs), &err), 0);
		while (docs->child)
			view_add(&v, cJSON_DetachItemViaPointer(docs, docs->child));
		view_drop_others(&v);
		p = phase_of(&arena, &v, cases[i].ran);
		assert_string_equal(p.line, cases[i].line);
		assert_int_equal(p.kind, cases[i].kind);
		if (cases[i].trouble)
			assert_string_equal(p.trouble, cases[i].trouble);
		else
			assert_null(p.trouble);
	}
}

TEST(of_this_machine)
{
	cleanup_view struct view v = { 0 };
	cleanup_json cJSON *docs = NULL;
	cleanup_arena struct arena arena = { 0 };
	struct error err = { 0 };

	view_init(&v, "ns", "a");
	v.named = " --local";
	assert_int_equal(
		yaml_parse(&docs, "{kind: TrainJob, spec: {suspend: true}}", 39, &err),
		0);
	view_add(&v, cJSON_DetachItemViaPointer(docs, docs->child));
	assert_string_equal(
		phase_of(&arena, &v, false).line,
		"suspended; start it with 'kftrainer resume --local a -n ns'");
}

RUN_TESTS(NULL, NULL)
