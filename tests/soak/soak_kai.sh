#!/bin/bash
# Gangs by KAI 0.12, the only release that can be had as a Go module: its scheduler, binder and controllers as processes,
# with its own pod grouper, which does not know TrainJobs, and with one that groups them as 0.13 does
# (tests/cluster/kai/podgrouper13). The nodes are objects, as in tests/cluster/gangs.sh.
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
# shellcheck source=tests/cluster/lib.sh
. tests/cluster/lib.sh
# shellcheck source=tests/cluster/gangs.sh
. tests/cluster/gangs.sh
# shellcheck source=tests/cluster/with_kai.sh
. tests/cluster/with_kai.sh
rounds=${KFT_GANG_ROUNDS:-20}
exec 3>&1 # figures
group_kind=podgroups.scheduling.run.ai
cluster_up
ns=kai-$$
kc create namespace $ns >"$scratch/namespace"
check "the controller starts" controller_up
check "a node has room for four pods" node_up four '"cpu":"4","memory":"8Gi","pods":"20"'
check "KAI starts" kai_up

kai_runtime() { # NAME [JOBS-BEFORE [OF-THE-NODES [POD [REQUESTS]]]]
	runtime "$1" kai-scheduler '' "${@:2}" | kt apply -f - >/dev/null
}
kai_job() { job "$1" "$2" | sed "s/labels: {/&kai.scheduler\/queue: $3, /" | kt create -f - >/dev/null; } # NAME RUNTIME QUEUE

# ---- its own pod grouper -------------------------------------------------------------------------
check "its own pod grouper starts" kai_grouper podgrouper
kai_runtime large '' '' '' 'cpu: 2'
kai_job large large gangs
check "two of three pods get a node" wait_for 60 eval '[ "$(bound large)" = 2 ]'
check "... why: it is no gang" wait_for 30 says_first large 'GangIgnored:KAI places its pods one by one, 2 of 3 so far: '
gone large >/dev/null

# ---- gangs ---------------------------------------------------------------------------------------
check "a pod grouper starts that knows JobSets" kai_grouper podgrouper13
kai_runtime gang
check "of two jobs of three one runs, then the other, $rounds times" rounds_of "$rounds" gang

# ---- queues --------------------------------------------------------------------------------------
kai_job lost gang nowhere
check "a queue that does not exist" wait_for 30 says_first lost 'QueueNotFound:KAI ignores it: the queue nowhere does not exist'
gone lost >/dev/null
kai_job parent gang top
check "a queue of queues, which is the only cause" wait_for 30 says_only parent \
	'QueueNotForPods:KAI places no pods of the queue top, which has no parentQueue'
gone parent >/dev/null
node_up four '"cpu":"8","memory":"8Gi","pods":"20"'
kai_job a gang limited
check "one of two jobs fits the limit of their queue" wait_for 60 all_placed a
kai_job b gang limited
check "... why" wait_for 30 says_first b 'Gang:its gang needs 3, room for 0 \(limit of its queue\): 0 of its 3 pods have a node'
gone a b >/dev/null
kai_job large large limited
check "a gang larger than its queue (KAI-Scheduler#500)" wait_for 30 says_first large \
	'QueueTooSmall:KAI places none of its pods: the queue limited allows less in total than its gang requests'
gone large >/dev/null
node_up four '"cpu":"4","memory":"8Gi","pods":"20"'
kai_job large large gangs
check "a gang larger than the node" wait_for 30 says_first large 'GangTooLarge:its gang needs 3 .* all nodes together have room for 2 \(cpu\)'
gone large >/dev/null
annotations='kai.scheduler\/topology: nowhere, kai.scheduler\/topology-required-placement: rack'
job topology gang | sed "s/labels: {/annotations: {$annotations}, &kai.scheduler\/queue: gangs, /" | kt create -f - >/dev/null
check "a topology that does not exist" wait_for 30 says_first topology 'Gang:its gang needs 3, room for 0 \(topology\): .*Requested topology nowhere does not exist'
gone topology >/dev/null

# ---- priority ------------------------------------------------------------------------------------
# The Job does not fail for pods that KAI evicts.
kai_runtime low
kt patch trainingruntime low --type json -p '[{"op":"replace","path":"/spec/template/spec/replicatedJobs/0/template/spec/backoffLimit","value":9}]' >/dev/null
of_priority() { job "$1" "$2" | sed "s/labels: {/&kai.scheduler\/queue: gangs, priorityClassName: $3, /" | kt create -f - >/dev/null; }
of_priority low low train
check "a job of a low priority runs" wait_for 60 all_placed low
report_pods $ns jobset.sigs.k8s.io/jobset-name=low '{"phase":"Running"}'
of_priority high gang build-preemptible
replaced() { let_go && all_placed high && [ "$(bound low)" = 0 ]; }
check "one of a higher priority takes the place of its whole gang" wait_for 60 replaced
check "... why" wait_for 60 says_first low 'Gang:its gang needs 3, room for 1 .*KAI has evicted it: Pod .* was preempted by higher priority workload'
gone high >/dev/null
check "... which runs again once the other has gone" wait_for 60 all_placed low
gone low >/dev/null
of_priority over gang build
check "a priority that is not preempted, and a queue without a quota" wait_for 30 says_first over \
	'Gang:its gang needs 3, room for 0 \(quota of its queue\): .*Non-preemptible workload is over quota'
gone over >/dev/null

# ---- steps, and a pod in the place of another ----------------------------------------------------
step='{name: prep, template: {spec: {template: {spec: {schedulerName: kai-scheduler, containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}}}}}, '
kai_runtime steps "$step" 'dependsOn: [{name: prep, status: Complete}],'
kai_job steps steps gangs
check "an initializer waits for pods that come after it (KAI-Scheduler#1209)" wait_for 30 says_first steps \
	'GangOfSteps:KAI waits until 4 of its pods exist .*, of which 1 do: it counts the pods of all steps'
gone steps >/dev/null
runtime again kai-scheduler | sed 's/backoffLimit: 0/backoffLimit: 3/' | kt apply -f - >/dev/null
kai_job again again gangs
check "a gang runs" wait_for 60 all_placed again
ends_as 0 Succeeded && ends_as 1 Failed
check "a pod completes, another fails: the one in its place waits (KAI-Scheduler#1347)" wait_for 60 says_first again 'GangCompleted:pod again-node-0-1-.* takes the place of another, but 1 of its gang have completed'
gone again >/dev/null
kai_job again gang gangs
check "a gang runs" wait_for 60 all_placed again
kt patch trainjob again --type merge -p '{"spec":{"suspend":true}}' >/dev/null
check "suspended, it has no pods" wait_for 60 eval 'let_go; no_pods'
kt patch trainjob again --type merge -p '{"spec":{"suspend":false}}' >/dev/null
check "resumed, it runs" wait_for 60 all_placed again
finish
