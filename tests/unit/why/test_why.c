/* Each cause of why/why.h, from documents as API servers store them. */
#include "tests/unit/why/why_test.h"

#define ELSEWHERE(status)                                                  \
	JOB(", managedBy: kueue.x-k8s.io/multikueue", status)              \
	WORKLOAD("{clusterName: east, conditions: [{type: QuotaReserved, " \
		 "status: 'True'}, {type: Admitted, status: 'True'}]}",    \
		 "")
#define TOPOLOGY(message)                                                               \
	QUEUED WORKLOAD("{conditions: [{type: QuotaReserved, status: 'False', reason: " \
			"Pending, message: '" message "'}]}",                           \
			", podSets: [{name: a}, {name: node, topologyRequest: "         \
			"{required: x/rack}}]")

#define TORCH                                                                        \
	"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: ClusterTrainingRuntime\n"  \
	"metadata: {name: r}\nspec: {mlPolicy: {torch: {}}, template: {spec: "       \
	"{replicatedJobs: [{name: node, template: {metadata: {labels: "              \
	"{trainer.kubeflow.org/trainjob-ancestor-step: trainer}}, spec: {template: " \
	"{spec: {containers: [{name: node, image: i}]}}}}}]}}}\n---\n"

/* A runtime that tolerates `team`, and a patch of tolerations for a job. */
#define PATCHED(manager, job)                                                   \
	JOB(", runtimePatches: [{manager: " manager ", trainingRuntimeSpec: "   \
	    "{template: {spec: {replicatedJobs: [{name: " job ", template: "    \
	    "{spec: {template: {spec: {tolerations: [{key: spot, operator: "    \
	    "Exists}]}}}}}]}}}}]",                                              \
	    STATUS)                                                             \
	"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: "                     \
	"ClusterTrainingRuntime\nmetadata: {name: r}\nspec: {template: {spec: " \
	"{replicatedJobs: [{name: node, template: {spec: {template: {spec: "    \
	"{tolerations: [{key: team, operator: Exists}], containers: [{name: "   \
	"node, image: i}]}}}}}]}}}\n---\n"
#define TAINTED UNSCHEDULABLE("1 node(s) had untolerated taint(s).")

#define SHORT_OF_PODS(message)                                                      \
	"kind: Job\n" META("bert-node-0") "}\nspec: {parallelism: 2}\n---\n" EVENT( \
		"Job", "bert-node-0", "Warning", "FailedCreate",                    \
		"Error creating: " message)
#define REFUSED(what, message, want)                                         \
	{                                                                    \
		what,                                                        \
			JOB("", STATUS) JOBSET SHORT_OF_PODS(                \
				"pods \"p\" is forbidden: " message),        \
			"bert is pending: its pods cannot be created: " want \
	}

/* ---- nobody acts, objects are refused ---- */

