#!/bin/bash
# tests/bench/client_bench.sh: figures of the client (client_bench.py).
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "$0")/../cluster/lib.sh"
cluster_up
controller_up >"$scratch/up" || {
	cat "$scratch/up"
	exit 1
}
mkdir "$scratch/logs"
in_cluster tests/bench/client_bench.py "$kftrainer" "$scratch/logs"
