# Part of test_queue.sh. Kueue's controller and TrainJobs: queued, admitted onto a flavor, run,
# preempted, let go. There is no kubelet, so what one would report is written into the pods'
# status here; pods that run are in tests/e2e/test_kueue.sh.
# shellcheck shell=bash disable=SC2154 # of lib.sh
ns=kueue-$$
kn() { kc -n $ns "$@"; }
objects() {
	kc create namespace $ns && kn apply -f - <<-END
		$(local_queues mine team)
		$(priority_class urgent 1000)
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainingRuntime
		metadata: {name: steps}
		spec:
		  mlPolicy: {numNodes: 2, torch: {}}
		  template: {spec: {replicatedJobs: [
		    {name: dataset-initializer, template: {
		      metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: dataset-initializer}},
		      spec: {template: {spec: {containers: [{name: dataset-initializer, image: i,
		        resources: {requests: {cpu: 1}}, volumeMounts: [{name: initializer, mountPath: /w}]}],
		        volumes: [{name: initializer, emptyDir: {}}]}}}}},
		    {name: node, dependsOn: [{name: dataset-initializer, status: Complete}], template: {
		      metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}},
		      spec: {backoffLimit: 0, template: {spec: {containers: [{name: node, image: i}]}}}}}]}}
	END
}
check "a queue, a priority, a runtime of two steps" objects

train() { # NAME NODES [LABELS [SPEC]]: a CPU a node
	kn create -f - <<-END
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainJob
		metadata: {name: $1, labels: {${3-kueue.x-k8s.io/queue-name: mine}}}
		spec: {${4:-runtimeRef: {name: torch-distributed\}}, activeDeadlineSeconds: 600,
		       trainer: {numNodes: $2, args: [], env: [{name: EMPTY, value: ""}], resourcesPerNode: {requests: {cpu: 1}}}}
	END
}
of() { kn get trainjob "$1" -o "jsonpath={$2}"; }
jobset() { kn get jobset "$1" -o "jsonpath={$2}"; }
pods() { kn get pods -l "jobset.sigs.k8s.io/jobset-name=$1" -o name; }
is() { # WHAT COMMAND...: that it prints
	local said
	said=$("${@:2}") || return 1
	[ "$said" = "$1" ] || { echo "$said"; return 1; }
}
becomes() { wait_for 30 is "$@"; }
has_pods() { [ "$(pods "$1" | wc -l)" = "$2" ] || { pods "$1"; return 1; }; }
report() { report_pods $ns "jobset.sigs.k8s.io/jobset-name=$1" "$2"; } # NAME STATUS: of all its pods
workload() { # NAME CONDITION: status and message, as Kueue has it
	kn get workloads -l "kueue.x-k8s.io/job-uid=$(of "$1" .metadata.uid)" \
		-o "jsonpath={range .items[*].status.conditions[?(@.type==\"$2\")]}{.status} {.message}{end}"
}
says() { workload "$1" "$2" | tee /dev/stderr | grep -q -e "$3"; } # NAME CONDITION LIKE
suspended='.status.conditions[?(@.type=="Suspended")]'
used() { kc get clusterqueue team -o 'jsonpath={.status.flavorsUsage[0].resources[0].total}'; }
selectors() { jobset "$1" '.spec.replicatedJobs[*].template.spec.template.spec.nodeSelector.pool'; }
queue_of() { jobset "$1" '.spec.replicatedJobs[0].template.spec.template.metadata.labels.kueue\.x-k8s\.io/local-queue-name'; }
ready='{"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}'

# ---- quota ---------------------------------------------------------------------------------------
check "a TrainJob with a queue" train first 3
check "... is suspended, admitted and resumed" becomes "False Resumed" of first "$suspended.status} {$suspended.reason"
check "... its pods go where the flavor says" becomes train selectors first
check "... with Kueue's labels" is mine queue_of first
check "... and are made" wait_for 30 has_pods first 3
check "... the deadline that Kueue does not know is kept" is 600 of first .spec.activeDeadlineSeconds
check "a second one" train second 3
check "... finds the quota used up" wait_for 30 says second QuotaReserved 'insufficient unused quota for cpu'
check "... stays suspended" becomes "True Suspended" of second "$suspended.status} {$suspended.reason"
check "... and so does its JobSet" becomes true jobset second .spec.suspend
check "... without a pod" has_pods second 0
check "... as \`why\` says" wait_for 30 why_says second '^second is suspended: it is waiting for quota in Kueue, as 1st of 1 in LocalQueue mine.*insufficient unused quota for cpu'
one_each() { is 2 eval 'kn get workloads -o name | wc -l'; }
check "each has one Workload, and the JobSets have none" one_each

check "the first one's pods run" eval 'report first "$ready" && becomes 1 of first ".status.jobsStatus[0].ready"'
check "... which its Workload knows" wait_for 30 says first PodsReady ^True
check "... and end well" report first '{"phase": "Succeeded"}'
check "... so it is complete" becomes True of first '.status.conditions[?(@.type=="Complete")].status'
check "... its Workload as well" wait_for 30 says first Finished ^True
check "... and its quota is the second one's" wait_for 30 has_pods second 3
check "... which runs" eval 'report second "$ready" && becomes Running of second .status.state'

