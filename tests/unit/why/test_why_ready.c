/* Pods that run but are not ready, or do not end, and what an autoscaler says of pods without a node. */
#include "tests/unit/why/why_test.h"

#define TWO_CONTAINERS(other, ended, runs)                                                                 \
	"kind: Pod\n" META(                                                                                \
		"bert-node-0-0-x") ", labels: {jobset.sigs.k8s.io/"                                        \
				   "jobset-name: bert, "                                                   \
				   "jobset.sigs.k8s.io/replicatedjob-name: "                               \
				   "node, batch.kubernetes.io/"                                            \
				   "job-completion-index: '0'}}\n"                                         \
				   "spec: {nodeName: n1, containers: [{name: " other                       \
				   "}, {name: node}]}\n"                                                   \
				   "status: {phase: Running, conditions: [{type: Ready, status: 'False', " \
				   "reason: ContainersNotReady, message: unready}], containerStatuses: "   \
				   "[{name: " other ", state: {" runs                                      \
				   "}}, {name: node, state: {" ended "}}]}\n---\n"
#define END(code, at) "terminated: {exitCode: " code ", finishedAt: '" at "'}"
#define RUNS          "running: {startedAt: '2026-01-01T00:00:00Z'}"
#define ONE_JOB \
	"kind: Job\n" META("bert-node-0") "}\nspec: {parallelism: 1}\nstatus: {}\n---\n"
#define REMAINS                                                                          \
	" 10m ago, but its pod does not end while container istio-proxy runs: make "     \
	"that a native sidecar (an init container with restartPolicy Always), end it "   \
	"with the training, or leave it out (label sidecar.istio.io/inject: \"false\")." \
	" Also: "

/* kubeflow/katib#2616, kubeflow/trainer#1183 */
TEST(test_containers_that_remain)
{
	static const struct row rows[] = {
		{ "the training has ended",
		  JOB("", STATUS) JOBSET ONE_JOB TWO_CONTAINERS(
			  "istio-proxy", END("0", "2026-01-01T00:50:00Z"), RUNS),
		  "bert is running: container node of node-0 (node rank 0) ended with "
		  "exit code 0" REMAINS "1 of 1 pods" },
		{ "... and failed",
		  JOB("", STATUS) JOBSET ONE_JOB TWO_CONTAINERS(
			  "istio-proxy", END("3", "2026-01-01T00:50:00Z"), RUNS),
		  "bert is running: container node of node-0 (node rank 0) ended with "
		  "exit code 3" REMAINS "node-0 (node rank 0), pod" },
		{ "... and the other is not a mesh's",
		  JOB("", STATUS) JOBSET ONE_JOB TWO_CONTAINERS(
			  "watch", END("0", "2026-01-01T00:50:00Z"), RUNS),
		  "bert is running: container node of node-0 (node rank 0) ended with "
		  "exit code 0 10m ago, but its pod does not end while container watch "
		  "runs: make that a native sidecar (an init container with "
		  "restartPolicy Always), end it with the training, or leave it out. "
		  "Also" },
		{ "the other may be about to end",
		  JOB("", STATUS) JOBSET ONE_JOB TWO_CONTAINERS(
			  "istio-proxy", END("0", "2026-01-01T00:59:58Z"), RUNS),
		  "bert is running: no problem found: " },
		{ "the other has ended",
		  JOB("", STATUS) JOBSET ONE_JOB TWO_CONTAINERS(
			  "istio-proxy", RUNS, END("0", "2026-01-01T00:50:00Z")),
		  "bert is running: node-0 (node rank 0) runs, but has not been ready" },
	};

	CHECK_ALL(rows);
}

#define JOBS_OF(policy, launcher)                                                                 \
	"kind: JobSet\n" META(                                                                    \
		"bert") "}\nspec: {" policy                                                       \
			"replicatedJobs: [{name: node}, {name: launcher" launcher                 \
			"}]}\n---\nkind: Job\n" META(                                             \
				"bert-node-0") ", labels: "                                       \
					       "{jobset.sigs.k8s.io/replicatedjob-name: node}}\n" \
					       "spec: {parallelism: 1}\nstatus: {}\n---\n"
#define UNREADY(since)                                                             \
	PLACED("0", "phase: Running, conditions: [{type: Ready, status: 'False', " \
		    "lastTransitionTime: '" since "', message: 'containers with "  \
		    "unready status: [node]'}]")
#define UNHEALTHY                                               \
	EVENT("Pod", "bert-node-0-0-x", "Warning", "Unhealthy", \
	      "Readiness probe failed: connection refused")

