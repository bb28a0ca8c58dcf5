#!/bin/bash
# Kueue and TrainJobs on two real nodes, of which one is the queue's: what is queued starts
# where its flavor says, and its quota goes to the next when it ends.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/cluster/kueue.sh
. "$(dirname "$0")/../cluster/kueue.sh"
e2e_last
check "Kueue starts" kueue_up team 2m
queue() {
	kc label node n2 pool=train --overwrite && { local_queues mine team; priority_class urgent 1000; } | k apply -f -
}
check "a queue, for the second node" queue

queued() { # NAME NODES COMMAND [LABEL]: a node takes half of the quota
	k create -f - <<-END
		apiVersion: trainer.kubeflow.org/v1alpha1
		kind: TrainJob
		metadata: {name: $1, labels: {kueue.x-k8s.io/queue-name: mine${4:+, $4}}}
		spec: $(sh "$2" "$3" 'resourcesPerNode: {requests: {cpu: 1m}}')
	END
}
state_is() { [ "$(of "$1" .status.state)" = "$2" ] || { of "$1" .status; return 1; }; }
nodes_of() { [ "$(pods "$1" '{.items[*].spec.nodeName}')" = "$2" ] || { pods "$1" '{.items[*].spec.nodeName}'; return 1; }; }
no_pods() { [ -z "$(pods "$1")" ] || { pods "$1"; return 1; }; }
uses() { [ "$(kc get clusterqueue team -o 'jsonpath={.status.flavorsUsage[0].resources[0].total}')" = "$1" ]; }

check "a TrainJob of two nodes" queued one 2 "echo at work; $until_go"
check "... is admitted, and runs" run one 2
check "... on the queue's node" nodes_of one "n2 n2"
check "a second one" queued two 2 "echo next; $until_go"
check "... waits for a quota, as \`why\` says" wait_for 60 why_says two '^two is suspended: it is waiting for quota in Kueue, as 1st of 1 in LocalQueue mine'
check "... without a pod" no_pods two
check "the first one is done" go one
check "... and complete" becomes one Complete
check "the second one runs" run two 2
check "one that is urgent" queued three 1 "$until_go" 'kueue.x-k8s.io/priority-class: urgent'
check "... takes its place" run three 1
check "... so the second one is suspended" becomes two Suspended
check "... its pods are ended" wait_for 60 no_pods two
check "the urgent one is done" go three
check "... and complete" becomes three Complete
check "the second one runs again" run two 2
check "... on the queue's node" nodes_of two "n2 n2"
check "... and is Running" wait_for 60 state_is two Running
check "it is done" go two
check "... and complete" becomes two Complete
check "the quota is unused" wait_for 60 uses 0
check "all of it is reported on the second one" tells two '^Suspended '
check "... from its start" tells two '^Resumed '
check "... to its end" tells two '^Completed '
kueue_down >/dev/null
finish
