/*
 * What `why` says of gangs that wait, and of what schedulers refuse. The messages are
 * those of kube-scheduler 1.34 with scheduler-plugins 0.34, of YuniKorn 1.8 and of the
 * resource claim controller.
 */
#include "tests/unit/why/why_test.h"
#include "why/capacity.h"
#include "why/devices.h"

#define GROUP(min)                 "kind: PodGroup\n" META("bert") "}\nspec: {minMember: " min "}\n---\n"
#define MEMBER(rank, spec, status) MEMBER_WITH(rank, spec, status, "")
#define MEMBER_WITH(rank, spec, status, rest)                                        \
	"kind: Pod\n" META("bert-node-0-" rank                                       \
			   "-x") ", labels: {jobset.sigs.k8s.io/jobset-name: bert, " \
				 "jobset.sigs.k8s.io/replicatedjob-name: node, "     \
				 "scheduling.x-k8s.io/pod-group: bert}}\n"           \
				 "spec: {" spec "}\nstatus: {" status "}\n" rest "---\n"
#define ASKS(requests) "containers: [{name: node, resources: {requests: {" requests "}}}]"
#define CPU            ASKS("cpu: 1")
/* Three, of which the scheduler looked at one. */
#define THREE(spec, message)                                             \
	MEMBER("0", spec, UNSCHEDULABLE("rejection in Unreserve"))       \
	MEMBER("1", spec, UNSCHEDULABLE(message))                        \
	MEMBER("2", spec,                                                \
	       UNSCHEDULABLE("0/1 nodes are available: podGroup a/bert " \
			     "failed recently."))
#define GANG JOB("", STATUS) JOBSET JOBS GROUP("3")
#define ON(name, spec, labels, has, used)                                            \
	"kind: Node\nmetadata: {name: " name ", labels: {" labels "}}\nspec: {" spec \
	"}\nstatus: {allocatable: {" has "}, conditions: [{type: Ready, status: "    \
	"'True'}]}\nused: {" used "}\n---\n"
#define FOUR(used) ON("n1", "", "pool: a", "cpu: 4, memory: 8Gi, pods: 20", used)
#define SHUT       ON("control", "unschedulable: true", "", "cpu: 64, memory: 64Gi", "")
#define PENDING    "bert is pending: its gang needs 3, "
#define OF         "(minMember of PodGroup bert)"
#define NONE       ": 0 of its 3 pods have a node " OF

/* ---- what room there is ---- */

#define VOLCANO(phase)                                                                   \
	JOB("", STATUS)                                                                  \
	JOBSET JOBS "apiVersion: scheduling.volcano.sh/v1beta1\nkind: PodGroup\n" META(  \
		"bert") "}\nspec: {minMember: 2, queue: team-a}\nstatus: {phase: " phase \
			"}\n---\n"
#define WORDS(type, reason, message) EVENT("PodGroup", "bert", type, reason, message)