TEST(test_pods_that_are_not_ready)
{
	static const struct row rows[] = {
		{ "nothing waits for it",
		  JOB("", STATUS) JOBSET ONE_JOB UNREADY("2026-01-01T00:50:00Z"),
		  "bert is running: node-0 (node rank 0) runs, but has not been ready for "
		  "10m: containers with unready status: [node]. Also: 1 of 1 pods" },
		{ "its probe may not have run",
		  JOB("", STATUS) JOBSET ONE_JOB UNREADY("2026-01-01T00:59:50Z"),
		  "bert is running: no problem found: " },
		{ "the launcher depends on it",
		  JOB("", STATUS)
			  JOBS_OF("", ", dependsOn: [{name: node, status: Ready}]")
				  UNREADY("2026-01-01T00:50:00Z") UNHEALTHY,
		  "bert is pending: job launcher starts when all pods before it are "
		  "ready: node-0 (node rank 0) runs, but has not been ready for 10m: "
		  "containers with unready status: [node]; Readiness probe failed: "
		  "connection refused.\nMore: kubectl describe pod bert-node-0-0-x -n a\n" },
		{ "... but on its end",
		  JOB("", STATUS)
			  JOBS_OF("", ", dependsOn: [{name: node, status: Complete}]")
				  PLACED("0", READY),
		  "bert is running: no problem found: " },
		{ "jobs start in order",
		  JOB("", STATUS)
			  JOBS_OF("startupPolicy: {startupPolicyOrder: InOrder}, ", "")
				  UNREADY("2026-01-01T00:50:00Z"),
		  "bert is pending: job launcher starts when" },
		{ "... and nothing is late",
		  JOB("", STATUS)
			  JOBS_OF("startupPolicy: {startupPolicyOrder: InOrder}, ", "")
				  UNREADY("2026-01-01T00:59:50Z"),
		  "bert is pending: its pods are starting: 0 of 1 are ready" },
		{ "at the same time",
		  JOB("", STATUS) JOBS_OF("", "") UNREADY("2026-01-01T00:59:50Z"),
		  "bert is running: no problem found: " },
	};

	CHECK_ALL(rows);
}

#define GOING(ranks, by)                                                                   \
	"kind: Pod\nmetadata: {name: bert-node-0-" ranks                                   \
	"-x, namespace: a, creationTimestamp: '2026-01-01T00:00:00Z', deletionTimestamp: " \
	"'" by "', deletionGracePeriodSeconds: 30, labels: {jobset.sigs.k8s.io/"           \
	"jobset-name: bert, jobset.sigs.k8s.io/replicatedjob-name: node, "                 \
	"batch.kubernetes.io/job-completion-index: '" ranks                                \
	"'}}\nspec: {nodeName: n1, containers: [{name: node}]}\n"                          \
	"status: {phase: Running}\n---\n"
#define DECIDED(condition, reason, message)                                     \
	"kind: Job\n" META("bert-node-0") "}\nspec: {parallelism: 2}\nstatus: " \
					  "{conditions: [{type: " condition     \
					  ", status: 'True', reason: " reason   \
					  ", message: '" message "'}]}\n---\n"

/* kubernetes-sigs/jobset#576, kubernetes-sigs/kueue#9649 */
TEST(test_pods_that_go)
{
	static const struct row rows[] = {
		{ "one, before its replacement is made",
		  JOB("", STATUS) JOBSET JOBS GOING("1", "2026-01-01T01:00:20Z")
			  PLACED("0", READY),
		  "bert is pending: node-1 (node rank 1), pod bert-node-0-1-x on node n1, "
		  "has been terminating for 10s.\n"
		  "More: kubectl describe pod bert-node-0-1-x -n a\n" },
		{ "two, before their Job fails",
		  JOB("", STATUS) JOBSET DECIDED("FailureTarget", "DeadlineExceeded",
						 "Job was active.")
			  GOING("0", "2026-01-01T01:00:20Z")
				  GOING("1", "2026-01-01T01:00:20Z"),
		  "bert is pending: 2 pods, first node-0 (node rank 0), pod "
		  "bert-node-0-0-x on node n1, have been terminating for 10s; then Job "
		  "bert-node-0 fails: Job was active (DeadlineExceeded).\n" },
		{ "one that does not",
		  JOB("", STATUS) JOBSET DECIDED("SuccessCriteriaMet", "SuccessPolicy",
						 "m") GOING("1", "2026-01-01T00:50:00Z"),
		  "bert is pending: node-1 (node rank 1), pod bert-node-0-1-x on node n1, "
		  "has been terminating for 10m, longer than the grace period: does its "
		  "node respond; then Job bert-node-0 completes: m (SuccessPolicy).\n" },
		{ "the job is suspended",
		  JOB(", suspend: true", STATUS)
			  JOBSET JOBS GOING("1", "2026-01-01T00:50:00Z"),
		  "bert is suspended: spec.suspend has been true for 60m, not set by Kueue; resume "
		  "it to continue. Also: node-1 (node rank 1), pod" },
		{ "... just now",
		  JOB(", suspend: true", STATUS)
			  JOBSET JOBS GOING("1", "2026-01-01T01:00:20Z"),
		  "bert is suspended: spec.suspend has been true for 60m, not set by Kueue; resume "
		  "it to continue.\n" },
	};

	CHECK_ALL(rows);
}