# ---- preemption ----------------------------------------------------------------------------------
urgent='kueue.x-k8s.io/queue-name: mine, kueue.x-k8s.io/priority-class: urgent'
check "one that is urgent" train urgent 2 "$urgent"
check "... preempts the second one" wait_for 30 says second Evicted '^True Preempted'
check "... which is suspended" becomes "True Suspended" of second "$suspended.status} {$suspended.reason"
check "... no job of it is active" becomes "0 1" of second '.status.jobsStatus[0].active} {.status.jobsStatus[0].suspended'
check "... its pods go" wait_for 30 has_pods second 0
given_back() { is "" of second '.spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs' && is "" selectors second; }
check "... its nodes are given back" wait_for 30 given_back
check "... as \`why\` says" wait_for 30 why_says second '^second is suspended: Kueue has evicted it \(Preempted\): Preempted to accommodate a workload'
check "... and the urgent one has its pods" wait_for 30 has_pods urgent 2
check "the urgent one is deleted" kn delete trainjob urgent
check "... and the second one runs again, on the flavor's nodes" wait_for 30 has_pods second 3
check "... as before" eval 'is train selectors second && report second "$ready" && becomes Running of second .status.state'

# ---- by hand -------------------------------------------------------------------------------------
active() { kn patch workload "$(kn get workloads -l "kueue.x-k8s.io/job-uid=$(of "$1" .metadata.uid)" -o 'jsonpath={.items[0].metadata.name}')" --type merge -p "{\"spec\": {\"active\": $2}}"; }
check "a Workload is deactivated" active second false
check "... its job is suspended" becomes True of second "$suspended.status"
check "... without pods" wait_for 30 has_pods second 0
check "... and uses nothing" becomes 0 used
check "... as \`why\` says" wait_for 30 why_says second '^second is suspended: Kueue holds it back: its Workload is deactivated'
check "it is activated again" active second true
check "... and its job runs" wait_for 30 has_pods second 3
check "a job that runs is deleted" kn delete trainjob second
nothing_of() { ! kn get workloads,jobsets,pods -o name | grep -e "$1"; }
check "... nothing of it is left, its Workload neither" wait_for 30 nothing_of second
check "... and it uses nothing" becomes 0 used

# ---- which jobs ----------------------------------------------------------------------------------
check "a job with an initializer" train steps 2 'kueue.x-k8s.io/queue-name: mine' \
	'runtimeRef: {name: steps, kind: TrainingRuntime}, initializer: {dataset: {storageUri: "hf://a/b"}}'
check "... is admitted as a whole" becomes "train train" selectors steps
check "... with the requests of all its steps" becomes 3 used
check "... its first step has a pod" wait_for 30 has_pods steps 1
check "... and when that has ended, the others" eval 'report steps "{\"phase\": \"Succeeded\"}" && wait_for 30 has_pods steps 3'
check "... the step's quota is free by then" becomes 2 used
check "a rank fails" eval 'report steps "{\"phase\": \"Failed\"}" && becomes True of steps ".status.conditions[?(@.type==\"Failed\")].status"'
check "... its quota is free" becomes 0 used
check "a job of MPI" train mpi 2 'kueue.x-k8s.io/queue-name: mine' 'runtimeRef: {name: deepspeed-distributed}'
check "... is admitted with launcher and nodes" becomes "train train" selectors mpi
check "... and has its worker, for which the launcher waits" wait_for 30 has_pods mpi 1
check "a job with a patch of its own" train patched 1 'kueue.x-k8s.io/queue-name: mine' \
	'runtimeRef: {name: torch-distributed}, runtimePatches: [{manager: example.com/me, trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: {nodeSelector: {disk: ssd}}}}}}]}}}}]'
selector() { jobset patched '.spec.replicatedJobs[0].template.spec.template.spec.nodeSelector'; }
check "... has both, its own and the flavor's" becomes '{"disk":"ssd","pool":"train"}' selector
check "a job of a queue that there is not" train lost 1 'kueue.x-k8s.io/queue-name: none'
check "... waits" wait_for 30 says lost QuotaReserved "^False LocalQueue none doesn't exist"
check "... suspended" becomes True of lost "$suspended.status"
check "... as \`why\` says" wait_for 30 why_says lost "^lost is suspended: Kueue holds it back: no LocalQueue none in namespace $ns"
check "a job without a queue" train free 1 ''
check "... is not Kueue's" wait_for 30 has_pods free 1
check "... and has no condition" is "" of free '.status.conditions'

# ---- while the controller is away ----------------------------------------------------------------
check "one more job" eval 'train later 1 && wait_for 30 has_pods later 1 && kn delete trainjob mpi patched && becomes 1 used'
controller_down
check "it is deactivated while the controller is away, without which it cannot be changed" active later false
check "the controller comes back" controller_up --feature-gates DynamicResourceAllocation=true
check "... the job is suspended" becomes "true True" of later ".spec.suspend} {$suspended.status"
check "... its pods go" wait_for 30 has_pods later 0
check "... and its quota is free" becomes 0 used

kc delete namespace $ns --wait=false >/dev/null