TEST(room_for_a_gang)
{
	static const struct row rows[] = {
		{ "cpu",
		  GANG SHUT FOUR("cpu: 2, pods: 2") THREE(
			  CPU,
			  "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were "
			  "unschedulable. preemption: 0/2 nodes are available."),
		  PENDING
		  "room for 2 (cpu)" NONE
		  ": 0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were "
		  "unschedulable (a pod requests 1 cpu, but no node has more than 2 free (of 4)).\n"
		  "More: kubectl describe podgroup bert -n a\n" },
		{ "memory",
		  GANG FOUR("cpu: 0, memory: 3Gi")
			  THREE(ASKS("cpu: 1, memory: 2Gi"),
				"0/1 nodes are available: 1 Insufficient memory."),
		  PENDING "room for 2 (memory)" NONE },
		{ "an extended resource",
		  GANG ON("n1", "", "", "cpu: 64, nvidia.com/gpu: 8", "nvidia.com/gpu: 2")
			  ON("n2", "", "", "cpu: 64, nvidia.com/gpu: 8",
			     "nvidia.com/gpu: 1")
				  THREE(ASKS("cpu: 1, nvidia.com/gpu: 4"),
					"0/2 nodes are available: 2 Insufficient "
					"nvidia.com/gpu."),
		  PENDING "room for 2 (nvidia.com/gpu)" NONE },
		{ "the number of pods",
		  GANG ON("n1", "", "", "cpu: 64, pods: 10", "pods: 9")
			  THREE(CPU, "0/1 nodes are available: 1 Too many pods."),
		  PENDING "room for 1 (pods)" NONE },
		{ "taints",
		  GANG SHUT ON("n1", "taints: [{key: gpu, effect: NoSchedule}]", "",
			       "cpu: 64", "")
			  THREE(CPU, "0/2 nodes are available: 1 node(s) had untolerated "
				     "taint {gpu: }."),
		  PENDING "room for 0 (taints)" NONE },
		{ "a node selector",
		  GANG SHUT FOUR("") THREE(
			  "nodeSelector: {pool: b}, " CPU,
			  "0/2 nodes are available: 1 node(s) didn''t match Pod''s node "
			  "affinity/selector."),
		  PENDING "room for 0 (node selector)" NONE
			  ": 0/2 nodes are available: 1 node(s) didn't match Pod's node "
			  "affinity/selector (its nodeSelector is pool=b)." },
		{ "node affinity",
		  GANG ON("n2", "", "pool: b", "cpu: 1", "") FOUR("")
			  THREE("affinity: {nodeAffinity: "
				"{requiredDuringSchedulingIgnoredDuringExecution: "
				"{nodeSelectorTerms: [{matchExpressions: [{key: pool, "
				"operator: In, values: [b]}]}]}}}, " CPU,
				"0/2 nodes are available: 1 Insufficient cpu, 1 node(s) "
				"didn''t match Pod''s node affinity/selector."),
		  "bert is pending: its gang needs 3 " OF ", but all nodes together have "
		  "room for 1 (cpu), without other pods: add nodes, request less, or use "
		  "fewer nodes.\nMore: kubectl describe podgroup bert -n a\n" },
		{ "no claim of a volume is bound",
		  GANG FOUR("") THREE(
			  CPU, "0/1 nodes are available: pod has unbound immediate "
			       "PersistentVolumeClaims.") "kind: PersistentVolumeClaim\n"
							  "metadata: {name: c}\n"
							  "spec: {storageClassName: s}\n"
							  "status: {phase: Pending}\n"
							  "---\n",
		  PENDING "room for 0 (volume claims): its PersistentVolumeClaim c is "
			  "Pending (storage class s).\n" },
		{ "another gang has the room",
		  GANG FOUR("cpu: 3") THREE(
			  CPU, "0/1 nodes are available: resource gap: map[cpu:{{2 0} "
			       "{<nil>}  DecimalSI}]. preemption: 0/1 nodes."),
		  PENDING "room for 1 (cpu)" NONE
			  ": 0/1 nodes are available: the cluster as a whole lacks "
			  "resources.\n" },
		{ "a ResourceQuota",
		  JOB("", STATUS) JOBSET "kind: Job\n" META(
			  "bert-node-0") "}\n"
					 "spec: {parallelism: 3}\n"
					 "status: {active: 2}\n"
					 "---\n" GROUP("3") FOUR("") MEMBER(
						 "0", CPU,
						 UNSCHEDULABLE(
							 "0/1 nodes are available: pre-filter pod x cannot find "
							 "enough sibling pods, current pods number: 2, minMember of "
							 "group: 3.")) MEMBER("1", CPU,
									      UNSCHEDULABLE(
										      "-"))
						 EVENT("Job", "bert-node-0", "Warning",
						       "FailedCreate",
						       "Error creating: pods \"x\" is forbidden: exceeded quota: "
						       "q, requested: requests.cpu=1, used: requests.cpu=2, "
						       "limited: requests.cpu=2"),
		  PENDING
		  "room for 2 (quota): its pods cannot be created: a ResourceQuota "
		  "of the namespace is used up: exceeded quota: q, requested: "
		  "requests.cpu=1, used: requests.cpu=2, limited: "
		  "requests.cpu=2.\nMore: kubectl describe resourcequota -n a\n" },
		{ "affinity between pods is not counted",
		  GANG FOUR("") THREE(CPU, "0/1 nodes are available: 1 node(s) didn''t "
					   "match pod anti-affinity rules."),
		  PENDING "room for 0 (pod anti-affinity)" NONE },
		{ "there is room",
		  GANG FOUR("cpu: 1") THREE(CPU, "rejection in Unreserve"),
		  PENDING "room for 3: 0 of its 3 pods have a node " OF
			  "; the scheduler has not retried it: " },
		{ "nodes may not be read",
		  GANG THREE(CPU, "0/1 nodes are available: 1 Insufficient cpu."),
		  "bert is pending: its gang is not complete: 0 of its 3 pods have a "
		  "node, and at least 3 must be placed together " OF
		  ". Also: no node can run its 3 pods: " },
		{ "Volcano's words",
		  JOB("", STATUS) JOBSET JOBS
		  "kind: PodGroup\n"
		  "spec: {minMember: 2}\n"
		  "status: {conditions: [{type: Unschedulable, status: 'True', message: no room.}]}\n"
		  "---\n" MEMBER("0", "nodeName: n1, " CPU, "phase: Pending")
			  MEMBER("1", CPU, UNSCHEDULABLE("1 Insufficient gpu")),
		  "bert is pending: its gang is not complete: 1 of its 2 pods have a "
		  "node, and at least 2 must be placed together " OF
		  ": no room. Also: no node can run 1 of its 2 pods: 1 "
		  "Insufficient gpu.\n" },
		{ "Volcano's queue is full",
		  VOLCANO("Pending") WORDS("Normal", "Unschedulable",
					   "queue resource quota insufficient: "
					   "insufficient cpu")
			  WORDS("Warning", "Unschedulable",
				"2/2 tasks in gang unschedulable: pod group is not ready")
				  MEMBER("0", CPU,
					 UNSCHEDULABLE("pod group is not ready"))
					  FOUR(""),
		  "bert is pending: Volcano has not let its gang into the queue team-a "
		  "(PodGroup bert is Pending): queue resource quota insufficient: "
		  "insufficient cpu.\n"
		  "More: kubectl describe queues.scheduling.volcano.sh team-a\n" },
		{ "... and its webhook refuses pods until then",
		  VOLCANO("Pending") "kind: Job\n" META("bert-node-0") "}\nspec: {parallelism: 2}\n---\n" EVENT(
			  "Job", "bert-node-0", "Warning", "FailedCreate",
			  "Error creating: admission webhook \"validatepod.volcano.sh\" "
			  "denied the request: failed to create pod <a/p> as the "
			  "podgroup phase is Pending"),
		  "bert is pending: Volcano has not let its gang into the queue team-a "
		  "(PodGroup bert is Pending).\n" },
		{ "Volcano's queue has room, the nodes not",
		  VOLCANO("Inqueue") MEMBER(
			  "0", "schedulerName: volcano, ",
			  UNSCHEDULABLE("0/1 nodes are unavailable: 1 Insufficient cpu."))
			  MEMBER("1", "schedulerName: volcano, ",
				 UNSCHEDULABLE("0/1 nodes are unavailable")),
		  "bert is pending: its gang is not complete: 0 of its 2 pods have a "
		  "node, and at least 2 must be placed together " },
		{ "Volcano's gang, another scheduler",
		  VOLCANO("Inqueue") MEMBER("0", "nodeName: n1, ", "phase: Pending")
			  MEMBER("1", "", UNSCHEDULABLE("1 Insufficient gpu")),
		  "bert is pending: its pods are placed one by one, 1 of 2 so far: they "
		  "name no schedulerName, and Kubernetes' scheduler ignores Volcano's "
		  "PodGroup: set schedulerName: volcano in the runtime. Also: no node "
		  "can run 1 of its 2 pods: 1 Insufficient gpu.\n" },
		{ "all are placed", GANG PLACED("0", READY) PLACED("1", READY),
		  "bert is running: no problem found" },
	};

	CHECK_ALL(rows);
}

