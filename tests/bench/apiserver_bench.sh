#!/bin/bash
# tests/bench/apiserver_bench.sh: figures of `controller --local` beside a real API server (apiserver_bench.py).
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "$0")/../cluster/lib.sh"
cluster_up
for pid in $(ip netns pids "kft-$cluster_name"); do
	[ ! "/proc/$pid/exe" -ef "$(cat "$cluster_state/programs")/bin/kube-apiserver" ] || server=$pid
done
XDG_STATE_HOME=$scratch/state in_cluster tests/bench/apiserver_bench.py "$kftrainer" "$scratch" "$cluster_state/admin.kubeconfig" "$server"
