#!/bin/bash
# Gangs by Kubernetes' own scheduler (KEP-3015 of Trainer, KEP-4671 of Kubernetes): a Workload and its
# PodGroups, whose kinds the cluster serves only after a while. The nodes are objects, as in gangs.sh.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/cluster/gangs.sh
. "$(dirname "$0")/gangs.sh"
# shellcheck source=tests/cluster/kueue.sh
. "$(dirname "$0")/kueue.sh"
rounds=${KFT_GANG_ROUNDS:-3} # 20 in tests/soak
exec 3>&1 # figures
group_kind=podgroups.scheduling.k8s.io
cluster_up
ns=workload-$$
kc create namespace $ns >"$scratch/namespace"
gate='--feature-gates TrainJobWorkloadAwareScheduling=true'
# shellcheck disable=SC2086
check "the controller starts" controller_up $gate
check "a node has room for four pods" node_up four '"cpu":"4","memory":"8Gi","pods":"20"'

scheduling() { # NAME SCHEDULING [JOBS-BEFORE [OF-THE-NODES [POD]]]
	runtime "$1" default-scheduler "scheduling: {$2}" "${@:3}"
}
restart() { # VERSION PROGRAM...
	local program # a controller manager ends where no API server answers within 10 s
	for program in "${@:2}"; do
		cluster stop $program && KFT_WORKLOADS=$1 cluster start $program && wait_for 60 kc get --raw /readyz >/dev/null || return 1
	done
}
groups() { kt get $group_kind "$@"; }
count_of() { groups -o jsonpath='{range .items[*]}{.spec.workloadRef.templateName}={.spec.schedulingPolicy.gang.minCount}{"\n"}{end}' | sort | xargs; }

# ---- clusters without it -------------------------------------------------------------------------
scheduling gang 'schedulingPolicy: {gang: {}}' | kt apply -f - >/dev/null
job early gang | kt create -f - >/dev/null
blocked() { [ "$(kt get trainjob early -o jsonpath='{.status.conditions[?(@.type=="ResourcesCreated")].reason}')" = PodGroupNotInstalled ]; }
unserved='PodGroupNotServed:.*PodGroup \(scheduling.k8s.io/v1beta1\), .* is not served by the cluster'
check "without the API, a condition says that the job waits" wait_for 30 blocked
check "... why" wait_for 30 says_first early "$unserved"
event() { kt get events --field-selector reason=TrainJobResourcesCreationFailed -o jsonpath='{.items[*].message}' | grep 'is not served'; }
check "... and an event" wait_for 30 event
check "an API server serves v1alpha3 only" restart v1alpha3 kube-apiserver
check "... the job still waits" wait_for 30 says_first early "$unserved"
check "it serves v1beta1" restart v1beta1 kube-apiserver kube-controller-manager
check "... the job goes on" wait_for 60 eval '[ "$(bound early)" = 3 ]'
grouped() { kt get pods -o jsonpath='{range .items[*]}{.spec.schedulingGroup.podGroupName}{"\n"}{end}' | sort -u | grep -x 'early-[0-9a-f]*-[0-9a-f]*'; }
check "... its pods name their group" grouped
owners() { groups -o jsonpath='{.items[0].metadata.ownerReferences[*].kind}' | grep -x 'TrainJob Workload'; }
check "... which the TrainJob and the Workload own" owners
gone early >/dev/null
check "all goes with the TrainJob" wait_for 30 eval '! kt get workloads.scheduling.k8s.io,podgroups.scheduling.k8s.io -o name | grep .'
check "the scheduler's gate is turned on" restart v1beta1 kube-scheduler

# ---- two gangs -----------------------------------------------------------------------------------
check "of two jobs of three one runs, then the other, $rounds times" rounds_of "$rounds" gang

# ---- steps ---------------------------------------------------------------------------------------
step() { echo "{name: prep, template: {spec: {template: {spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}}}}}, "; }
scheduling steps '' "$(step)" 'dependsOn: [{name: prep, status: Complete}],' | kt apply -f - >/dev/null
with_steps() {
	job steps steps | kt create -f - && wait_for 60 eval '[ "$(bound steps prep)" = 1 ]' || return 1
	[ "$(count_of)" = "node=3 prep=1" ] || { count_of; return 1; }
	succeed steps prep && wait_for 60 eval '[ "$(bound steps node)" = 3 ]'
}
check "an initializer, then the gang: a group for each" with_steps
gone steps >/dev/null

