#!/bin/bash
# tests/bench/cluster_bench.sh: the figures that need a cluster (cluster_bench.py).
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "$0")/../cluster/lib.sh"
export KFT_GOMEMLIMIT=4GiB
cluster_up
controller_up >"$scratch/up" || {
	cat "$scratch/up"
	exit 1
}
controller_down
in_cluster env "CLUSTER=$cluster_name" "KFTRAINER=$kftrainer" "BENCH_JOBS=${BENCH_JOBS:-}" "BENCH_MANY=${BENCH_MANY:-}" "BENCH_RUNNING=${BENCH_RUNNING:-}" \
	"BENCH_ROWS=${BENCH_ROWS:-}" "BENCH_ROUNDS=${BENCH_ROUNDS:-}" \
	"BENCH_UPSTREAM=${BENCH_UPSTREAM:-}" "BENCH_LIVES=${BENCH_LIVES:-}" tests/bench/cluster_bench.py "$scratch"