TEST(test_start)
{
	static const struct row rows[] = {
		{ "no controller, none installed",
		  JOB("", "") MISSING("Lease") MISSING("Deployment"),
		  "bert is pending: the Kubeflow Trainer controller has not "
		  "processed it for 60m: it has neither a status nor a "
		  "JobSet; the cluster has neither its Deployment nor its "
		  "Lease: is it installed (kftrainer install)?\n" },
		{ "no controller, its lease is old",
		  JOB("",
		      "") "kind: Lease\n"
			  "metadata: {namespace: kubeflow-system}\n"
			  "spec: {holderIdentity: p1, renewTime: '2026-01-01T00:50:00.1Z'}\n",
		  "bert is pending: the Kubeflow Trainer controller has not processed it "
		  "for 60m: it has neither a status nor a JobSet; its Lease, of p1, was "
		  "last renewed 10m ago.\nMore: kubectl get pods -n kubeflow-system\n" },
		{ "no pod of the controller is available",
		  JOB("", "") "kind: Deployment\nmetadata: {namespace: k}\n",
		  "bert is pending: the Kubeflow Trainer controller has not processed it "
		  "for 60m: it has neither a status nor a JobSet; its Deployment has no "
		  "available pod.\nMore: kubectl get pods -n k\n" },
		{ "no runtime", JOB("", "") MISSING("ClusterTrainingRuntime"),
		  "bert is pending: the ClusterTrainingRuntime r that it refers to does not exist.\n"
		  "More: kubectl get clustertrainingruntimes\n" },
		{ "a command that would train wrongly",
		  JOB(", trainer: {numNodes: 2, command: [accelerate, launch, a.py]}",
		      STATUS) JOBSET TORCH,
		  "bert is pending: it was created 60m ago and has no pods yet. Also: "
		  "its command would train wrongly: accelerate launch without "
		  "--machine_rank does not read what the runtime sets: each of the 2 "
		  "nodes trains alone; use --launcher accelerate" },
		{ "a right one",
		  JOB(", trainer: {numNodes: 2, command: [torchrun, a.py]}", STATUS)
			  JOBSET TORCH,
		  "bert is pending: it was created 60m ago and has no pods yet.\nMore" },
		{ "its runtime has been deleted",
		  JOB("", STATUS) JOBSET MISSING("ClusterTrainingRuntime"),
		  "bert is pending: it was created 60m ago and has no pods yet. Also: "
		  "its ClusterTrainingRuntime r has been deleted: the" },
		{ "another controller's", JOB(", managedBy: x", ""),
		  "bert is pending: spec.managedBy names another controller" },
		{ "another controller's JobSet",
		  JOB("", STATUS) "kind: JobSet\n" META(
			  "bert") "}\nspec: {managedBy: a.b/c}\n",
		  "bert is pending: its JobSet leaves its Jobs to a.b/c (managedBy in the "
		  "runtime's template), which has created none; without such a controller "
		  "remove managedBy.\nMore: kubectl describe jobset bert -n a\n" },
		{ "another controller's Jobs",
		  JOB("", STATUS) "kind: JobSet\n" META(
			  "bert") "}\nspec: {managedBy: jobset.sigs.k8s.io/jobset-controller, "
				  "replicatedJobs: [{name: a, template: {spec: {managedBy: "
				  "kubernetes.io/job-controller}}}, {name: b, template: {spec: "
				  "{managedBy: x.y/z}}}]}\nstatus: {restarts: 0}\n---\n" JOBS,
		  "bert is pending: job b leaves its pods to x.y/z (managedBy in" },
		{ "in a worker cluster, not yet",
		  JOB(", managedBy: kueue.x-k8s.io/multikueue, suspend: true", "")
			  WORKLOAD(
				  "{conditions: [{type: QuotaReserved, status: 'True'}], "
				  "admissionChecks: [{name: mk, state: Pending, message: "
				  "no cluster answers}]}",
				  ""),
		  "bert is suspended: Kueue has reserved quota and is waiting for the "
		  "admission check mk" },
		{ "in a worker cluster", ELSEWHERE(""),
		  "bert is pending: its pods run in cluster east, which "
		  "MultiKueue chose; use that cluster's kubeconfig" },
		{ "in a worker cluster, where it runs",
		  ELSEWHERE("status: {jobsStatus: [{name: node, ready: 1}]}"),
		  "bert is running: its pods run in cluster east, which "
		  "MultiKueue chose; use that cluster's kubeconfig to see them.\n" },
		{ "in a worker cluster that does not answer",
		  ELSEWHERE(
			  "status: {jobsStatus: [{name: node, ready: 1}]}") "kind: MultiKueueCluster\n"
									    "metadata: {name: east}\n"
									    "status: {conditions: [{type: Active, status: 'False', message: "
									    "connection refused., lastTransitionTime: '2026-01-01T00:58:00Z'}]}\n",
		  "bert is running: for 2m Kueue has had no connection to cluster east, "
		  "which runs it; its status is out of date: connection refused.\n"
		  "More: kubectl describe multikueuecluster east\n" },
		{ "refused by a webhook",
		  JOB("", STATUS) EVENT(
			  "TrainJob", "bert", "Warning",
			  "TrainJobResourcesCreationFailed",
			  "TrainJob resources reconciliation failed: apply: admission "
			  "webhook \"v\" denied the request: too long."),
		  "bert is pending: its objects cannot be created: an admission webhook "
		  "refuses them: apply: admission webhook \"v\" denied the request: too "
		  "long.\nMore: kubectl describe trainjob bert -n a\n" },
		{ "a webhook is not there",
		  JOB("", STATUS) EVENT("TrainJob", "bert", "Warning",
					"TrainJobResourcesCreationFailed",
					"failed calling webhook \"v\": no endpoints"),
		  "bert is pending: its objects cannot be created: an admission webhook "
		  "does not answer: failed calling" },
		{ "no PodGroup kind",
		  JOB("", STATUS)
			  EVENT("TrainJob", "bert", "Warning",
				"TrainJobResourcesCreationFailed",
				"TrainJob resources reconciliation failed: PodGroup "
				"(scheduling.x-k8s.io/v1alpha1), which the runtime''s "
				"podGroupPolicy needs, is not installed in the cluster"),
		  "bert is pending: its objects cannot be created: PodGroup "
		  "(scheduling.x-k8s.io/v1alpha1), which the runtime's podGroupPolicy "
		  "needs, is not installed in the cluster.\n"
		  "More: kubectl get crds | grep podgroups\n" },
		{ "that was before there was a JobSet",
		  JOB("", STATUS) EVENT("TrainJob", "bert", "Warning",
					"TrainJobResourcesCreationFailed", "conflict")
			  JOBSET JOBS PLACED("0", READY) PLACED("1", READY),
		  "bert is running: no problem found: 2 of 2 pods have been "
		  "running for 60m; it reports no progress.\n" },
		{ "JobSet's controller is not there",
		  JOB("", STATUS) "kind: JobSet\n" META("bert") "}\n---\n",
		  "bert is pending: the JobSet controller has not processed "
		  "the JobSet for 60m: it has neither a status nor Jobs; is "
		  "the controller running?\n" },
		{ "its Jobs are refused",
		  JOB("", STATUS) "kind: JobSet\n" META("bert") "}\n---\n" EVENT(
			  "JobSet", "bert", "Warning", "JobCreationFailed", "invalid."),
		  "bert is pending: the Jobs of its JobSet cannot be "
		  "created: invalid.\n" },
		{ "ResourceQuota",
		  JOB("", STATUS) JOBSET "kind: Job\n" META(
			  "bert-node-0") "}\n"
					 "spec: {parallelism: 2}\n"
					 "---\n" EVENT(
						 "Job", "bert-node-0", "Warning",
						 "FailedCreate",
						 "Error creating: pods \"p\" is forbidden: exceeded quota: "
						 "q, requested: cpu=2, used: cpu=1, limited: cpu=2"),
		  "bert is pending: its pods cannot be created: a ResourceQuota of the "
		  "namespace is used up: exceeded quota: q, requested: cpu=2, used: "
		  "cpu=1, limited: cpu=2.\nMore: kubectl describe resourcequota -n a\n" },
		{ "LimitRange",
		  JOB("", STATUS) JOBSET "kind: Job\n" META(
			  "bert-node-0") "}\n"
					 "spec: {parallelism: 2}\n"
					 "---\n" EVENT(
						 "Job", "bert-node-0", "Warning",
						 "FailedCreate",
						 "Error creating: pods \"p\" is forbidden: maximum cpu "
						 "usage per Container is 1, but limit is 2"),
		  "bert is pending: its pods cannot be created: a LimitRange of the "
		  "namespace does not allow them: maximum cpu usage per Container is 1" },
		REFUSED("a quota of what is not requested",
			"failed quota: q: must specify limits.cpu for: node",
			"a ResourceQuota counts what they do not request: failed quota: "
			"q: must specify limits.cpu for: node.\n"
			"More: kubectl describe resourcequota -n a\n"),
		REFUSED("a quota of priority classes",
			"insufficient quota to match these scopes: [{PriorityClass In "
			"[high]}]",
			"their priority class needs a ResourceQuota with a scope for it: "
			"insufficient quota to match these scopes: [{PriorityClass In "
			"[high]}].\n"),
		REFUSED("OpenShift",
			"unable to validate against any security context constraint: "
			"[provider anyuid: Forbidden: not usable by user or "
			"serviceaccount]",
			"no SecurityContextConstraints of OpenShift allow them to their "
			"service account: unable to validate against any security"),
		REFUSED("OpenShift, where one of its constraints may be used",
			"unable to validate against any security context constraint: "
			"[provider \"anyuid\": Forbidden: not usable by user or "
			"serviceaccount, provider restricted-v2: "
			".containers[0].runAsUser: Invalid value: 1000: must be in the "
			"ranges: [1000740000, 1000749999], provider \"nonroot\": "
			"Forbidden: not usable by user or serviceaccount, provider "
			"\"privileged\": Forbidden: not usable by user or "
			"serviceaccount]",
			"no SecurityContextConstraints of OpenShift allow them to their "
			"service account: unable to validate against any security context "
			"constraint: [provider restricted-v2: .containers[0].runAsUser: "
			"Invalid value: 1000: must be in the ranges: [1000740000, 1000749999]].\nMore: "
			"kubectl get scc\n"),
		REFUSED("a quota that is new",
			"status unknown for quota: q, resources: pods",
			"a ResourceQuota of the namespace has not been calculated yet: "
			"status unknown for quota: q, resources: pods.\nMore: "
			"kubectl describe resourcequota -n a\n"),
		REFUSED("a quota that changes",
			"Operation cannot be fulfilled on resourcequotas q: the object has "
			"been modified",
			"others create what a ResourceQuota counts at the same time; it is "
			"tried again: Operation cannot be fulfilled on resourcequotas q: the "
			"object has been modified.\nMore: kubectl describe resourcequota -n "
			"a\n"),
		REFUSED("a negative priority",
			"metadata.labels: Invalid value: \"-1\": a valid label must be",
			"JobSet copies their negative priority into a label, which is "
			"refused: upgrade JobSet, or use another class: metadata.labels: "
			"Invalid value: \"-1\": a valid label must be.\nMore: kubectl get "
			"priorityclasses\n"),
		REFUSED("the namespace is deleted",
			"unable to create new content in namespace a because it is being "
			"terminated",
			"the namespace is being deleted: unable to create new content in "
			"namespace a because it is being terminated.\n"),
		REFUSED("a policy",
			"ValidatingAdmissionPolicy ''p'' with binding ''b'' denied "
			"request: no team label",
			"a ValidatingAdmissionPolicy refuses them: "
			"ValidatingAdmissionPolicy 'p' with binding 'b' denied request: "
			"no team label.\nMore: kubectl get validatingadmissionpolicies\n"),
		REFUSED("a runtime class",
			"pod rejected: RuntimeClass \"kata\" not found",
			"their runtime class does not exist: pod rejected: RuntimeClass "
			"\"kata\" not found.\nMore: kubectl get runtimeclasses\n"),
		{ "it has just been made",
		  "kind: TrainJob\n"
		  "metadata: {name: bert, namespace: a, creationTimestamp: '2026-01-01T00:59:58Z'}\n"
		  "spec: {runtimeRef: {name: r}}\n",
		  "bert is pending: it was created 2s ago and has no JobSet yet" },
		{ "a finalizer of a pod that has ended",
		  "kind: TrainJob\n"
		  "metadata: {name: bert, namespace: a, deletionTimestamp: "
		  "'2026-01-01T00:59:58Z'}\n---\nkind: Pod\n"
		  "metadata: {name: p, namespace: a, deletionTimestamp: "
		  "'2026-01-01T00:59:58Z', finalizers: [batch.kubernetes.io/job-tracking]}"
		  "\nspec: {nodeName: n1}\nstatus: {phase: Failed}\n",
		  "bert is being deleted: its pod p has ended, but its finalizer "
		  "batch.kubernetes.io/job-tracking has not been removed by its owner.\n"
		  "More: kubectl describe pod p -n a\n" },
		{ "a pod that has not ended",
		  "kind: TrainJob\n"
		  "metadata: {name: bert, namespace: a, deletionTimestamp: "
		  "'2026-01-01T00:59:58Z'}\n---\nkind: Pod\n"
		  "metadata: {name: p, namespace: a, deletionTimestamp: "
		  "'2026-01-01T00:59:58Z', finalizers: [batch.kubernetes.io/job-tracking]}"
		  "\nspec: {nodeName: n1}\nstatus: {phase: Running}\n",
		  "bert is being deleted: its pods are terminating; p still exists on "
		  "node n1.\n" },
		{ "a finalizer",
		  "kind: TrainJob\n"
		  "metadata: {name: bert, namespace: a, deletionTimestamp: "
		  "'2026-01-01T00:59:58Z', finalizers: [x/y]}\n",
		  "bert is being deleted: its finalizer x/y has not been removed" },
	};

	CHECK_ALL(rows);
}

