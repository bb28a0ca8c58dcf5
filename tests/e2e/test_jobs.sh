#!/bin/bash
# TrainJobs on two real nodes: what becomes of them, and what is told of it.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
e2e_shared

# ---- all at once, for they wait for different things ----------------------------------------------
torch() { # RUNTIME ARGUMENTS of ddp.py
	echo "{runtimeRef: $1, trainer: {image: $image, numNodes: 2, numProcPerNode: 2,
		command: [torchrun, /e2e/ddp.py, $2], env: [{name: OMP_NUM_THREADS, value: '1'}]}}"
}
check "a TrainJob of torch-distributed is taken" train ddp "$(torch '{name: torch-distributed}' '"5", "-1"')"
check "one of PyTorch's, of which a rank fails" train badrank "$(torch '{kind: TrainingRuntime, name: torch}' '"5", "3"')"
check "one of which a node fails" train fails "$(sh 2 "[ \$JOB_COMPLETION_INDEX = 1 ] || { $until_go; }; echo last words >/dev/termination-log; exit 7")"
check "one without its image" train noimage "$(sh 1 true 'image: "kft.local/absent:1"')"
check "one that no node has room for" train toobig "$(sh 1 true 'resourcesPerNode: {requests: {cpu: 1000}}')"
check "one that takes too much memory" train oom "$(sh 1 'exec python3 -c "b = bytearray(1 << 30)"' 'resourcesPerNode: {limits: {memory: 64Mi}}')"
check "one to be suspended" train paused "$(sh 2 "echo rank 0 of 1; $until_go")"
check "one that reports its progress" train reports "$(sh 1 "python3 /e2e/report.py 40; $until_go")"
check "and one that has nothing to report" train bystander "$(sh 1 "$until_go")"

# ---- failures -------------------------------------------------------------------------------------
check "an exit code fails the job" becomes fails Failed
check "... which is reported with node rank and exit code" tells fails \
	'^ContainerFailed fails-node-0-1-.*node-1 \(node rank 1\): container node: exit code 7 on n[12]: last words'
check "... and is why the job failed" tells fails '^Failed .*first: node-1 \(node rank 1\): .*exit code 7'
state_is() { [ "$(of "$1" .status.state)" = "$2" ] || { of "$1" .status; return 1; }; }
check "... its state" state_is fails Failed
check "an image that cannot be pulled is reported" tells noimage '^ImagePullFailed .*image kft.local/absent:1'
check "... its state" state_is noimage Created
check "a lack of resources is reported, in the scheduler's words" tells toobig '^Unschedulable .*Insufficient cpu'
check "too much memory fails the job" becomes oom Failed
check "... which is reported" tells oom '^OOMKilled .*exit code 137 \(SIGKILL\), out of memory'

# ---- suspend and resume ----------------------------------------------------------------------------
check "the job runs on two nodes" run paused 2
two_nodes() { [ "$(pods paused '{.items[*].spec.nodeName}' | tr ' ' '\n' | sort -u | wc -l)" = 2 ]; }
check "... really" two_nodes
check "... each for itself, as why reads in logs that nobody follows" wait_for 30 why_says paused "node-[01] .* each log a world of one process"
suspend() { k patch trainjob "$1" --type merge -p "{\"spec\": {\"suspend\": $2}}"; }
no_pods() { wait_for 60 eval "[ -z \"\$(pods $1)\" ]"; }
check "it is suspended" suspend paused true
check "... its pods go" no_pods paused
check "... and its condition says so" becomes paused Suspended
check "it is resumed" suspend paused false
check "... its pods come back" run paused 2
check "... and its condition" becomes paused Suspended=False
check "the rest of it runs" go paused
check "... until it is complete" becomes paused Complete
check "all of it is reported" tells paused '^Completed '
suspended_once() { [ "$(events paused | awk '{ print $1 }' | xargs)" = "JobSetCreated Suspended Resumed Completed" ] || { events paused; return 1; }; }
check "... once, in order" suspended_once

