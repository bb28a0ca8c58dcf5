#!/bin/bash
# tests/bench/gang_bench.sh: from a TrainJob to its bound pods, with each scheduler (gang_bench.py).
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "$0")/../cluster/lib.sh"
# shellcheck source=tests/cluster/gangs.sh
. "$(dirname "$0")/../cluster/gangs.sh"
cluster_up
ns=bench
{
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
} >"$scratch/up" 2>&1 || {
	cat "$scratch/up"
	exit 1
}
in_cluster env "BENCH_ROUNDS=${BENCH_ROUNDS:-}" tests/bench/gang_bench.py $ns