/* ---- suspended, Kueue ---- */

#define NO_FLAVOR(message)                                                              \
	QUEUED WORKLOAD(                                                                \
		"{conditions: [{type: QuotaReserved, status: 'False', reason: "         \
		"Pending, message: 'couldn''t assign flavors to pod set node: " message \
		"'}]}",                                                                 \
		"")
#define STEPS                                                                         \
	"kind: JobSet\n" META("bert") "}\nspec: {replicatedJobs: [{name: i}, {name: " \
				      "node, dependsOn: [{name: i, status: "          \
				      "Complete}]}]}\n---\n"
#define ADMITTED                                                                         \
	"{conditions: [{type: QuotaReserved, status: 'True'}, {type: Admitted, status: " \
	"'True', lastTransitionTime: '2026-01-01T00:50:00Z'}]}"

TEST(test_queue)
{
	static const struct row rows[] = {
		{ "by somebody",
		  JOB(", suspend: true",
		      "status: {conditions: [{type: Suspended, status: 'True', "
		      "lastTransitionTime: '2026-01-01T00:58:00Z'}]}"),
		  "bert is suspended: spec.suspend has been true for 2m, not set by "
		  "Kueue; resume it to continue.\nMore: kftrainer resume bert -n a\n" },
		{ "no Kueue", QUEUED MISSING("Kueue"),
		  "bert is suspended: it is for Kueue's queue q (label "
		  "kueue.x-k8s.io/queue-name), but Kueue is not installed in "
		  "the cluster" },
		{ "more jobs than a Workload can have",
		  QUEUED "kind: JobSet\n" META(
			  "bert") "}\nspec: {suspend: true, replicatedJobs: [{name: a}, "
				  "{name: b}, {name: c}, {name: d}, {name: e}, {name: f}, "
				  "{name: g}, {name: h}, {name: i}]}\n",
		  "bert is suspended: Kueue has not created a Workload for it for 60m: its "
		  "JobSet has 9 jobs, where a Workload has at most 18 pod sets (in older "
		  "releases of Kueue 8).\nMore: kubectl get workloads -n a\n" },
		{ "no Workload", QUEUED,
		  "bert is suspended: Kueue has not created a Workload for it for 60m: "
		  "is its controller running" },
		{ "no such queue", QUEUED WORKLOAD(NO_QUOTA, "") MISSING("LocalQueue"),
		  "bert is suspended: Kueue holds it back: no LocalQueue q in namespace "
		  "a (label kueue.x-k8s.io/queue-name).\n" },
		{ "the queue is stopped",
		  QUEUED WORKLOAD(
			  NO_QUOTA,
			  "") "kind: LocalQueue\n"
			      "spec: {clusterQueue: c}\n"
			      "status: {conditions: [{type: Active, status: 'False', message: "
			      "ClusterQueue is stopped}]}\n",
		  "bert is suspended: Kueue holds it back: LocalQueue q (ClusterQueue c) "
		  "is not admitting: ClusterQueue is stopped.\n" },
		{ "behind two others, by age and by priority",
		  QUEUED WORKLOAD(
			  NO_QUOTA,
			  "") "kind: WaitingWorkload\n"
			      "metadata: {creationTimestamp: '2025-12-31T00:00:00Z'}\n"
			      "---\n"
			      "kind: WaitingWorkload\n"
			      "metadata: {creationTimestamp: '2026-01-01T00:30:00Z'}\n"
			      "spec: {priority: 5}\n"
			      "---\n"
			      "kind: WaitingWorkload\n"
			      "metadata: {creationTimestamp: '2026-01-01T00:30:00Z'}\n",
		  "bert is suspended: it is waiting for quota in Kueue, as 3rd of 4 in "
		  "LocalQueue q: insufficient quota for cpu.\n"
		  "More: kubectl describe workload trainjob-bert-1 -n a\n" },
		{ "as Kueue tells it",
		  QUEUED WORKLOAD(
			  NO_QUOTA,
			  "") "kind: PendingWorkloadsSummary\n"
			      "items: [{metadata: {name: z}}, {metadata: {name: trainjob-bert-1}, "
			      "positionInLocalQueue: 1, positionInClusterQueue: 11}]\n",
		  "bert is suspended: it is waiting for quota in Kueue, as 2nd of 2 in "
		  "LocalQueue q, and in its ClusterQueue 12th: insufficient" },
		{ "no rack has room",
		  TOPOLOGY("topology \"t\" allows to fit only 1 out of 2 pod(s)"),
		  "bert is suspended: it is waiting for room in a topology in Kueue, as "
		  "1st of 1 in LocalQueue q (annotation "
		  "kueue.x-k8s.io/podset-required-topology: x/rack): topology \"t\" allows "
		  "to fit only 1 out of 2 pod(s).\n"
		  "More: kubectl describe workload trainjob-bert-1 -n a\n" },
		{ "no such level",
		  TOPOLOGY("Flavor \"f\" does not contain the requested level"),
		  "bert is suspended: Kueue holds it back: no topology of its queue has "
		  "the level x/rack (annotation kueue.x-k8s.io/podset-required-topology): "
		  "Flavor \"f\" does not contain the requested level.\n"
		  "More: kubectl get topologies -o yaml\n" },
		{ "room in the topology, but no quota",
		  TOPOLOGY("insufficient unused quota for cpu"),
		  "bert is suspended: it is waiting for quota in Kueue, as 1st of 1" },
		{ "more than the queue can ever have",
		  NO_FLAVOR("insufficient quota for cpu in flavor f, previously "
			    "considered podsets requests (0) + current podset request "
			    "(9) > maximum capacity (4)"),
		  "bert is suspended: Kueue cannot admit it to LocalQueue q, however long "
		  "it waits: couldn't assign flavors to pod set node: insufficient quota "
		  "for cpu in flavor f, previously considered podsets requests (0) + "
		  "current podset request (9) > maximum capacity (4).\n"
		  "More: kubectl describe workload trainjob-bert-1 -n a\n" },
		{ "a resource that the queue does not have",
		  NO_FLAVOR("insufficient unused quota for cpu in flavor f, 1 more "
			    "needed; couldn''t assign flavors to pod set node: resource "
			    "x/gpu unavailable in ClusterQueue"),
		  "bert is suspended: Kueue cannot admit it to LocalQueue q, however" },
		{ "no flavor for it",
		  NO_FLAVOR("untolerated taint {gpu true NoSchedule <nil>} in flavor f"),
		  "bert is suspended: Kueue cannot admit it to LocalQueue q, however" },
		{ "one flavor never, another later",
		  NO_FLAVOR("insufficient unused quota for cpu in flavor f, 1 more "
			    "needed, insufficient quota for cpu in flavor g, previously "
			    "considered podsets requests (0) + current podset request "
			    "(9) > maximum capacity (4)"),
		  "bert is suspended: it is waiting for quota in Kueue, as 1st of 1" },
		{ "Kueue's own reason",
		  QUEUED WORKLOAD(
			  "{conditions: [{type: QuotaReserved, status: 'False', reason: "
			  "Misconfigured, message: no claim}]}",
			  ""),
		  "bert is suspended: Kueue cannot admit it to LocalQueue q, however "
		  "long it waits: no claim.\n" },
		{ "its ClusterQueue is stopped",
		  QUEUED WORKLOAD(
			  NO_QUOTA,
			  "") "kind: LocalQueue\n"
			      "spec: {clusterQueue: c}\n"
			      "status: {conditions: [{type: Active, status: 'False', reason: "
			      "ClusterQueueIsInactive, message: cannot submit}]}\n",
		  "bert is suspended: Kueue holds it back: LocalQueue q (ClusterQueue c) "
		  "is not admitting: cannot submit.\n"
		  "More: kubectl describe clusterqueue c\n" },
		{ "backing off, with initializers",
		  QUEUED WORKLOAD(
			  "{requeueState: {count: 3, requeueAt: '2026-01-01T01:04:00Z'}, "
			  "conditions: [{type: Evicted, status: 'True', reason: "
			  "PodsReadyTimeout, message: Exceeded the PodsReady timeout x}, "
			  "{type: QuotaReserved, status: 'False'}]}",
			  "") STEPS,
		  "bert is suspended: Kueue has evicted it (PodsReadyTimeout): Exceeded "
		  "the PodsReady timeout x (the timeout, waitForPodsReady of Kueue, "
		  "includes the time of its initializers); it is queued again in 4m, for "
		  "the 3rd time.\nMore" },
		{ "backing off for a check",
		  QUEUED WORKLOAD(
			  "{requeueState: {requeueAt: '2026-01-01T01:00:30Z'}, "
			  "conditions: [{type: Evicted, status: 'True', reason: "
			  "AdmissionCheck, message: no nodes}, {type: QuotaReserved, "
			  "status: 'False'}]}",
			  ""),
		  "bert is suspended: Kueue has evicted it (AdmissionCheck): no nodes; it "
		  "is queued again in 30s.\n" },
		{ "its back-off is over",
		  QUEUED WORKLOAD(
			  "{requeueState: {count: 1, requeueAt: '2026-01-01T00:59:00Z'}, "
			  "conditions: [{type: Evicted, status: 'True', reason: "
			  "PodsReadyTimeout, message: m}, {type: QuotaReserved, status: "
			  "'False'}]}",
			  ""),
		  "bert is suspended: Kueue has evicted it (PodsReadyTimeout): m. Also: "
		  "it is waiting for quota" },
		{ "deactivated", QUEUED WORKLOAD(NO_QUOTA, ", active: false"),
		  "bert is suspended: Kueue holds it back: its Workload is deactivated "
		  "(spec.active: false).\n" },
		{ "preempted",
		  QUEUED WORKLOAD(
			  "{conditions: [{type: Evicted, status: 'True', reason: "
			  "Preempted, message: Preempted to accommodate x}, {type: "
			  "QuotaReserved, status: 'False'}]}",
			  ""),
		  "bert is suspended: Kueue has evicted it (Preempted): Preempted to "
		  "accommodate x. Also: it is waiting" },
		{ "an admission check",
		  QUEUED WORKLOAD(
			  "{conditions: [{type: QuotaReserved, status: 'True'}], "
			  "admissionChecks: [{name: p, state: Pending, message: booting}]}",
			  ""),
		  "bert is suspended: Kueue has reserved quota and is waiting for the "
		  "admission check p, which is Pending: booting.\n" },
		{ "admitted",
		  QUEUED WORKLOAD("{conditions: [{type: QuotaReserved, status: 'True'}, "
				  "{type: Admitted, status: 'True'}]}",
				  ""),
		  "bert is suspended: Kueue has admitted it and is about to "
		  "resume it.\n" },
		{ "admitted long ago",
		  JOB(", suspend: true, runtimePatches: [{manager: "
		      "kueue.x-k8s.io/manager}]",
		      "") WORKLOAD(ADMITTED, ""),
		  "bert is suspended: Kueue admitted it 10m ago and has not resumed it: "
		  "its controller's log says why.\nMore: kubectl logs -n kueue-system "
		  "deployment/kueue-controller-manager\n" },
		{ "admitted, without Kueue's entry",
		  JOB(", suspend: true, runtimePatches: [{manager: example.com/me}]", "")
			  WORKLOAD(ADMITTED, ""),
		  "bert is suspended: Kueue admitted it 10m ago and has not resumed it: "
		  "its entry in spec.runtimePatches (manager kueue.x-k8s.io/manager) is "
		  "missing: submit the job again, and do not replace that list.\n" },
		{ "admitted, with resources of a container that Kueue does not know",
		  JOB(", suspend: true, runtimePatches: [{manager: "
		      "kueue.x-k8s.io/manager}, {manager: m, trainingRuntimeSpec: "
		      "{template: {spec: {replicatedJobs: [{name: node, template: {spec: "
		      "{template: {spec: {containers: [{name: s, resources: {limits: "
		      "{cpu: 1}}}]}}}}}]}}}}]",
		      "") WORKLOAD(ADMITTED, ""),
		  "bert is suspended: Kueue admitted it 10m ago and has not resumed it: "
		  "Kueue 0.19 drops the resources of containers in spec.runtimePatches, "
		  "which are immutable; put them into its runtime.\n" },
		{ "admitted, with claims that Kueue does not know",
		  JOB(", suspend: true, trainer: {resourceClaimsPerNode: [{name: g}]}",
		      "") WORKLOAD("{conditions: [{type: QuotaReserved, status: "
				   "'True'}, {type: Admitted, status: 'True', "
				   "lastTransitionTime: '2026-01-01T00:50:00Z'}]}",
				   ""),
		  "bert is suspended: Kueue has admitted it and cannot resume it: Kueue "
		  "0.19 drops the resource claims" },
	};

	CHECK_ALL(rows);
}

