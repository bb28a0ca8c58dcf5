# Part of test_queue.sh. `kftrainer why` of TrainJobs that Kueue holds back: the causes are Kueue's
# own, the first sentence is checked.
# shellcheck shell=bash disable=SC2154 # of lib.sh
ns=whyq-$$
kn() { kc -n $ns "$@"; }
queues() {
	kc create namespace $ns && { local_queues mine why nowhere absent; priority_class why-$$ 1000; } | kn apply -f -
}
check "queues" queues
train() { # NAME NODES [QUEUE [LABELS]]: a CPU a node
	kn create -f - <<-END
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainJob
		metadata: {name: $1, labels: {kueue.x-k8s.io/queue-name: ${3:-mine}${4:+, $4}}}
		spec: {runtimeRef: {name: torch-distributed}, trainer: {numNodes: $2, resourcesPerNode: {requests: {cpu: 1}}}}
	END
}
says() { wait_for 30 why_says "$@"; }
has_pods() { [ "$(kn get pods -l "jobset.sigs.k8s.io/jobset-name=$1" -o name | wc -l)" = "$2" ]; }
active() { kn patch workload "$(kn get workloads -l "kueue.x-k8s.io/job-uid=$(kn get trainjob "$1" -o 'jsonpath={.metadata.uid}')" -o 'jsonpath={.items[0].metadata.name}')" --type merge -p "{\"spec\": {\"active\": $2}}"; }

check "a job that fills the queue" eval 'train first 3 && wait_for 60 has_pods first 3'
check "... not suspended" says first '^first is pending: '
check "two more" eval 'train second 2 && sleep 1.1 && train third 1 && train fourth 9'
check "... the first of them waits for quota, in Kueue's words" says second \
	'^second is suspended: it is waiting for quota in Kueue, as [12](st|nd) of [23] in LocalQueue mine.*: .*insufficient unused quota for cpu in flavor train'
check "... the next is behind it" says third '^third is suspended: it is waiting for quota in Kueue, as (2nd|3rd) of [23] in LocalQueue mine'
check "... one that never fits says so" says fourth '^fourth is suspended: Kueue cannot admit it to LocalQueue mine.*, however long it waits: .*insufficient quota for cpu in flavor train'
check "a queue that is not there" eval 'train lost 1 none'
check "... is named" says lost "^lost is suspended: Kueue holds it back: no LocalQueue none in namespace $ns"
check "a queue without its ClusterQueue" eval 'train stuck 1 nowhere'
check "... is named" says stuck '^stuck is suspended: Kueue holds it back: LocalQueue nowhere \(ClusterQueue absent) is not admitting: '
check "an urgent job" train urgent 3 mine "kueue.x-k8s.io/priority-class: why-$$"
check "... takes the first one's quota" says first '^first is suspended: Kueue has evicted it \(Preempted\): .*[Pp]reempted to accommodate'
check "a Workload is deactivated" active third false
check "... which is reported" says third '^third is suspended: Kueue holds it back: its Workload is deactivated \(spec\.active: false\)'
as_json() { why third -o json | python3 -c 'import json, sys; w = json.load(sys.stdin); assert w["causes"][0]["reason"] == "WorkloadInactive" and w["state"] == "Suspended", w'; }
check "... as JSON" as_json

kn delete trainjobs --all --wait=false >/dev/null
kc delete namespace $ns --wait=false >/dev/null