/* ---- Kubernetes' own groups: messages of kube-scheduler 1.37 ---- */

#define NATIVE(condition)                                                                  \
	JOB("", STATUS)                                                                    \
	JOBSET JOBS "apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\n" META(        \
		"bert-1-2") "}\nspec: {schedulingPolicy: {gang: {minCount: 3}}}\nstatus: " \
			    "{" condition "}\n---\n"
#define OF_GROUP(rank, spec, status) MEMBER_OF("bert-1-2", rank, spec, status)
#define MEMBER_OF(group, rank, spec, status)                                             \
	"kind: Pod\n" META("bert-node-0-" rank "-x") ", labels: "                        \
						     "{jobset.sigs.k8s.io/jobset-name: " \
						     "bert}}\nspec: {schedulingGroup: "  \
						     "{podGroupName: " group "}, " spec  \
						     "}\nstatus: {" status "}\n---\n"
#define WAITS                                                                         \
	"conditions: [{type: PodGroupInitiallyScheduled, status: 'False', reason: "   \
	"Unschedulable, message: \"minCount (3) cannot be satisfied: 1 scheduled, 1 " \
	"remaining, pod group preemption: No preemption victims found for incoming "  \
	"preemptor\"}]"
#define NO_CPU UNSCHEDULABLE("0/1 nodes are available: 1 Insufficient cpu.")

