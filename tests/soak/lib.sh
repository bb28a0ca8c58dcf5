# tests/soak/lib.sh - for soak_*.sh: a cluster, and a scene of soak.py in it.
# shellcheck shell=bash
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cluster/lib.sh"
export KFT_GOMEMLIMIT=4GiB

soak() { # SCENE
	cluster_up
	check "the controller starts" controller_up
	controller_down
	echo "1..$tests"
	in_cluster env "CLUSTER=$cluster_name" "KFTRAINER=$kftrainer" "SOAK_CYCLES=${SOAK_CYCLES:-}" "SOAK_JOBS=${SOAK_JOBS:-}" \
		tests/soak/soak.py "$1" "$scratch"
	exit
}
