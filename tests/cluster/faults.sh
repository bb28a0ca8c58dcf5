# faults.sh - for test_faults_*.sh and tests/soak: a cluster, and a scene of faults_scenes.py in it.
# shellcheck shell=bash
# shellcheck source=tests/cluster/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

scene() { # NAME [up]: in a cluster of its own
	"cluster_${2:-shared}"
	check "the controller starts" controller_up
	controller_down
	echo "1..$tests"
	[ "$failures" = 0 ] || exit 1
	in_cluster env "CLUSTER=$cluster_name" "KFTRAINER=$kftrainer" "FAULTS_JOBS=${FAULTS_JOBS:-}" \
		"FAULTS_KILLS=${FAULTS_KILLS:-}" "FAULTS_SEED=${FAULTS_SEED:-}" \
		tests/cluster/faults_scenes.py "$1" "$scratch" && finished=1
	exit
}