TEST(test_native)
{
	static const struct row rows[] = {
		{ "room for some",
		  NATIVE(WAITS) FOUR("cpu: 3") OF_GROUP("0", CPU, NO_CPU)
			  OF_GROUP("1", CPU, NO_CPU) OF_GROUP("2", CPU, NO_CPU),
		  PENDING "room for 1 (cpu): 0 of its 3 pods have a node (minCount of "
			  "PodGroup bert-1-2)" },
		{ "pods of another group do not count",
		  NATIVE(WAITS) FOUR("cpu: 3")
			  MEMBER_OF("bert-1-3", "9", "nodeName: n1, " CPU, READY)
				  OF_GROUP("0", CPU, NO_CPU) OF_GROUP("1", CPU, NO_CPU)
					  OF_GROUP("2", CPU, NO_CPU),
		  PENDING "room for 1 (cpu): 0 of its 3 pods have a node" },
		{ "nodes may not be read",
		  NATIVE(WAITS) OF_GROUP("0", CPU, NO_CPU) OF_GROUP("1", CPU, NO_CPU)
			  OF_GROUP("2", CPU, NO_CPU),
		  "bert is pending: its gang is not complete: 0 of its 3 pods have a node, "
		  "and at least 3 must be placed together (minCount of PodGroup bert-1-2): "
		  "minCount (3) cannot be satisfied: 1 scheduled, 1 remaining" },
		{ "a scheduler without the gate",
		  NATIVE("") FOUR("cpu: 3")
			  OF_GROUP("0", "nodeName: n1, " CPU, "phase: Pending")
				  OF_GROUP("1", CPU, NO_CPU) OF_GROUP("2", CPU, NO_CPU),
		  "bert is pending: the scheduler ignores PodGroup bert-1-2 and places its "
		  "pods one by one, 1 of 3 so far: turn on kube-scheduler's feature gate "
		  "GenericWorkload" },
		{ "the room of one rack",
		  JOB("", STATUS) JOBSET JOBS
		  "apiVersion: scheduling.k8s.io/v1beta1\nkind: "
		  "PodGroup\n" META(
			  "bert-1-2") "}\nspec: {schedulingPolicy: "
				      "{gang: {minCount: 3}}, "
				      "schedulingConstraints: "
				      "{topology: [{key: rack}]}}\n"
				      "status: {" WAITS "}\n---\n" ON(
					      "x1", "", "rack: one", "cpu: 2",
					      "") ON("y1", "", "rack: two", "cpu: 2",
						     "cpu: 2") ON("y2", "", "rack: two",
								  "cpu: 2", "cpu: 1")
					      ON("n1", "", "pool: a", "cpu: 64",
						 "") OF_GROUP("0", CPU, NO_CPU)
						      OF_GROUP("1", CPU, NO_CPU)
							      OF_GROUP("2", CPU, NO_CPU),
		  PENDING
		  "room for 2 (cpu, within one rack): 0 of its 3 pods have a node" },
		{ "a gang larger than a rack",
		  JOB("", STATUS) JOBSET JOBS
		  "apiVersion: scheduling.k8s.io/v1beta1\nkind: "
		  "PodGroup\n" META(
			  "bert-1-2") "}\nspec: {schedulingPolicy: "
				      "{gang: {minCount: 3}}, "
				      "schedulingConstraints: "
				      "{topology: [{key: rack}]}}\n"
				      "status: {" WAITS
				      "}\n---\n" ON("x1", "", "rack: one", "cpu: 2", "")
					      ON("y1", "", "rack: two", "cpu: 2",
						 "cpu: 2") OF_GROUP("0", CPU, NO_CPU)
						      OF_GROUP("1", CPU, NO_CPU)
							      OF_GROUP("2", CPU, NO_CPU),
		  "bert is pending: its gang needs 3 (minCount of PodGroup bert-1-2), but "
		  "all nodes together have room for 2 (cpu, within one rack)" },
		{ "one has completed, and a pod takes the place of one that failed",
		  NATIVE("conditions: [{type: PodGroupInitiallyScheduled, status: "
			 "'True'}]") FOUR("cpu: 3") OF_GROUP("0", "nodeName: n1, " CPU,
							     "phase: Succeeded")
			  OF_GROUP("1", "nodeName: n1, " CPU, "phase: Running")
				  OF_GROUP("2", "nodeName: n1, " CPU, "phase: Failed")
					  OF_GROUP("3", CPU, "phase: Pending"),
		  "bert is pending: pod bert-node-0-3-x takes the place of another, but 1 "
		  "of its gang have completed" },
		{ "no such PodGroup",
		  JOB("", STATUS) JOBSET JOBS
		  "kind: Missing\nof: PodGroup\n---\n" OF_GROUP("0", CPU,
								"phase: Pending"),
		  "bert is pending: its pods wait for PodGroup bert-1-2, which does not exist" },
	};

	CHECK_ALL(rows);
}

