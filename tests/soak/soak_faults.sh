#!/bin/bash
# The scenes of tests/cluster/test_faults_*, longer, with the controller under ASan and UBSan;
# and connections that stay open while nothing comes through them.
export KFTRAINER=$PWD/build/san/kftrainer FAULTS_JOBS=${FAULTS_JOBS:-500} FAULTS_KILLS=${FAULTS_KILLS:-100}
status=0
for scene in kill apiserver watch dumb gone; do
	bash -c '. tests/cluster/faults.sh; scene "$0"' "$scene" || status=1
done
exit $status
