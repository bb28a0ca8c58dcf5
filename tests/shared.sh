#!/bin/bash
# tests/shared.sh LAYER PROGRAM...
#
# tests/run.sh, and a cluster that several of its programs use one after the other (e2e_shared of
# tests/e2e/lib.sh), which ends with it.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
export KFT_SHARED=s$$
state=${KFT_CLUSTERS:-build/clusters}/$KFT_SHARED

end() {
	local i
	[ -d "$state" ] || return 0
	for i in 1 2; do tests/e2e/node.sh $KFT_SHARED $i down; done
	tests/cluster/cluster.sh $KFT_SHARED down
}
trap end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
tests/run.sh "$@"