/* ---- what is asked for cannot be ---- */

/* KAI names its PodGroups in an annotation, and has one of each pod before 0.13. */
TEST(test_kai)
{
#define KAI_GROUP(name, min)                                                 \
	"apiVersion: scheduling.run.ai/v2alpha2\nkind: PodGroup\nmetadata: " \
	"{name: " name "}\nspec: {queue: q, minMember: " min "}\n---\n"
#define KAI_QUEUE(parent) \
	"kind: Queue\nmetadata: {name: q}\nspec: {parentQueue: " parent "}\n---\n"
#define FULL                                                                         \
	UNSCHEDULABLE("q quota has reached the allowable limit of CPU cores. Limit " \
		      "is 4 cores, currently 3 cores allocated")
#define KAI_POD(rank, group, node, status)                                            \
	"kind: Pod\n" META("bert-node-0-" rank                                        \
			   "-x") ", labels: {jobset.sigs.k8s.io/jobset-name: bert, "  \
				 "jobset.sigs.k8s.io/replicatedjob-name: node}, "     \
				 "annotations: {pod-group-name: " group               \
				 "}}\nspec: {schedulerName: kai-scheduler, " node CPU \
				 "}\nstatus: {" status "}\n---\n"
#define NO_ROOM UNSCHEDULABLE("no nodes with enough resources were found")
#define ABOVE                                                                      \
	UNSCHEDULABLE("OverLimit: q quota has reached the allowable limit of CPU " \
		      "cores. Limit is 4 cores, currently 0 cores allocated and "  \
		      "workload requested 6 cores.")
#define NOT_PREEMPTIBLE                                                            \
	UNSCHEDULABLE("NonPreemptibleOverQuota: Non-preemptible workload is over " \
		      "quota. Workload requested 3 CPU cores, but q quota is 0 cores")
#define TOPOLOGY                                                              \
	UNSCHEDULABLE("PodSchedulingErrors: Requested topology nowhere does " \
		      "not exist.")
#define KAI_PODS(status)                    \
	KAI_POD("0", "pg-bert", "", status) \
	KAI_POD("1", "pg-bert", "", status) \
	KAI_POD("2", "pg-bert", "", status)
#define KAI_GANG JOB("", STATUS) JOBSET JOBS KAI_GROUP("pg-bert", "3")
#define STEPS                                                       \
	"kind: JobSet\n" META(                                      \
		"bert") "}\nspec: {replicatedJobs: [{name: prep}, " \
			"{name: node, dependsOn: [{name: prep, status: Complete}]}]}\n---\n"
	static const struct row rows[] = {
		{ "a gang", KAI_GANG FOUR("cpu: 3, pods: 3") KAI_PODS(NO_ROOM),
		  PENDING "room for 1 (cpu): 0 of its 3 pods have a node (minMember of "
			  "PodGroup pg-bert)" },
		{ "none",
		  JOB("", STATUS) JOBSET JOBS KAI_GROUP("pg-2", "1")
			  FOUR("cpu: 4, pods: 4") KAI_POD("0", "pg-0", "nodeName: n1, ",
							  "phase: Pending")
				  KAI_POD("1", "pg-1", "nodeName: n1, ", "phase: Pending")
					  KAI_POD("2", "pg-2", "", NO_ROOM),
		  "bert is pending: KAI places its pods one by one, 2 of 3 so far: its "
		  "PodGroup pg-2 is of one pod; KAI makes gangs of JobSets since 0.13" },
		{ "the limit of a queue",
		  KAI_GANG KAI_QUEUE("all") FOUR("") KAI_PODS(FULL),
		  PENDING "room for 0 (limit of its queue)" },
		{ "a gang above the limit of its queue",
		  KAI_GANG KAI_QUEUE("all") FOUR("") KAI_PODS(ABOVE),
		  "bert is pending: KAI places none of its pods: the queue q allows less "
		  "in total than its gang requests (label kai.scheduler/queue): "
		  "OverLimit: q quota has reached the allowable limit of CPU cores" },
		{ "a priority that is not preempted, above the queue's quota",
		  KAI_GANG KAI_QUEUE("all") FOUR("cpu: 3") KAI_PODS(NOT_PREEMPTIBLE),
		  PENDING "room for 0 (quota of its queue)" },
		{ "a topology that does not exist",
		  KAI_GANG KAI_QUEUE("all") FOUR("cpu: 4") KAI_PODS(TOPOLOGY),
		  PENDING "room for 0 (topology)" },
		{ "another gang took its place",
		  KAI_GANG KAI_QUEUE("all") FOUR("cpu: 3, pods: 3") KAI_PODS(NO_ROOM)
			  EVENT("PodGroup", "pg-bert", "Normal", "Evict",
				"Pod a/x was preempted by higher "
				"priority workload a/pg-y"),
		  PENDING "room for 1 (cpu): 0 of its 3 pods have a node (minMember of "
			  "PodGroup pg-bert); KAI has evicted it: Pod a/x was preempted "
			  "by higher priority workload a/pg-y" },
		{ "the pods of all steps (KAI-Scheduler#1209)",
		  JOB("", STATUS) STEPS JOBS KAI_GROUP("pg-bert", "4") KAI_QUEUE("all")
			  FOUR("") KAI_POD("0", "pg-bert", "", "phase: Pending"),
		  "bert is pending: KAI waits until 4 of its pods exist (minMember of "
		  "PodGroup pg-bert), of which 1 do: it counts the pods of all steps" },
		{ "two have completed, and one failed (KAI-Scheduler#1347)",
		  KAI_GANG KAI_QUEUE("all") FOUR("cpu: 1") KAI_POD(
			  "0", "pg-bert", "nodeName: n1, ", "phase: Succeeded")
			  KAI_POD("1", "pg-bert", "nodeName: n1, ", "phase: Succeeded")
				  KAI_POD("2", "pg-bert", "nodeName: n1, ",
					  "phase: Failed")
					  KAI_POD("3", "pg-bert", "", "phase: Pending"),
		  "bert is pending: pod bert-node-0-3-x takes the place of another, but 2 "
		  "of its gang have completed" },
		{ "no such queue",
		  KAI_GANG MISSING("Queue") FOUR("") KAI_POD("0", "pg-bert", "", ""),
		  "bert is pending: KAI ignores it: the queue q does not exist" },
		{ "a queue of queues",
		  KAI_GANG KAI_QUEUE("") FOUR("") KAI_POD("0", "pg-bert", "", ""),
		  "bert is pending: KAI places no pods of the queue q, which has no "
		  "parentQueue: use one of its child queues" },
		{ "... which is the only cause",
		  KAI_GANG KAI_QUEUE("") FOUR("") KAI_POD(
			  "0", "pg-bert", "", UNSCHEDULABLE("Unable to schedule pod")),
		  "bert is pending: KAI places no pods of the queue q, which has no "
		  "parentQueue: use one of its child queues.\nMore:" },
	};

	CHECK_ALL(rows);
}

