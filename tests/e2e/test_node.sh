#!/bin/bash
# A node loses power, with pods of two jobs and the controller that leads on it.
export gone_after=2 KFT_NODE_GRACE=16
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
e2e_up

leader_node() {
	local pod
	pod=$(kc get lease trainer.kubeflow.org -n "$trainer_ns" -o 'jsonpath={.spec.holderIdentity}')
	kc get pod "${pod%%_*}" -n "$trainer_ns" -o 'jsonpath={.spec.nodeName}'
}
node_is() { kc wait --for=condition=Ready="$2" "node/n$1" --timeout=600s; } # I STATUS
jobset() { k get jobset "$1" -o 'jsonpath={.metadata.uid}'; }
# Its pods on a node.
on() { # NAME I
	k get pods -l "jobset.sigs.k8s.io/jobset-name=$1" --field-selector "spec.nodeName=n$2,status.phase=Running" \
		-o 'jsonpath={.items[*].metadata.name}'
}

check "a job runs, whose pods may be replaced" train moves "$(runtime=retry sh 2 "$until_go")"
check "... on both nodes" run moves 2
check "and one that fails with its first pod" train fails "$(sh 2 "$until_go")"
check "... on both nodes" run fails 2
uid=$(jobset moves)
lost=$(leader_node | tr -d n)
left=$((3 - lost))
moved=$(on moves "$lost")
failed=$(on fails "$lost")
check "one node is without power" node "$lost" poweroff
check "... which the cluster sees" node_is "$lost" Unknown
check "... which why says" wait_for 90 why_says fails "^fails is (running|pending): (node n$lost, on which node-. \\(node rank .\\) is, has not been ready for |node-. \\(node rank .\\), pod .* on node n$lost, was ended because its node was lost)"
both_left() { [ "$(on moves "$left" | wc -w)" = 2 ] || { k get pods -o wide; return 1; }; }
check "the pod is recreated on the other node" wait_for 120 both_left
why="node-. \\(node rank .\\): disrupted: DeletionByTaintManager on n$lost"
check "... which is reported on the TrainJob" tells moves "^PodDisrupted $moved, $why"
check "... here, too" tells fails "^PodDisrupted $failed, $why"
another_leads() { [ "$(leader_node)" = "n$left" ]; }
check "the other controller leads" wait_for 60 another_leads
check "... and takes jobs" wait_for 60 train next "$(sh 1 true)"
check "... which complete" becomes next Complete
finish_pods() { local pod; for pod in $(on moves "$left"); do wait_for 20 go_on "$pod" || return 1; done; }
check "the pods end" finish_pods
succeeded() { [ "$(k get job moves-node-0 -o 'jsonpath={.status.succeeded}')" = 2 ]; }
check "... both" wait_for 60 succeeded

# A Job has not ended before its last pod has, and of the one on the lost node nobody knows.
check "the node is back" node "$lost" up
check "... which the cluster sees" node_is "$lost" True
check "the job is complete" becomes moves Complete
same() { [ "$(jobset moves)" = "$uid" ]; }
check "... its JobSet is the same" same
told_once() { [ "$(events moves | grep -c -e ^JobSetCreated -e ^Completed)" = 2 ] || { events moves; return 1; }; }
check "... all of it told once" wait_for 30 told_once
check "the other job has failed" becomes fails Failed
check "... because of the node" tells fails "^Failed .*; first: $why"
check "there are two controllers again" kc rollout status deployment kubeflow-trainer-controller-manager \
	-n "$trainer_ns" --timeout=600s
k delete trainjobs --all >/dev/null
finish