# ---- changes -------------------------------------------------------------------------------------
patch() { kt patch trainjob "$1" --type merge -p "{\"spec\":$2}"; }
uids() { kt get workloads.scheduling.k8s.io,podgroups.scheduling.k8s.io -o jsonpath='{.items[*].metadata.uid}'; }
resumed() {
	local before
	job again gang | kt create -f - && wait_for 60 all_placed again || return 1
	before=$(uids)
	patch again '{"suspend":true}' || return 1
	wait_for 20 eval 'let_go; no_pods' || return 1
	patch again '{"suspend":false}' && wait_for 60 all_placed again && [ "$(uids)" = "$before" ]
}
check "suspended and resumed: the same Workload and PodGroup" resumed
edited() {
	local group
	group=$(groups -o name)
	kt patch "$group" --type merge -p '{"spec":{"schedulingPolicy":{"gang":{"minCount":5}}}}' &&
		wait_for 30 eval '[ "$(count_of)" = again=3 ]'
}
check "a PodGroup that somebody edits is as it was again" edited
deleted() {
	local before
	before=$(uids)
	patch again '{"suspend":true}' || return 1
	wait_for 20 eval 'let_go; no_pods' || return 1
	groups --no-headers -o name | xargs -n 1 "${kubectl[@]}" -n $ns delete --wait=false
	wait_for 30 eval '[ "$(count_of)" = again=3 ] && [ "$(uids)" != "'"$before"'" ]'
}
check "one that somebody deletes is made again" deleted
nodes() { kt patch trainingruntime gang --type merge -p "{\"spec\":{\"mlPolicy\":{\"numNodes\":$1}}}"; }
# Users cannot change spec.trainer, as upstream. Without its snapshot a suspended job reads its runtime anew.
more() {
	local before
	before=$(uids)
	nodes 4 && kt delete configmap again-runtime-snapshot && wait_for 30 eval '[ "$(count_of)" = again=4 ]' && nodes 3 &&
		[ "$(uids)" = "$before" ] && patch again '{"suspend":false}' && wait_for 60 eval '[ "$(bound again)" = 4 ]'
}
check "a suspended job of more nodes: the same PodGroup has the new minCount" more
gone again >/dev/null
replaced() { # kubernetes/kubernetes#142330
	scheduling retries '' | sed 's/backoffLimit: 0/backoffLimit: 3/' | kt apply -f - && job again retries | kt create -f - &&
		wait_for 60 all_placed again && ends_as 0 Succeeded && ends_as 1 Failed && wait_for 60 says_first again 'GangCompleted:pod again-node-0-1-'
}
check "a pod that takes the place of one that failed, after another has completed: why says what it waits for" replaced
gone again >/dev/null
foreign() {
	local name # it depends on the TrainJob's alone
	job foreign gang | kt create -f - && wait_for 30 eval 'groups -o name | grep foreign' || return 1
	name=$(groups -o jsonpath='{.items[*].metadata.name}')
	gone foreign
	wait_for 30 eval '! groups -o name | grep .' || return 1
	kt create -f - <<-END && wait_for 30 says_first foreign '.*PodGroup foreign-[-0-9a-f]* exists and is not controlled by TrainJob foreign'
		apiVersion: scheduling.k8s.io/v1beta1
		kind: PodGroup
		metadata: {name: $name}
		spec: {schedulingPolicy: {basic: {}}}
		$(job foreign gang)
	END
}
check "one of somebody else's is left alone, and said" foreign
gone foreign >/dev/null
kt delete podgroups.scheduling.k8s.io --all --wait=false >/dev/null 2>&1

short() { # of Workloads, until the quota goes
	kt create quota none --hard=count/workloads.scheduling.k8s.io=0 && job short gang | kt create -f - &&
		wait_for 30 says_first short 'ResourceQuota:.*count/workloads' && kt delete quota none && wait_for 60 all_placed short
}
check "a quota on Workloads: why says so, and the job goes on without it" short
gone short >/dev/null