/* ---- places ---- */

#define FOLLOWERS(message) \
	SHORT_OF_PODS("admission webhook \"vpod.kb.io\" denied the request: " message)
#define LEADER                                                                      \
	"kind: Pod\n" META(                                                         \
		"bert-node-0-0-x") ", annotations: {scheduling.k8s.io/group-name: " \
				   "bert}}\nspec: {containers: [{name: node}]}\n"   \
				   "status: {" UNSCHEDULABLE("gang") "}\n---\n"

TEST(test_place)
{
	static const struct row rows[] = {
		{ "no room",
		  JOB("", STATUS) JOBSET JOBS PLACED("0", READY)
			  POD_OF("1", "",
				 UNSCHEDULABLE("0/1 nodes are available: 1 "
					       "Insufficient cpu. preemption: x"))
				  NODE_OF("n1", "'True'", "used: {cpu: '3'}\n"),
		  "bert is pending: no node can run 1 of its 2 pods: 0/1 nodes are "
		  "available: 1 Insufficient cpu (a pod requests 2 cpu, but no node has "
		  "more than 1 free (of 4)).\n"
		  "More: kubectl describe pod bert-node-0-1-x -n a\n" },
		{ "no node is that large",
		  JOB("", STATUS) JOBSET JOBS POD_OF(
			  "0", "",
			  UNSCHEDULABLE("0/1 nodes are available: 1 Insufficient cpu."))
			  NODE_OF("n1", "'True'", "used: {}\n")
				  NODE_OF("n2", "'Unknown'", ""),
		  "bert is pending: no node can run its pod: 0/1 nodes are available: 1 "
		  "Insufficient cpu (a pod requests 2 cpu, but no node has" },
		{ "nodes may not be read",
		  JOB("", STATUS) JOBSET JOBS POD_OF(
			  "0", "",
			  UNSCHEDULABLE(
				  "0/1: 1 Insufficient cpu.")) "kind: Denied\n"
							       "resource: nodes\n"
							       "what: list nodes\n"
							       "check: kubectl auth can-i list nodes\n",
		  "bert is pending: no node can run its pod: 0/1: 1 Insufficient cpu (a "
		  "pod requests 2 cpu). You are not allowed to list nodes, so this answer "
		  "may be incomplete.\n"
		  "More: kubectl describe pod bert-node-0-0-x -n a\n"
		  "Check: kubectl auth can-i list nodes\n" },
		{ "a selector",
		  JOB("", STATUS) JOBSET JOBS POD_OF(
			  "0", "nodeSelector: {gpu: a100}, ",
			  UNSCHEDULABLE(
				  "1 didn''t match Pod''s node affinity/selector.")),
		  "bert is pending: no node can run its pod: 1 didn't match Pod's node "
		  "affinity/selector (its nodeSelector is gpu=a100).\n" },
		{ "tolerations of the runtime that Kueue's patch replaces",
		  PATCHED("kueue.x-k8s.io/manager", "node") JOBSET JOBS POD_OF(
			  "0", "tolerations: [{key: spot, operator: Exists}], ", TAINTED),
		  "bert is pending: no node can run its pod: 1 node(s) had untolerated "
		  "taint(s) (the tolerations that kueue.x-k8s.io/manager patches replace "
		  "those of the runtime, such as team; add them to the ResourceFlavor, "
		  "too).\n" },
		{ "... another's",
		  PATCHED("a.b/c", "node") JOBSET JOBS POD_OF("0", "", TAINTED),
		  "bert is pending: no node can run its pod: 1 node(s) had untolerated "
		  "taint(s) (the tolerations that a.b/c patches replace those of the "
		  "runtime, such as team; add them to the patch, too).\n" },
		{ "... of another job",
		  PATCHED("a.b/c", "launcher") JOBSET JOBS POD_OF("0", "", TAINTED),
		  "bert is pending: no node can run its pod: 1 node(s) had untolerated "
		  "taint(s).\n" },
		{ "... none is lost",
		  PATCHED("a.b/c", "node") JOBSET JOBS POD_OF(
			  "0", "tolerations: [{key: team, operator: Exists}], ", TAINTED),
		  "bert is pending: no node can run its pod: 1 node(s) had untolerated "
		  "taint(s).\n" },
		{ "gates",
		  JOB("", STATUS) JOBSET JOBS POD_OF(
			  "0", "",
			  "phase: Pending, conditions: [{type: PodScheduled, status: "
			  "'False', reason: SchedulingGated}]"),
		  "bert is pending: its pod is not scheduled until its "
		  "spec.schedulingGates are removed.\n" },
		{ "gates with names",
		  JOB("", STATUS) JOBSET JOBS POD_OF(
			  "0",
			  "schedulingGates: [{name: kueue.x-k8s.io/topology}, {name: x/y}], ",
			  "phase: Pending, conditions: [{type: PodScheduled, status: "
			  "'False', reason: SchedulingGated}]"),
		  "bert is pending: its pod is not scheduled until its "
		  "spec.schedulingGates are removed (kueue.x-k8s.io/topology, x/y).\n" },
		{ "the first of an exclusive Job has no node",
		  JOB("", STATUS) JOBSET FOLLOWERS("follower pod node selector not set")
			  POD_OF("0", "", UNSCHEDULABLE("1 Insufficient cpu.")),
		  "bert is pending: no node can run its pod: 1 Insufficient cpu (a pod "
		  "requests 2 cpu). Also: JobSet creates the other pods of a Job only "
		  "when its first has a node (annotation "
		  "alpha.jobset.sigs.k8s.io/exclusive-topology).\n" },
		{ "an exclusive Job in a gang",
		  JOB("", STATUS) JOBSET FOLLOWERS(
			  "leader pod not yet scheduled, not creating follower pod. this "
			  "is an expected, transient error") "kind: PodGroup\nspec: {minMember: 2}\n---\n" LEADER,
		  "bert is pending: its gang waits until all its pods exist, and JobSet "
		  "creates the other pods of a Job only when its first has a node "
		  "(annotation alpha.jobset.sigs.k8s.io/exclusive-topology): remove one "
		  "of the two from the runtime.\n"
		  "More: kubectl describe job bert-node-0 -n a\n" },
		{ "no scheduler",
		  JOB("", STATUS) JOBSET JOBS POD_OF("0", "schedulerName: volcano, ",
						     "phase: Pending"),
		  "bert is pending: the scheduler volcano has not processed its pods for "
		  "60m: is it running (spec.schedulerName)?\n" },
		{ "no such claim",
		  JOB("", STATUS) JOBSET JOBS POD_OF(
			  "0", "",
			  UNSCHEDULABLE("0/1 nodes are available: "
					"persistentvolumeclaim \"c\" not found.")),
		  "bert is pending: its pods use the PersistentVolumeClaim "
		  "c, which does not exist.\n" },
		{ "a claim that waits",
		  JOB("", STATUS) JOBSET JOBS POD_OF(
			  "0", "",
			  UNSCHEDULABLE(
				  "pod has unbound immediate "
				  "PersistentVolumeClaims.")) "kind: PersistentVolumeClaim\n"
							      "metadata: {name: c}\n"
							      "spec: {storageClassName: s}\n"
							      "status: {phase: Pending}\n"
							      "---\n" EVENT(
								      "PersistentVolumeClaim",
								      "c", "Warning",
								      "ProvisioningFailed",
								      "no space left."),
		  "bert is pending: its PersistentVolumeClaim c is Pending "
		  "(storage class s): no space left.\n" },
	};

	CHECK_ALL(rows);
}