TEST(test_too_much)
{
	static const struct row rows[] = {
		{ "minMember above all nodes together",
		  GANG SHUT ON("n1", "", "", "cpu: 2", "cpu: 1") THREE(
			  CPU, "0/2 nodes are available: resource gap: map[cpu:{{2 0}]."),
		  "bert is pending: its gang needs 3 " OF ", but all nodes together have "
		  "room for 2 (cpu), without other pods: add nodes, request less, or use "
		  "fewer nodes.\nMore: kubectl describe podgroup bert -n a\n" },
		{ "scheduleTimeoutSeconds",
		  GANG FOUR("cpu: 2") MEMBER(
			  "0", CPU,
			  UNSCHEDULABLE(
				  "rejected due to timeout after waiting 10s at plugin Coscheduling"))
			  MEMBER("1", CPU, UNSCHEDULABLE("rejection in Unreserve"))
				  MEMBER("2", CPU, UNSCHEDULABLE("optimistic rejection")),
		  PENDING "room for 2 (cpu)" NONE
			  "; scheduleTimeoutSeconds expired, and the scheduler will "
			  "retry it: rejected due to timeout after waiting 10s at plugin "
			  "Coscheduling.\n" },
	};

	CHECK_ALL(rows);
}

/* ---- YuniKorn ---- */