# ---- topology ------------------------------------------------------------------------------------
# Three fit into a rack: y.
rack_up() { node_up "$1" '"cpu":"2","memory":"8Gi","pods":"20"' && kc label node "$1" "rack=$2" --overwrite; }
check "three nodes in two racks" eval 'rack_up x1 x && rack_up y1 y && rack_up y2 y'
in_a_rack() { # SCHEDULING
	scheduling rack "$1" | kt apply -f - && job rack rack | kt create -f - && wait_for 60 all_placed rack &&
		kt get pods -o jsonpath='{range .items[*]}{.spec.nodeName}{"\n"}{end}' | sort -u | xargs | grep -x 'y1 y2'
}
rack='schedulingConstraints: {topology: [{key: rack}]}'
check "a gang in one rack" in_a_rack "$rack"
second_waits() {
	job full rack | kt create -f - && wait_for 30 says_first full 'Gang:its gang needs 3, room for 2 .cpu, within one rack.: ' && [ "$(bound full)" = 0 ]
}
check "... another, for which no rack has room, waits, and why says so" second_waits
gone rack full >/dev/null
check "... of the jobs of an element" in_a_rack "replicatedJobs: [{targetReplicatedJobs: [node], $rack}]"
gone rack >/dev/null
check "... of a Job" in_a_rack "replicatedJobs: [{targetReplicatedJobs: [node], job: {$rack}}]"
check "... whose group is named by its index" eval 'count_of; [ "$(count_of)" = node-0=3 ]'
gone rack >/dev/null
kc delete node x1 y1 y2 >/dev/null

# ---- preemption ----------------------------------------------------------------------------------
kc create priorityclass high-$$ --value 1000 >/dev/null
scheduling whole 'disruptionMode: {all: {}}' | kt apply -f - >/dev/null
scheduling urgent '' '' '' "priorityClassName: high-$$," | kt apply -f - >/dev/null
preempted() {
	job low whole | kt create -f - && wait_for 60 all_placed low || return 1
	job urgent urgent | kt create -f - || return 1
	wait_for 60 eval 'let_go; all_placed urgent && [ "$(bound low)" = 0 ]'
}
check "a gang of higher priority takes the place of a whole gang" preempted
gone low urgent >/dev/null

# ---- what admission refuses ----------------------------------------------------------------------
refused() { # SCHEDULING REGEX [JOBS-BEFORE]
	! scheduling bad "$1" "${3:-}" | kt create -f - 2>"$scratch/refused" && cat "$scratch/refused" && grep -qE -e "$2" "$scratch/refused"
}
check "refused: minCount" refused 'schedulingPolicy: {gang: {minCount: 2}}' 'gang.minCount is computed from numNodes'
check "refused: beside podGroupPolicy" refused $'}\n  podGroupPolicy: {coscheduling: {}' 'mutually exclusive'
check "refused: a group for each of several Jobs that have the same pods" refused \
	'replicatedJobs: [{targetReplicatedJobs: [node]}, {targetReplicatedJobs: [prep], job: {}}]' 'must have 1 replica' \
	"$(step | sed 's/name: prep,/& replicas: 2,/')"
check "refused: an unknown job" refused 'replicatedJobs: [{targetReplicatedJobs: [nod]}]' 'no such job'

# ---- the scheduler alone without the gate --------------------------------------------------------
check "the scheduler's gate is turned off" restart '' kube-scheduler
ignored() {
	{ job a gang && job b gang; } | kt create -f - && wait_for 60 eval '[ "$(($(bound a) + $(bound b)))" = 4 ]' || return 1
	wait_for 30 eval "says_first a '$one_by_one' || says_first b '$one_by_one'"
}
one_by_one='GangIgnored:.*turn on kube-scheduler.s feature gate GenericWorkload'
check "... it places pods one by one, and why says so" ignored
gone a b >/dev/null

# ---- Kueue ---------------------------------------------------------------------------------------
check "the scheduler's gate is on again" restart v1beta1 kube-scheduler
check "Kueue starts" kueue_up team 3
local_queues mine team | kt apply -f - >/dev/null
kc label node four pool=train --overwrite >/dev/null
queued() { job "$1" gang | sed 's,queue: "",kueue.x-k8s.io/queue-name: mine,' | kt create -f -; }
suspended() { kt get trainjob "$1" -o jsonpath='{.spec.suspend}' | grep true; }
in_queue() {
	queued first && wait_for 60 all_placed first && queued second && wait_for 30 suspended second && no_pods_of second &&
		succeed first && wait_for 60 all_placed second
}
no_pods_of() { [ "$(kt get pods -l "jobset.sigs.k8s.io/jobset-name=$1" -o name | wc -l)" = 0 ]; }
check "Kueue admits one gang, then the other" in_queue
gone first second >/dev/null
kc delete node/four "priorityclass/high-$$" >/dev/null
kc delete namespace $ns --wait=false >/dev/null
finish
