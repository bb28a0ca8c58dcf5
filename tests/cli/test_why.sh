#!/bin/bash
# `kftrainer why` of jobs of this machine; those of clusters: tests/cluster/test_why.sh.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
export HOME=$scratch
unset KUBECONFIG KUBERNETES_SERVICE_HOST

local_job() { "$kftrainer" submit --local --name "$1" --nodes 2 --runtime torch-distributed -- bash -c "$2" >/dev/null 2>&1; }
check "of no job" says 2 'specify one job' why
check "of a job that never was" says 1 'no TrainJob bert in namespace default' why bert
local_job fails '[ $JOB_COMPLETION_INDEX = 0 ] && exec sleep 60; echo "ValueError: boom" >&2; exit 3'
check "of one that failed: the first rank, its exit code" \
	says 0 '^fails has failed: the first failure is that of node-1 .*ended with exit code 3; its log says "ValueError: boom"' why fails
check "... where there is more" says 0 '^More: kftrainer logs --local fails -n default' why --local fails
check "... as JSON" says 0 '"reason": "ExitCode"' why fails -o json
check "a name that is nearly right" says 1 'did you mean .fails.\?' why fials
local_job ended true
check "of one that is complete" says 0 '^ended completed ' why ended
check "a kubeconfig that is named and not there is not this machine" \
	env KUBECONFIG="$scratch/none" bash -c '! "$1" why ended 2>"$2" && grep -q "no kubeconfig: " "$2"' - "$kftrainer" "$scratch/said"
check "--local and a cluster" says 2 'cannot be combined with' why ended --local --context x
finish