/* ---- containers ---- */

#define PULL(what, message, more, hint)                                                           \
	{                                                                                         \
		what,                                                                             \
			JOB("", STATUS) JOBSET JOBS PLACED(                                       \
				"0",                                                              \
				"phase: Pending, " STATE(                                         \
					"waiting: {reason: ErrImagePull, message: 'i: " message   \
					"'}")) more,                                              \
			"bert is pending: the image i:1 cannot be pulled for its pod, container " \
			"node of node-0 (node rank 0) on node n1: i: " message                    \
			" (ErrImagePull)" hint                                                    \
	}

/* The kubelet says of each volume that fails so, too, later, and without the cause. */
#define MOUNT(name, what, reason, message, hint)                                      \
	{                                                                             \
		name,                                                                 \
			JOB("", STATUS) JOBSET JOBS PLACED(                           \
				"0", "phase: Pending, " STATE(                        \
					     "waiting: {reason: ContainerCreating}")) \
				EVENT("Pod", "bert-node-0-0-x", "Warning", reason,    \
				      message)                                        \
					EVENT("Pod", "bert-node-0-0-x", "Warning",    \
					      "FailedMount",                          \
					      "Unable to attach or mount volumes: "   \
					      "timed out"),                           \
			"bert is pending: node-0 (node rank 0) cannot start on node " \
			"n1: " what ": " message hint                                 \
	}

#define X10  "xxxxxxxxxx"
#define X80  X10 X10 X10 X10 X10 X10 X10 X10
#define X600 X80 X80 X80 X80 X80 X80 X80 X10 X10 X10 X10

