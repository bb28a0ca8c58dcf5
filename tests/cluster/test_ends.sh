#!/bin/bash
# Finished jobs go after their time to live: once, never early, while the controller is killed and its clock jumps.
# shellcheck source=tests/cluster/faults.sh
. "$(dirname "$0")/faults.sh"
if ! make -s build/kftrainer-shifted >"$scratch/make" 2>&1; then
	check "a controller with a clock that can jump is linked" eval 'cat "$scratch/make"; false'
	finish
fi
kftrainer=$PWD/build/kftrainer-shifted
scene ends