#define WAITS                                                                     \
	JOB("", STATUS)                                                           \
	JOBSET ONE_JOB POD_OF(                                                    \
		"0", "nodeSelector: {pool: gpu}, ",                               \
		UNSCHEDULABLE("0/2 nodes are available: 2 node(s) didn''t match " \
			      "Pod''s node affinity/selector."))
#define NO_NODE                                                                 \
	"bert is pending: no node can run its pod: 0/2 nodes are available: 2 " \
	"node(s) didn't match Pod's node affinity/selector (its nodeSelector is pool=gpu)"
#define EVENT_BY(component, reason, message, time)                                      \
	"kind: Event\ninvolvedObject: {kind: Pod, name: bert-node-0-0-x}\ntype: Normal" \
	"\nreason: " reason "\nmessage: '" message "'\n" component                      \
	"\nlastTimestamp: '2026-01-01T" time "Z'\n---\n"
#define CLUSTER_AUTOSCALER "source: {component: cluster-autoscaler}"

TEST(test_autoscalers)
{
	static const struct row rows[] = {
		{ "none", WAITS EVENT_BY("source: {component: x}", "Y", "z", "00:59:00"),
		  NO_NODE ".\n" },
		{ "a node will come",
		  WAITS EVENT_BY(CLUSTER_AUTOSCALER, "TriggeredScaleUp",
				 "pod triggered scale-up: [{gpu 0->1 (max: 4)}]",
				 "00:59:00")
			  EVENT_BY(CLUSTER_AUTOSCALER, "NotTriggerScaleUp", "not so far",
				   "00:58:00"),
		  NO_NODE "; cluster-autoscaler, 60s ago: pod triggered scale-up: [{gpu "
			  "0->1 (max: 4)}].\n" },
		{ "none will",
		  WAITS EVENT_BY("reportingComponent: karpenter", "FailedScheduling",
				 "no instance type satisfied resources.", "00:58:00"),
		  NO_NODE
		  "; karpenter, 2m ago: no instance type satisfied resources.\n" },
	};

	CHECK_ALL(rows);
}

#define ASLEEP(spec)                                                                  \
	JOB(spec, STATUS)                                                             \
	"kind: JobSet\n" META("bert") "}\nspec: {suspend: true}\nstatus: {restarts: " \
				      "0}\n---\n"

TEST(test_a_jobset_that_another_program_suspends)
{
	check("suspended", ASLEEP(""),
	      "bert is pending: its JobSet is suspended, though spec.suspend of the job "
	      "is not true: the controller has not resumed it, or another program "
	      "suspends it, such as a policy, or Kueue without its TrainJob "
	      "integration.\nMore: kubectl describe jobset bert -n a\n");
	check("as its job", ASLEEP(", suspend: true"),
	      "bert is suspended: spec.suspend has been true");
}

/* kubernetes-sigs/prow#117, flyteorg/flyteplugins#354 */
TEST(test_pods_that_their_node_ends)
{
	static const struct {
		const char *reason, *want;
		bool ran;
	} rows[] = {
		{ "Terminated", "was ended as its node shut down (Terminated): m", true },
		{ "Preempting",
		  "was ended by its node for a critical pod (Preempting): m", true },
		{ "DeadlineExceeded", "was ended by its node: m (DeadlineExceeded)",
		  true },
		{ "OutOfcpu", "was refused by its node: m (OutOfcpu)", false },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena a = { 0 };

		check(rows[i].reason,
		      arena_printf(
			      &a,
			      JOB("", FAILED) JOBSET JOBS PLACED(
				      "0", "phase: Failed, reason: %s, message: m.%s"),
			      rows[i].reason,
			      rows[i].ran ? ", containerStatuses: [{name: node, "
					    "state: {" END("137", NOW) "}}]"
					  : ""),
		      arena_printf(&a,
				   "bert has failed: the first failure is that of node-0 "
				   "(node rank 0), pod bert-node-0-0-x on node n1, %s",
				   rows[i].want));
	}
}

