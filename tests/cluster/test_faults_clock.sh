#!/bin/bash
# The wall clock jumps while the controller works.
# shellcheck source=tests/cluster/faults.sh
. "$(dirname "$0")/faults.sh"
if ! make -s build/kftrainer-shifted >"$scratch/make" 2>&1; then
	check "a controller with a clock that can jump is linked" eval 'cat "$scratch/make"; false'
	finish
fi
kftrainer=$PWD/build/kftrainer-shifted
scene clock up # certificates and events of other months stay
