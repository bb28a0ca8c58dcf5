#!/bin/bash
# tests/bench/cluster.sh controller|client|apiserver|gang|scale: figures that need a cluster, each in one of its own.
# The controller stands beside upstream's manager where that can be built (program.sh).
export KFT_GOMEMLIMIT=4GiB
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "$0")/../cluster/lib.sh"
# shellcheck source=tests/cluster/gangs.sh
. "$(dirname "$0")/../cluster/gangs.sh"

quietly() { # COMMAND...: what it says is shown if it fails
	"$@" >"$scratch/up" 2>&1 || {
		cat "$scratch/up"
		exit 1
	}
}

controller() {
	quietly controller_up
	controller_down
	in_cluster env "CLUSTER=$cluster_name" "KFTRAINER=$kftrainer" "BENCH_UPSTREAM=$upstream" tests/bench/cluster_bench.py "$scratch"
}

client() {
	quietly controller_up
	mkdir "$scratch/logs"
	in_cluster tests/bench/client_bench.py "$kftrainer" "$scratch/logs"
}

apiserver() {
	local pid server
	for pid in $(ip netns pids "kft-$cluster_name"); do
		[ ! "/proc/$pid/exe" -ef "$(cat "$cluster_state/programs")/bin/kube-apiserver" ] || server=$pid
	done
	XDG_STATE_HOME=$scratch/state in_cluster tests/bench/apiserver_bench.py "$kftrainer" "$scratch" \
		"$cluster_state/admin.kubeconfig" "$server"
}

gang_up() {
	ns=bench
	kc create namespace $ns
	controller_up
	node_up four '"cpu":"4","memory":"8Gi","pods":"20"'
	coscheduling_up
	yunikorn_up
	{
		runtime default-scheduler default-scheduler
		runtime scheduler-plugins scheduler-plugins 'podGroupPolicy: {coscheduling: {scheduleTimeoutSeconds: 10}}'
		runtime yunikorn yunikorn
	} | kt apply -f -
}
gang() {
	quietly gang_up
	in_cluster tests/bench/gang_bench.py "$ns"
}

# kwok plays the kubelets.
scale() {
	quietly controller_up
	controller_down
	in_cluster "$kwok" --kubeconfig "$cluster_state/admin.kubeconfig" --manage-all-nodes --node-lease-duration-seconds 200 \
		--config tests/bench/kwok.yaml >"$scratch/kwok.log" 2>&1 &
	in_cluster env "CLUSTER=$cluster_name" "KFTRAINER=$kftrainer" tests/bench/scale_bench.py "$scratch"
}

if [ "$(id -u)" != 0 ]; then
	echo "a network namespace takes root"
	exit 1
fi
[ "$1" != controller ] || upstream=$(tests/bench/program.sh upstream)
[ "$1" != scale ] || kwok=$(tests/bench/program.sh kwok)
cluster_up
"$1"
