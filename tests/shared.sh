#!/bin/bash
# tests/shared.sh LAYER PROGRAM...
#
# tests/run.sh, and for each of its LANES a cluster that several of its programs use one after the other
# (e2e_shared of tests/e2e/lib.sh), which ends with it.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
export KFT_SHARED=s$$

end() {
	local state name i
	for state in "${KFT_CLUSTERS:-build/clusters}/$KFT_SHARED"-*/; do
		[ -d "$state" ] || continue
		name=$(basename "$state")
		for i in 1 2; do tests/e2e/node.sh "$name" $i down; done
		tests/cluster/cluster.sh "$name" down
	done
}
trap end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
tests/run.sh "$@"