#define TASK(rank, spec, status)                                                       \
	"kind: Pod\n" META("bert-node-0-" rank                                         \
			   "-x") ", labels: {jobset.sigs.k8s.io/jobset-name: bert, "   \
				 "queue: root.team}, annotations: "                    \
				 "{yunikorn.apache.org/task-group-name: node, "        \
				 "yunikorn.apache.org/task-groups: '[{\"name\": "      \
				 "\"node\", \"minMember\": 3}]'}}\nspec: {" spec       \
				 "schedulerName: yunikorn, " CPU "}\nstatus: {" status \
				 "}\n---\n"
#define TASKS                                                                       \
	JOB("", STATUS)                                                             \
	JOBSET JOBS TASK("0", "", "phase: Pending") TASK("1", "", "phase: Pending") \
		TASK("2", "", "phase: Pending")
#define HOLDER(name, spec, status)                                                   \
	"kind: Placeholder\n" META(name) "}\nspec: {" spec CPU "}\nstatus: {" status \
					 "}\n---\n"
#define BOUND HOLDER("tg-0", "nodeName: n1, ", "phase: Running")
#define WAITING(name)         \
	HOLDER(name, "",      \
	       UNSCHEDULABLE( \
		       "request is waiting for cluster resources become available"))
#define OF_TASKS ": 1 of its 3 pods have a node (minMember of its task groups)"

TEST(test_yunikorn)
{
	static const struct row rows[] = {
		{ "cpu, with a placeholder that is bound",
		  TASKS BOUND WAITING("tg-1") WAITING("tg-2") FOUR("cpu: 3"),
		  PENDING "room for 2 (cpu)" OF_TASKS },
		{ "the limit of its queue",
		  TASKS BOUND WAITING("tg-1") WAITING("tg-2") FOUR("") EVENT(
			  "Pod", "tg-1", "Normal", "Informational",
			  "Request ''x'' does not fit in queue ''root.team'' "
			  "(requested map[pods:1 vcore:1000], available map[memory:9 "
			  "pods:18 vcore:1500])"),
		  PENDING "room for 2 (vcore of queue root.team)" OF_TASKS
			  ": request is waiting for cluster resources become available" },
		{ "the number of applications in its queue",
		  TASKS WAITING("tg-1") FOUR(""),
		  PENDING
		  "room for 4: 0 of its 3 pods have a node (minMember of its task "
		  "groups); queue root.team runs its maximum number of applications, or "
		  "YuniKorn has not retried it" },
		{ "no such queue",
		  JOB("", FAILED) JOBSET JOBS TASK(
			  "0", "",
			  "phase: Failed, reason: ApplicationRejected, message: ' failed "
			  "to place application u-bert'"),
		  "bert has failed: YuniKorn refuses it: the queue root.team does not "
		  "exist, or is not open to its user (label yunikorn.apache.org/queue): "
		  "failed to place application u-bert.\n"
		  "More: kubectl describe pod bert-node-0-0-x -n a\n" },
		/* ray-project/kuberay#5301 */
		{ "no room before the placeholders' timeout",
		  JOB("", FAILED) JOBSET JOBS TASK(
			  "0", "",
			  "phase: Failed, reason: ResourceReservationTimeout, message: "
			  "'Scheduling has timed out due to insufficient resources'"),
		  "bert has failed: the first failure is that of pod, "
		  "pod bert-node-0-0-x, was ended by its scheduler yunikorn: Scheduling "
		  "has timed out due to insufficient resources "
		  "(ResourceReservationTimeout)" },
		{ "a queue that is too small",
		  JOB("", FAILED) JOBSET JOBS TASK(
			  "0", "",
			  "phase: Failed, reason: ApplicationRejected, message: ' queue "
			  "root.team cannot fit application u-bert'"),
		  "bert has failed: YuniKorn refuses it: the queue root.team allows less "
		  "in total than its gang requests" },
	};

	CHECK_ALL(rows);
}