# ---- progress --------------------------------------------------------------------------------------
check "a pod reports its progress" run reports 1
said() { wait_for 60 eval "[ \"\$(logs reports)\" = 200 ]" || { logs reports; return 1; }; }
check "... with the token that it was given" said
progress_is() { [ "$(of reports .status.trainerStatus.progressPercentage)" = "$1" ]; }
check "... to the TrainJob's status" progress_is 40
foreign() { # shellcheck disable=SC2086
	run bystander 1 && k exec "$(pods bystander)" -- python3 /e2e/report.py 99 $ns/reports | tee /dev/stderr | grep -q ^403
}
check "a pod of another job may not" foreign
check "... and changes nothing" progress_is 40
check "the jobs go on" go reports
check "... to their end" becomes reports Complete
check "... with what was reported" progress_is 40

# ---- torch -----------------------------------------------------------------------------------------
check "PyTorch's DDP on two nodes completes" becomes ddp Complete
jobs_status() {
	[ "$(of ddp '.status.jobsStatus[*].name}{.status.jobsStatus[*].succeeded}{.status.jobsStatus[*].active')" = node10 ] &&
		state_is ddp Complete
}
check "... its status" jobs_status
logs ddp >"$scratch/ddp"
ranks() { [ "$(sed -n 's/^rank \([0-9]\): of 4 on ddp-node-0-[01]$/\1/p' "$scratch/ddp" | sort | xargs)" = "0 1 2 3" ] || { cat "$scratch/ddp"; return 1; }; }
equal() { # WHAT N: so many different lines of it
	[ "$(grep -c "$1" "$scratch/ddp")" = $((4 * $2)) ] &&
		[ "$(sed -n "s/^rank [0-9]: \($1\)/\1/p" "$scratch/ddp" | sort -u | wc -l)" = "$2" ] || { cat "$scratch/ddp"; return 1; }
}
falls() { sed -n 's/^rank 0: epoch . loss //p' "$scratch/ddp" | sort -rgc; }
check "... its four ranks, in kubectl logs" ranks
check "... the same losses on all" equal epoch 5
check "... which fall" falls
check "... the same parameters" equal parameters 1
check "... told on the TrainJob" tells ddp '^JobSetCreated '
check "... from creation to completion" tells ddp '^Completed '

check "PyTorch's job with a bad rank has failed" becomes badrank Failed
says_who() { k get trainjob badrank -o 'jsonpath={.status.conditions[?(@.type=="Failed")].message}' |
	grep -E '; first: node-[01] \(node rank [01]\): container node: exit code 1$'; }
check "... whose message ends with the first rank that failed and its exit code" says_who
check "... which is reported with node rank and torchrun's exit code" tells badrank \
	'^Failed .*; first: node-[01] \(node rank [01]\): container node: exit code 1 on n[12]'
state_and_restarts() { state_is badrank Failed && [ "$(k get jobset badrank -o 'jsonpath={.status.restarts}')" = 0 ]; }
check "... at once" state_and_restarts

# ---- what is left of a job -------------------------------------------------------------------------
mpi='{runtimeRef: {kind: TrainingRuntime, name: mpi}, trainer: {numNodes: 2, command: [sleep, "600"]}}'
check "a TrainJob that has Secrets, too" train rich "$mpi"
check "... runs" run rich 3
# Of the kinds that a TrainJob makes: all that has its name in its own.
kinds=trainjobs,jobsets,jobs,pods,configmaps,secrets,services,podgroups.scheduling.x-k8s.io
left_of() { k get "$kinds" -o name | grep -E "/$1(-|$)"; }
has_all() {
	left_of rich | tee "$scratch/rich"
	for kind in trainjob.t jobset.j job.b pod/ configmap/ secret/; do grep -q "^$kind" "$scratch/rich" || return 1; done
}
check "... with all kinds of objects" has_all
gone() { wait_for 60 eval "! left_of $1" || { left_of "$1"; return 1; }; }
check "it is deleted" k delete trainjob rich --wait=false
check "... nothing of it is left" gone rich
check "likewise one that is complete" k delete trainjob ddp --wait=false
check "... nothing of it is left, either" gone ddp
none_left() { k delete trainjobs --all && wait_for 60 eval "! k get jobsets,jobs,pods,secrets -o name | grep ." && ! k get configmaps -o name | grep -v kube-root-ca; }
check "and all the others" none_left
finish
