#!/bin/bash
# TrainJobs in queues of Kueue, whose controller starts once for all of queue_*.sh.
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/cluster/kueue.sh
. "$(dirname "$0")/kueue.sh"
export KFT_NODE_GRACE=3600 # queue_topology.sh's nodes have no kubelet
cluster_up
check "the controller starts" controller_up --feature-gates DynamicResourceAllocation=true
check "Kueue starts" kueue_up team 4 why 3
for part in tests/cluster/queue_*.sh; do
	# shellcheck source=/dev/null
	. "$part"
done
[ -z "${KFT_CLUSTER:-}" ] || {
	kueue_down
	kc delete clusterqueue team why --wait=false
} >/dev/null
finish