#define LOST_CONTAINER(rank, code, reason, second)                              \
	PLACED(rank, "phase: Failed, " STATE(                                   \
			     "terminated: {exitCode: " code ", reason: " reason \
			     ", finishedAt: '2026-01-01T00:00:" second "Z'}"))

/* kubernetes/kubernetes#61051, spinframework/runtime-class-manager#140 */
TEST(test_containers_that_their_node_lost)
{
	static const struct row rows[] = {
		{ "the kubelet has not found it",
		  JOB("", FAILED) JOBSET JOBS LOST_CONTAINER(
			  "0", "137", "ContainerStatusUnknown", "05"),
		  "bert has failed: the first failure is that of node-0 (node rank 0), pod "
		  "bert-node-0-0-x on node n1: container node ended with exit code 137 "
		  "(SIGKILL): its node lost it (ContainerStatusUnknown), as when the node "
		  "or its container runtime restarts." },
		{ "the container runtime does not know it",
		  JOB("", FAILED) JOBSET JOBS LOST_CONTAINER("0", "255", "Unknown", "05"),
		  "bert has failed: the first failure is that of node-0 (node rank 0), pod "
		  "bert-node-0-0-x on node n1: container node ended with exit code 255: "
		  "its node lost it (Unknown), as when" },
		{ "what failed by itself explains more",
		  JOB("", FAILED) JOBSET JOBS LOST_CONTAINER("0", "255", "Unknown", "05")
			  LOST_CONTAINER("1", "255", "Error", "06"),
		  "bert has failed: the first failure is that of node-1 (node rank 1), pod "
		  "bert-node-0-1-x on node n1: container node ended with exit code 255." },
	};

	CHECK_ALL(rows);
}

#define BOTH_PODS PLACED("0", "phase: Pending") PLACED("1", "phase: Pending")
#define STARTS    "bert is pending: its pods are starting: 0 of 2 are ready"

TEST(test_warnings_that_are_over)
{
	static const struct row rows[] = {
		{ "the JobSet exists",
		  JOB("", STATUS) JOBSET JOBS BOTH_PODS EVENT(
			  "TrainJob", "bert", "Warning",
			  "TrainJobResourcesCreationFailed", "exceeded quota: q"),
		  STARTS },
		{ "the pods exist",
		  JOB("", STATUS) JOBSET JOBS BOTH_PODS EVENT(
			  "Job", "bert-node-0", "Warning", "FailedCreate", "no"),
		  STARTS },
		{ "the pod has a node",
		  JOB("", STATUS) JOBSET JOBS BOTH_PODS EVENT(
			  "Pod", "bert-node-0-0-x", "Warning", "FailedScheduling", "0/1"),
		  STARTS },
		{ "another",
		  JOB("", STATUS) JOBSET JOBS BOTH_PODS EVENT(
			  "Pod", "bert-node-0-0-x", "Warning", "NetworkNotReady", "no"),
		  "bert is pending: the last warning, of Pod bert-node-0-0-x 10m ago, is: "
		  "no (NetworkNotReady)" },
	};

	CHECK_ALL(rows);
}

#define GOES(kind, name, finalizers)                                            \
	"kind: " kind "\nmetadata: {name: " name ", namespace: a, uid: u-" name \
	", creationTimestamp: '2026-01-01T00:00:00Z', deletionTimestamp: "      \
	"'2026-01-01T00:50:00Z', finalizers: [" finalizers "]}\n"
#define JOB_GOES GOES("TrainJob", "bert", "foregroundDeletion") "spec: {}\n---\n"

TEST(test_finalizers_of_what_a_deletion_waits_for)
{
	static const struct row rows[] = {
		{ "of the JobSet",
		  JOB_GOES GOES("JobSet", "bert", "foregroundDeletion, x/y") "spec: {}\n",
		  "bert is being deleted: its JobSet's finalizer x/y has not been removed "
		  "by its owner.\nMore: kubectl describe jobset bert -n a\n" },
		{ "of a Job",
		  JOB_GOES GOES(
			  "JobSet", "bert",
			  "foregroundDeletion") "spec: {}\n---\n" GOES("Job",
								       "bert-node-0",
								       "x/y") "spec: {}\n",
		  "bert is being deleted: its Job bert-node-0's finalizer x/y has not" },
		{ "none", JOB_GOES, "bert is being deleted: 0 of its pods remain" },
	};

	CHECK_ALL(rows);
}

RUN_TESTS(NULL, NULL)