TEST(test_pods)
{
	static const struct row rows[] = {
		{ "an image",
		  JOB("", STATUS) JOBSET JOBS PLACED("0", READY) PLACED(
			  "1",
			  "phase: Pending, " STATE(
				  "waiting: {reason: ErrImagePull, message: 'i:1: not found'}")),
		  "bert is pending: the image i:1 cannot be pulled for 1 of its 2 pods, "
		  "container node of node-1 (node rank 1) on node n1: i:1: not found "
		  "(ErrImagePull); check its name.\n" },
		PULL("the rate limit of Docker Hub",
		     "429 Too Many Requests - Server message: toomanyrequests: You have "
		     "reached your unauthenticated pull rate limit",
		     "", "; the registry limits the pull rate.\n"),
		PULL("Amazon's registry", "no basic auth credentials", "",
		     "; does the pod need imagePullSecrets?\n"),
		PULL("a registry that refuses", "403 Forbidden",
		     EVENT("Pod", "bert-node-0-0-x", "Warning",
			   "FailedToRetrieveImagePullSecret",
			   "Unable to retrieve some image pull secrets (regcred); attempting "
			   "to pull the image may not succeed."),
		     "; its imagePullSecrets do not exist: regcred.\n"),
		PULL("CRI-O, and a name without its registry",
		     "short name mode is enforcing, but image name i:1 returns ambiguous "
		     "list",
		     "", "; name its registry, too, as docker.io/ORG/NAME.\n"),
		PULL("a registry without TLS",
		     "http: server gave HTTP response to HTTPS client", "",
		     "; the registry serves plain HTTP, which the node's container runtime "
		     "must be told.\n"),
		PULL("a node without DNS",
		     "dial tcp: lookup registry on 127.0.0.53:53: server misbehaving", "",
		     "; the node cannot look up the registry's name (DNS).\n"),
		PULL("an air-gapped node", "dial tcp 192.0.2.1:443: i/o timeout", "",
		     "; the node has no connection to the registry.\n"),
		PULL("a full disk", "write /x: no space left on device", "",
		     "; the disk of the node is full.\n"),
		{ "a back-off, whose last event names no cause",
		  JOB("", STATUS) JOBSET JOBS PLACED(
			  "0",
			  "phase: Pending, " STATE("waiting: {reason: ImagePullBackOff, "
						   "message: Back-off pulling image}"))
			  EVENT("Pod", "bert-node-0-0-x", "Warning", "Failed",
				"Failed to pull image: i:1: connection refused")
				  EVENT("Pod", "bert-node-0-0-x", "Warning", "Failed",
					"Error: ImagePullBackOff"),
		  "bert is pending: the image i:1 cannot be pulled for its pod, container "
		  "node of node-0 (node rank 0) on node n1: Failed to pull image: i:1: "
		  "connection refused (ImagePullBackOff); the node has no connection to the "
		  "registry.\n" },
		{ "a long message: its start, and its end with the cause",
		  JOB("", STATUS) JOBSET JOBS PLACED(
			  "0",
			  "phase: Pending, " STATE(
				  "waiting: {reason: ErrImagePull, message: "
				  "'cannot pull " X600 X600 ": connection refused'}")),
		  "bert is pending: the image i:1 cannot be pulled for its pod, container "
		  "node of node-0 (node rank 0) on node n1: cannot pull " X80 X80 X80 X80
			  X80 X80 "xxxxxxxx ... " X80 X80 X10
		  "xxxxxxxxxx: connection refused (ErrImagePull); the node has no "
		  "connection to the registry.\n" },
		PULL("another processor", "no match for platform in manifest: not found",
		     "", "; it is not for the processor of the node.\n"),
		{ "a Secret",
		  JOB("", STATUS) JOBSET JOBS PLACED(
			  "0", "phase: Pending, " STATE(
				       "waiting: {reason: CreateContainerConfigError, "
				       "message: 'secret \"s\" not found'}")),
		  "bert is pending: container node of node-0 (node rank 0) on node n1 "
		  "has not started for its pod: secret \"s\" not found "
		  "(CreateContainerConfigError).\n" },
		{ "a mount",
		  JOB("", STATUS) JOBSET JOBS PLACED(
			  "0", "phase: Pending, " STATE(
				       "waiting: {reason: ContainerCreating}"))
			  EVENT("Pod", "bert-node-0-0-x", "Warning", "FailedMount",
				"MountVolume.SetUp failed"),
		  "bert is pending: node-0 (node rank 0) cannot start on node n1: a "
		  "volume cannot be mounted: MountVolume.SetUp failed.\n" },
		MOUNT("a volume of one node", "a volume cannot be attached",
		      "FailedAttachVolume",
		      "Multi-Attach error for volume v Volume is already used by pod(s) q",
		      "; its claim is ReadWriteOnce, for pods on one node: those on "
		      "several need one that is ReadWriteMany.\n"),
		MOUNT("a driver that does not run", "a volume cannot be mounted",
		      "FailedMount",
		      "driver name d not found in the list of registered CSI drivers",
		      "; the pod of that driver does not run on the node.\n"),
		MOUNT("a subnet that is full",
		      "the node cannot set up its network or sandbox",
		      "FailedCreatePodSandBox",
		      "add cmd: failed to assign an IP address to container",
		      "; the node or its subnet has no free address.\n"),
		MOUNT("a node without the runtime",
		      "the node cannot set up its network or sandbox",
		      "FailedCreatePodSandBox", "no runtime for nvidia is configured",
		      "; the node's container runtime lacks that of its "
		      "runtimeClassName.\n"),
		{ "a mount that came about",
		  JOB("", STATUS) JOBSET JOBS PLACED(
			  "0", "phase: Pending, initContainerStatuses: [{name: f, state: "
			       "{running: {startedAt: '2026-01-01T00:59:00Z'}}}]")
			  EVENT("Pod", "bert-node-0-0-x", "Warning", "FailedMount",
				"timed out waiting for the condition"),
		  "bert is pending: init container f of node-0 (node rank 0) has been "
		  "running for 60s; the others start after it.\n" },
		{ "a sandbox that is lost after a container ran",
		  JOB("", STATUS) JOBSET JOBS PLACED(
			  "0", "phase: Pending, initContainerStatuses: [{name: f, state: "
			       "{terminated: {exitCode: 0, finishedAt: "
			       "'2026-01-01T00:49:00Z'}}}]")
			  EVENT("Pod", "bert-node-0-0-x", "Warning",
				"FailedCreatePodSandBox", "no address left"),
		  "bert is pending: node-0 (node rank 0) cannot start on node n1: the "
		  "node cannot set up its network or sandbox: no address left.\n" },
		{ "an init container",
		  JOB("", STATUS) JOBSET JOBS PLACED(
			  "0", "phase: Pending, initContainerStatuses: [{name: f, state: "
			       "{running: {startedAt: '2026-01-01T00:59:00Z'}}}]"),
		  "bert is pending: init container f of node-0 (node rank 0) has been "
		  "running for 60s; the others start after it.\n" },
		{ "a node that is gone",
		  JOB("", STATUS) JOBSET JOBS PLACED("0", "phase: Running")
			  PLACED("1", READY) NODE_OF("n1", "'Unknown'", ""),
		  "bert is running: node n1, on which node-0 (node rank 0) "
		  "is, has not been ready for 5m: stopped posting. Also: " },
		{ "it restarts",
		  JOB("", STATUS) JOBSET JOBS PLACED(
			  "0",
			  "phase: Running, containerStatuses: [{name: node, "
			  "restartCount: 3, state: {waiting: {reason: "
			  "CrashLoopBackOff}}, lastState: {terminated: {exitCode: 1, "
			  "finishedAt: '2026-01-01T00:00:01Z'}}}]")
			  LOG("bert-node-0-0-x",
			      "2026-01-01T00:00:00.1Z KeyError: 'weights'\\n"),
		  "bert is pending: node-0 (node rank 0), pod bert-node-0-0-x on node n1: "
		  "container node ended with exit code 1, after 3 restarts; its log says "
		  "\"KeyError: 'weights'\"; it has been restarted.\n"
		  "More: kubectl logs bert-node-0-0-x -c node --previous -n a\n" },
		{ "all of it was restarted, and once resumed",
		  JOB("", STATUS) "kind: JobSet\n" META(
			  "bert") "}\nspec: {}\nstatus: {restarts: 2, "
				  "executionAttempts: 3, replicatedJobsStatus: [{name: node}]}\n---\n" JOBS
					  PLACED("0", READY) PLACED("1", READY),
		  "bert is running: all its pods have been restarted 2 times (execution "
		  "attempt 3). Also: " },
		{ "nothing is wrong so far",
		  JOB("", STATUS) JOBSET JOBS PLACED(
			  "0", "phase: Pending, " STATE(
				       "waiting: {reason: ContainerCreating}")),
		  "bert is pending: its pods are starting: 0 of 2 are ready, no problem "
		  "so far (created 60m ago).\n" },
	};

	CHECK_ALL(rows);
}

/* ---- it has ended ---- */

#define ELASTIC "torch.distributed.elastic.multiprocessing."
#define BORDER  "==============================\\n"

