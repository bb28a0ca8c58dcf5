#!/bin/bash
# `kftrainer why` of jobs of this machine; those of clusters: tests/cluster/test_why.sh.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
export HOME=$scratch
unset KUBECONFIG KUBERNETES_SERVICE_HOST

local_job() { "$kftrainer" submit --local --name "$1" --nodes 2 --runtime torch-distributed -- bash -c "$2" >/dev/null 2>&1; }
check "of no job" says 2 'specify at least one job' why
check "of a job that never was" says 1 'no TrainJob bert in namespace default' why bert
local_job fails '[ $JOB_COMPLETION_INDEX = 0 ] && exec sleep 60; echo "ValueError: boom" >&2; exit 3'
check "of one that failed: the first rank, its exit code" \
	says 0 '^fails has failed: the first failure is that of node-1 .*ended with exit code 3; its log says "ValueError: boom"' why fails
check "... where there is more" says 0 '^More: kftrainer logs --local fails -n default' why --local fails
check "... as JSON" says 0 '"reason": "ExitCode"' why fails -o json
"$kftrainer" submit --local -q --name words --runtime torch-distributed -- 'python3 a.py' >"$scratch/out" 2>&1
check "words that are one: what to do" says 0 \
	'could not be started: command not found: python3 a.py \(StartError\): these words are one: make each an item of command' why words
check "a name that is nearly right" says 1 'did you mean .fails.\?' why fials
local_job ended true
check "of one that is complete" says 0 '^ended completed ' why ended
check "a kubeconfig that is named and not there is not this machine" \
	says 1 'none: No such file' why ended --kubeconfig "$scratch/none"
printf 'clusters: null\ncontexts: null\ncurrent-context: ""\nusers: null\n' >"$scratch/empty.yaml"
check "one without clusters is" says 0 '^ended completed ' why ended --kubeconfig "$scratch/empty.yaml"
export KUBECONFIG=$scratch/none:$scratch/empty.yaml
for verb in 'get ended' 'events ended' 'logs fails' 'wait ended' 'runtime list' 'delete fails'; do
	# shellcheck disable=SC2086
	check "... for $verb" says 0 '' $verb
done
check "... not for another context" refuses "no context 'x'" get --context x
KUBECONFIG=$scratch/none
check "a list of files that are not there is no kubeconfig" says 0 '^ended completed ' why ended
unset KUBECONFIG
check "--local and a cluster" says 2 'cannot be combined with' why ended --local --context x
finish