/* ---- devices ---- */

#define CLAIMS        "resourceClaims: [{name: gpu, resourceClaimTemplateName: pair}], " CPU
#define BLOCKED(spec) JOB("", STATUS) JOBSET JOBS MEMBER("0", spec, "phase: Pending")

TEST(test_devices)
{
	static const struct row rows[] = {
		{ "no such template",
		  BLOCKED(CLAIMS) MISSING("ResourceClaimTemplate pair") EVENT(
			  "Pod", "bert-node-0-0-x", "Warning",
			  "FailedResourceClaimCreation",
			  "PodResourceClaim gpu: resource claim template \"pair\": "
			  "resourceclaimtemplate.resource.k8s.io \"pair\" not found"),
		  "bert is pending: its pods claim devices with the "
		  "ResourceClaimTemplate pair, which does not exist in namespace "
		  "a.\nMore: kubectl get resourceclaimtemplates -n a\n" },
		{ "no such claim",
		  BLOCKED("resourceClaims: [{name: gpu, resourceClaimName: all}], " CPU)
			  MISSING("ResourceClaim all"),
		  "bert is pending: its pods claim devices with the ResourceClaim all, "
		  "which does not exist in namespace a.\n"
		  "More: kubectl get resourceclaims -n a\n" },
		{ "no such class",
		  JOB("", STATUS) JOBSET JOBS MEMBER(
			  "0", CLAIMS,
			  UNSCHEDULABLE(
				  "0/1 nodes are available: request a: device class "
				  "gpu does not exist.")),
		  "bert is pending: its pods claim devices of the DeviceClass gpu, which "
		  "does not exist: is the driver installed?\n"
		  "More: kubectl get deviceclasses\n" },
		{ "no devices left for a gang",
		  GANG ON("n1", "", "", "cpu: 64, devices of d: 5", "devices of d: 1")
			  MEMBER_WITH("0", CLAIMS,
				      UNSCHEDULABLE("rejection in Unreserve"),
				      "devices: {devices of d: 2}\n")
				  MEMBER("1", CLAIMS,
					 UNSCHEDULABLE(
						 "0/1 nodes are available: 1 cannot "
						 "allocate all claims. still not "
						 "schedulable, preemption: x"))
					  MEMBER("2", CLAIMS, UNSCHEDULABLE("-")),
		  PENDING "room for 2 (devices of d): no node has free devices for the "
			  "claims of bert-node-0-1-x (2 devices of d): 0/1 nodes are "
			  "available: 1 cannot allocate all claims" },
		{ "... of a class that is not counted",
		  GANG FOUR("")
			  THREE(CLAIMS,
				"0/1 nodes are available: 1 cannot allocate all claims."),
		  PENDING
		  "room for 0 (devices): no node has free devices for the claims of " },
	};

	CHECK_ALL(rows);
}

TEST(test_class)
{
	static const struct {
		const char *selectors, *want;
	} rows[] = {
		{ "[{cel: {expression: 'device.driver == \"gpu.example.com\"'}}]",
		  "gpu.example.com" },
		{ "[{cel: {expression: \"device.driver=='d'\"}}]", "d" },
		{ "[{cel: {expression: 'device.driver == \"d\" && true'}}]", NULL },
		{ "[{cel: {expression: 'device.driver == \"\"'}}]", NULL },
		{ "[{cel: {expression: 'device.driver != \"d\"'}}]", NULL },
		{ "[{cel: {expression: 'device.driver == \"a\"'}}, {cel: {}}]", NULL },
		{ "[]", NULL },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		cleanup_arena struct arena arena = { 0 };
		const char *text = arena_printf(&arena, "{spec: {selectors: %s}}",
						rows[i].selectors);
		cleanup_json cJSON *docs = NULL;
		struct error err = { 0 };

		assert_int_equal(yaml_parse(&docs, text, strlen(text), &err), 0);
		if (!str_eq(device_class_driver(&arena, docs->child), rows[i].want))
			fail_msg("%s", text);
	}
}

RUN_TESTS(NULL, NULL)