TEST(first_failure_of_a_failed_job)
{
	static const struct row rows[] = {
		{ "the first in time",
		  JOB("", FAILED) JOBSET JOBS PLACED("0", ENDED("5", "Error", "09"))
			  PLACED("1", ENDED("139", "Error", "04")),
		  "bert has failed: the first failure is that of node-1 (node rank 1), pod "
		  "bert-node-0-1-x on node n1: container node ended with exit code 139 "
		  "(SIGSEGV). Also: its JobSet has failed: jobset failed (FailedJobs).\n"
		  "More: kubectl logs bert-node-0-1-x -c node -n a\n" },
		{ "for its probe, in a cluster",
		  JOB("", FAILED) JOBSET JOBS PLACED("0", ENDED("137", "Error", "04"))
			  EVENT("Pod", "bert-node-0-0-x", "Normal", "Killing",
				"Container node failed liveness probe, will be restarted"),
		  "bert has failed: the first failure is that of node-0 (node rank 0), pod "
		  "bert-node-0-0-x on node n1: container node ended with exit code 137 "
		  "(SIGKILL): Container node failed liveness probe, will be restarted. Also" },
		{ "killed, but not for its probe",
		  JOB("", FAILED) JOBSET JOBS PLACED("0", ENDED("137", "Error", "04"))
			  EVENT("Pod", "bert-node-0-0-x", "Normal", "Killing",
				"Stopping container node"),
		  "bert has failed: the first failure is that of node-0 (node rank 0), pod "
		  "bert-node-0-0-x on node n1: container node ended with exit code 137 "
		  "(SIGKILL): check the node for an out-of-memory kill. Also" },
		{ "for its probe, on this machine",
		  JOB("", FAILED) JOBSET JOBS PLACED(
			  "0", ENDED("143",
				     "Error, message: 'killed by signal 15 "
				     "(Terminated): its probe failed'",
				     "04")),
		  "bert has failed: the first failure is that of node-0 (node rank 0), pod "
		  "bert-node-0-0-x on node n1: container node ended with exit code 143 "
		  "(SIGTERM): its probe failed. Also" },
		{ "not one that was only ended with it",
		  JOB("", FAILED) JOBSET JOBS PLACED("0", ENDED("143", "Error", "04"))
			  PLACED("1", ENDED("3", "Error", "09")),
		  "bert has failed: the first failure is that of node-1 "
		  "(node rank 1), pod" },
		{ "nor one that only missed its peer",
		  JOB("", FAILED) JOBSET JOBS PLACED("0", ENDED("1", "Error", "04"))
			  PLACED("1", ENDED("1", "Error", "09")) LOG(
				  "bert-node-0-0-x", "RuntimeError: [gloo] Connection "
						     "closed by peer\\n")
				  LOG("bert-node-0-1-x", "ValueError: boom\\n"),
		  "bert has failed: the first error that is not a lost "
		  "connection is that of node-1 (node rank 1), pod "
		  "bert-node-0-1-x on node n1: container node ended with "
		  "exit code 1; its log says \"ValueError: boom\"; node-0 "
		  "(node rank 0) then lost that peer. Also" },
		{ "NCCL",
		  JOB("", FAILED) JOBSET JOBS PLACED("0", ENDED("1", "Error", "04")) LOG(
			  "bert-node-0-0-x",
			  "a\\nRuntimeError: NCCL error in: x.cpp:1, unhandled\\nb\\n"),
		  "bert has failed: the first failure is that of node-0 "
		  "(node rank 0), pod bert-node-0-0-x on node n1: container "
		  "node ended with exit code 1; its log says \"RuntimeError: "
		  "NCCL error in: x.cpp:1, unhandled\" (NCCL failed: set NCCL_DEBUG" },
		{ "the text of an error on the lines after it, of another rank in between",
		  JOB("", FAILED) JOBSET JOBS PLACED("0", ENDED("1", "Error", "04")) LOG(
			  "bert-node-0-0-x",
			  "[rank0]: Traceback (most recent call last):\\n"
			  "[rank0]:   File\\n[rank0]: RuntimeError: \\n"
			  "[rank1]: Traceback (most recent call last):\\n[rank0]: \\n"
			  "[rank0]:         The cat is out\\n[rank0]:    of the bag\\n"),
		  "bert has failed: the first failure is that of node-0 (node rank 0), pod "
		  "bert-node-0-0-x on node n1: container node ended with exit code 1; its "
		  "log says \"[rank0]: RuntimeError: The cat is out\". Also" },
		{ "the error that caused another one",
		  JOB("", FAILED) JOBSET JOBS PLACED("0", ENDED("1", "Error", "04"))
			  LOG("bert-node-0-0-x",
			      "Traceback (most recent call last):\\n  File\\n"
			      "pa.ArrowInvalid: not a file of Arrow\\n\\n"
			      "The above exception was the direct cause of the following "
			      "exception:\\n\\n"
			      "Traceback (most recent call last):\\n  File\\n"
			      "ds.DatasetGenerationError: it failed\\n"),
		  "bert has failed: the first failure is that of node-0 (node rank 0), pod "
		  "bert-node-0-0-x on node n1: container node ended with exit code 1; its "
		  "log says \"ds.DatasetGenerationError: it failed\", caused by "
		  "\"pa.ArrowInvalid: not a file of Arrow\". Also" },
		{ "... which was that of a peer",
		  JOB("", FAILED) JOBSET JOBS PLACED("0", ENDED("1", "Error", "04"))
			  LOG("bert-node-0-0-x",
			      "ValueError: a\\nOSError: Broken pipe\\n"
			      "The above exception was the direct cause of the following "
			      "exception:\\n\\nKeyError: b\\n"),
		  "bert has failed: the first failure is that of node-0 (node rank 0), pod "
		  "bert-node-0-0-x on node n1: container node ended with exit code 1; its "
		  "log says \"KeyError: b\". Also" },
		{ "not the launcher's report of it",
		  JOB("", FAILED) JOBSET JOBS PLACED("0", ENDED("1", "Error", "04")) LOG(
			  "bert-node-0-0-x",
			  "ValueError: boom\\n"
			  "subprocess.CalledProcessError: Command 'x' returned non-zero "
			  "exit status 1.\\n"),
		  "bert has failed: the first failure is that of node-0 (node rank 0), pod "
		  "bert-node-0-0-x on node n1: container node ended with exit code 1; its "
		  "log says \"ValueError: boom\". Also" },
		{ "... unless nothing else is said",
		  JOB("", FAILED) JOBSET JOBS PLACED("0", ENDED("1", "Error", "04")) LOG(
			  "bert-node-0-0-x",
			  "subprocess.CalledProcessError: Command 'git' returned non-zero "
			  "exit status 128.\\n"),
		  "bert has failed: the first failure is that of node-0 (node rank 0), pod "
		  "bert-node-0-0-x on node n1: container node ended with exit code 1; its "
		  "log says \"subprocess.CalledProcessError: Command 'git' returned non-zero "
		  "exit status 128.\". Also" },
		{ "the first line between two borders",
		  JOB("", FAILED) JOBSET JOBS PLACED("0", ENDED("1", "Error", "04"))
			  LOG("bert-node-0-0-x",
			      "epoch 1\\n----------------\\nThe daemon cannot\\n"
			      "find it\\n----------------\\n"),
		  "bert has failed: the first failure is that of node-0 (node rank 0), pod "
		  "bert-node-0-0-x on node n1: container node ended with exit code 1; its "
		  "log ends with \"The daemon cannot\". Also" },
		{ "out of memory",
		  JOB("", FAILED)
			  JOBSET JOBS PLACED("0", ENDED("137", "OOMKilled", "04")),
		  "bert has failed: the first failure is that of node-0 "
		  "(node rank 0), pod bert-node-0-0-x on node n1: container "
		  "node was killed for using more memory than its limit of "
		  "64Mi (OOMKilled, exit code 137). Also" },
		{ "evicted",
		  JOB("", FAILED) JOBSET JOBS PLACED(
			  "0", "phase: Failed, reason: Evicted, message: low on memory."),
		  "bert has failed: the first failure is that of node-0 "
		  "(node rank 0), pod bert-node-0-0-x on node n1, was "
		  "evicted by its node (Evicted): low on memory. Also" },
		{ "it never had a JobSet",
		  JOB("", "status: {conditions: [{type: Failed, status: 'True', reason: "
			  "TrainingRuntimeNotSupported, message: 'unsupported runtime: "
			  "Foo.x', lastTransitionTime: '2026-01-01T00:30:00Z'}]}"),
		  "bert has failed: its spec.runtimeRef: unsupported runtime: Foo.x "
		  "(TrainingRuntimeNotSupported).\n" },
		{ "the pods are gone",
		  JOB("", FAILED)
			  EVENT("TrainJob", "bert", "Warning", "Failed",
				"FailedJobs: x; first: node-1 (node rank 1): container "
				"node: exit code 3 on n1"),
		  "bert has failed: the first failure was that of node-1 (node rank 1): "
		  "container node: exit code 3 on n1. Also: its JobSet has failed" },
		{ "a Job gave up",
		  JOB("", FAILED) JOBSET "kind: Job\n" META(
			  "bert-node-0") "}\n"
					 "status: {conditions: [{type: Failed, status: 'True', reason: "
					 "BackoffLimitExceeded, message: enough}]}\n",
		  "bert has failed: Job bert-node-0 gave up, enough "
		  "(BackoffLimitExceeded).\n" },
		{ "what a launcher writes about itself is not the log's end",
		  JOB("", FAILED) JOBSET JOBS PLACED("0", ENDED("1", "Error", "09")) LOG(
			  "bert-node-0-0-x",
			  "epoch 3\\n" ELASTIC "errors.ChildFailedError: \\n" BORDER
			  "train.py FAILED\\nFailures:\\n  <NO_OTHER_FAILURES>\\n" BORDER),
		  "bert has failed: the first failure is that of node-0 "
		  "(node rank 0), pod bert-node-0-0-x on node n1: container node ended "
		  "with exit code 1; its log ends with \"epoch 3\". Also" },
		{ "too late",
		  JOB(", activeDeadlineSeconds: 9",
		      "status: {conditions: [{type: Failed, status: 'True', reason: "
		      "DeadlineExceeded}]}"),
		  "bert has failed: it was stopped because it exceeded its deadline "
		  "of 9 s (spec.activeDeadlineSeconds), counted from "
		  "2026-01-01T00:00:00Z.\n" },
		{ "done",
		  JOB("", "status: {conditions: [{type: Complete, status: 'True', "
			  "lastTransitionTime: '2026-01-01T00:30:00Z'}]}"),
		  "bert completed 30m ago, 30m after it was created.\n"
		  "More: kftrainer logs bert -n a\n" },
		{ "its runtime has been deleted",
		  JOB("", "status: {conditions: [{type: Complete, status: 'True', "
			  "lastTransitionTime: '2026-01-01T00:30:00Z'}]}")
			  MISSING("ClusterTrainingRuntime"),
		  "bert completed 30m ago, 30m after it was created. Also: its "
		  "ClusterTrainingRuntime r has been deleted: the job no longer needs it, "
		  "but list_jobs() of the Python SDK fails until the runtime exists again "
		  "or the job is deleted.\n"
		  "More: kftrainer logs bert -n a\n"
		  "More: kubectl get clustertrainingruntimes\n" },
	};

	CHECK_ALL(rows);
}

#define MPI_JOBSET(policy)                                                             \
	"kind: JobSet\n" META("bert") "}\nspec: {" policy                              \
				      "replicatedJobs: [{name: launcher}, {name: "     \
				      "node}]}\nstatus: {replicatedJobsStatus: "       \
				      "[{name: launcher, succeeded: 1}, {name: node, " \
				      "active: 1}]}\n---\n" JOBS PLACED("0", READY)    \
					      PLACED("1", READY)

#define ALONE(status, text)                                                             \
	JOB("", status)                                                                 \
	JOBSET JOBS PLACED("0", READY) PLACED("1", READY) HEAD("bert-node-0-0-x", text) \
		HEAD("bert-node-0-1-x", text)

TEST(test_run)
{
	static const struct row rows[] = {
		{ "progress",
		  JOB("", "status: {trainerStatus: {progressPercentage: 40, "
			  "estimatedRemainingSeconds: 720, lastUpdatedTime: '" NOW "'}}")
			  JOBSET JOBS PLACED("0", READY) PLACED("1", READY),
		  "bert is running: no problem found: 2 of 2 pods have been "
		  "running for 60m; 40 % done, about 12m are left.\n" },
		{ "stalled",
		  JOB("", "status: {trainerStatus: {progressPercentage: 40, "
			  "lastUpdatedTime: '2026-01-01T00:35:00Z'}}")
			  JOBSET JOBS PLACED("0", READY) PLACED("1", READY),
		  "bert is running: its progress has not changed for 25m, at 40 %. Also: "
		  "2 of 2 pods have been running for 60m; 40 % done.\n" },
		{ "silent",
		  JOB("", STATUS) JOBSET JOBS PLACED("0", READY) PLACED("1", READY)
			  LOG("bert-node-0-0-x", "2026-01-01T00:30:00.1Z epoch 3\\n"),
		  "bert is running: its first rank has logged nothing for 30m and "
		  "reports no progress. Also" },
		{ "it waits for its peers",
		  JOB("", STATUS) JOBSET JOBS PLACED("0", READY) PLACED("1", READY) LOG(
			  "bert-node-0-0-x",
			  "2026-01-01T00:59:59.1Z [c10d] The client socket has failed to "
			  "connect to [x]:29500\\n"),
		  "bert is running: the log of node-0 (node rank 0) reports "
		  "a connection problem: \"[c10d] The client socket has "
		  "failed to connect to [x]:29500\" (node 0 does not accept "
		  "connections yet" },
		{ "an MPI job whose nodes never end", JOB("", STATUS) MPI_JOBSET(""),
		  "bert is running: its launcher has succeeded, but it ends only with "
		  "its job \"node\", which sshd and mpi-worker never do: set "
		  "spec.template.spec.successPolicy of its runtime to {operator: All, "
		  "targetReplicatedJobs: [launcher]}, delete it and submit it again. "
		  "Also" },
		{ "one that ends with its launcher",
		  JOB("", STATUS) MPI_JOBSET("successPolicy: {operator: All, "
					     "targetReplicatedJobs: [launcher]}, "),
		  "bert is running: no problem found: " },
		{ "each pod trains alone, as the logs say that nobody has read",
		  ALONE(STATUS, "rank 0 of 1\\nstep 1\\n"),
		  "bert is running: node-0 (node rank 0) and node-1 (node rank 1) each log "
		  "a world of one process (\"rank 0 of 1\"); if they should train one" },
		{ "... one of them is of a larger world later",
		  ALONE(STATUS, "world size: 1\\nworld size: 2\\n"),
		  "bert is running: no problem found: " },
		{ "... an event has said so",
		  ALONE(STATUS, "rank 0 of 1\\n")
			  EVENT("TrainJob", "bert", "Warning", "TrainsAlone", "they do"),
		  "bert is running: they do. Also: 2 of 2 pods" },
		{ "... which has completed",
		  ALONE("status: {conditions: [{type: Complete, status: 'True', "
			"lastTransitionTime: '2026-01-01T00:30:00Z'}]}",
			"rank 0 of 1"),
		  "bert completed 30m ago, 30m after it was created. Also: node-0 (node "
		  "rank 0) and node-1" },
		{ "what its log says is not about peers",
		  JOB("", STATUS) JOBSET JOBS PLACED("0", READY) PLACED("1", READY)
			  LOG("bert-node-0-0-x",
			      "2026-01-01T00:59:59.1Z No space left on device\\n"),
		  "bert is running: no problem found: " },
	};

	CHECK_ALL(rows);
}

/* What others wrote neither ends a line nor moves a cursor. */
TEST(test_hostile)
{
	cleanup_free char *have = text_of(JOB("", FAILED) JOBSET JOBS PLACED(
		"0", "phase: Failed, containerStatuses: [{name: node, state: "
		     "{terminated: {exitCode: 1, message: \"a\\nb\\e[2Jc\"}}}]"));

	if (!strstr(have, "its message is \"a b\\x1b[2Jc\""))
		fail_msg("%s", have);
}

/* The last lines of a log are its termination message: the last state of a bar. */
TEST(last_state_of_a_bar_in_the_termination_message)
{
	cleanup_free char *have = text_of(JOB("", FAILED) JOBSET JOBS PLACED(
		"0",
		"phase: Failed, containerStatuses: [{name: node, state: "
		"{terminated: {exitCode: 1, message: \"\\r 1%\\r99%\\nboom\\r\\n\"}}}]"));

	if (!strstr(have, "its message is \"99% boom\""))
		fail_msg("%s", have);
}

RUN_TESTS(NULL, NULL)
