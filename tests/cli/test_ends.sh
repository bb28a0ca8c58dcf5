#!/bin/bash
# Ends of local jobs: their time to live, `delete --finished`, and what is said of fields and kinds that come.
. "$(dirname "$0")/lib.sh"
cd "$scratch" || exit 1
step_runtime kept '{numNodes: 1}' 'restartPolicy: Never' >kept.yaml
step_runtime short '{numNodes: 1}' 'restartPolicy: Never' | sed 's/^spec:/spec:\n  runPolicy: {ttlSecondsAfterFinished: 5}/' >short.yaml
submit() { run submit --local --runtime-file "$1.yaml" --runtime "$1" --name "$2" -- "${@:3}"; }
gone() { # until no job of that name is listed
	until "$kftrainer" get --local "$1" 2>&1 | grep -q "no TrainJob $1"; do sleep 0.1; done
}
has() { "$kftrainer" get --local "$1" -o yaml >"$scratch/out" && grep -Eq -e "$2" "$scratch/out" || dump; }
between() { # startTime and completionTime, in seconds
	local field times=()
	for field in completionTime startTime; do times+=("$(date -d "$("$kftrainer" get --local "$1" -o yaml | sed -n "s/^  $field: *\"\(.*\)\"/\1/p")" +%s)"); done
	echo $((times[0] - times[1]))
}
duration() { "$kftrainer" get --local "$1" >"$scratch/out" && tail -n 1 "$scratch/out" | grep -Eq -e " $(between "$1")s\$" || dump; }

submit short soon true
check "the runtime's runPolicy is kept with the job" has soon '^  ttlSecondsAfterFinished: 5$'
check "after that time it is gone" gone soon
check "... with its directory" test ! -e "$XDG_STATE_HOME/kftrainer/jobs/default/soon"

submit kept good sleep 1
check "startTime and completionTime" eval 'has good "^  startTime: .2" && has good "^  completionTime: .2"'
check "get: the time between the two" duration good
submit kept bad sh -c 'exit 3'
mkfifo go
"$kftrainer" submit --local -q --runtime-file kept.yaml --runtime kept --name runs -- sh -c "read x <$scratch/go" >runs 2>&1 &
until "$kftrainer" get --local runs 2>/dev/null | grep -q Running; do sleep 0.1; done
check "delete --finished --older-than" says 0 '^kftrainer delete: no finished and old enough TrainJobs in namespace default$' \
	delete --local --finished --older-than 1h
check "delete --finished: those of the labels" says 0 'no finished TrainJobs' delete --local --finished -l team=a
check "delete --finished" says 0 '^trainjob good deleted' delete --local --finished
check "... the failed ones, too" eval '! "$kftrainer" get --local bad'
check "... not one that runs" says 0 '^runs +Running' get --local runs
check "delete --finished NAME" refuses 'not both' delete --local --finished runs
check "--older-than alone" refuses 'is for --finished' delete --local --older-than 1h runs
check "--older-than: no time" refuses "'soon'" delete --local --finished --older-than soon
echo >go
wait

# The controller's own code, with a TTL of 0: who follows the job sees its end, not only that it is gone.
"$kftrainer" controller --local >server 2>&1 &
server=$!
until [ -s "$XDG_STATE_HOME/kftrainer/server/kubeconfig" ]; do sleep 0.1; done
at_once() { # STATUS REGEX OPTION
	{
		sed 's/ttlSecondsAfterFinished: 5/ttlSecondsAfterFinished: 0/' short.yaml
		echo ---
		job <<<"trainer: {command: [sh, -c, 'exit $1']}" | sed "s/name: torch-distributed/name: short/; s/name: tiny/name: zero$1/"
	} >zero.yaml
	run submit --kubeconfig "$XDG_STATE_HOME/kftrainer/server/kubeconfig" "$3" -f zero.yaml
	[ "$status" = "$1" ] && grep -Eq -e "$2" "$scratch/err" || dump
}
check "controller --local: a TTL of 0; submit --follow sees the end" at_once 0 '^zero0: complete' --follow
check "... submit --wait the exit code" at_once 3 'exit code 3' --wait
stay() { "$kftrainer" get --kubeconfig "$XDG_STATE_HOME/kftrainer/server/kubeconfig" 2>&1 | grep zero; }
check "... and neither of them stays" eval 'while stay; do sleep 0.1; done'
kill "$server"
wait

said() { # FILE REGEX: `runtime validate` says that; its status
	run runtime validate "$1"
	grep -Eq -e "$2" "$scratch/err" || dump
}
field() { # FIELD VALUE: of a TrainJob, in the file it.yaml
	job <<<"$1: $2" >it.yaml
}
for value in -1 2147483648 '"5"' 1.5; do
	field ttlSecondsAfterFinished "$value"
	check "ttlSecondsAfterFinished: $value" said it.yaml '^kftrainer runtime validate: it.yaml:[0-9]+:[0-9]+: spec.ttlSecondsAfterFinished: '
	check "... is an error" test "$status" = 2
done
field ttlSecondsAfterFinished 0
check "ttlSecondsAfterFinished: 0" "$kftrainer" runtime validate it.yaml
field runPolicy '{ttlSecondsAfterFinished: 5}'
check "runPolicy of a TrainJob" said it.yaml 'spec.runPolicy: Unknown field: use activeDeadlineSeconds and ttlSecondsAfterFinished of spec'
sed -i 's/ttlSecondsAfterFinished: 5/activeDeadlineSeconds: 0/' short.yaml
check "runPolicy: no deadline of 0" said short.yaml 'spec.runPolicy.activeDeadlineSeconds: Invalid value: 0'
sed 's/^  template:/  template:\n    metadata: {}/; s/^    spec:/    spec:\n      ttlSecondsAfterFinished: 5/' kept.yaml >jobset.yaml
check "a TTL in the JobSet's template: a warning" said jobset.yaml \
	'^kftrainer runtime validate: warning: jobset.yaml:[0-9]+:[0-9]+: spec.template.spec.ttlSecondsAfterFinished: .*use spec.runPolicy'
check "... and no error" test "$status" = 0
sed 's/^  template:/  podGroupPolicy: {coscheduling: {}, volcano: {}}\n  template:/' kept.yaml >gangs.yaml
sed 's/numNodes: 1/&, torch: {}/; s/^    spec:/    spec:\n      network: {enableDNSHostnames: false}/' kept.yaml >names.yaml
check "pods without names: a warning" said names.yaml \
	'^kftrainer runtime validate: warning: names.yaml:[0-9]+:[0-9]+: spec.template.spec.network.enableDNSHostnames: '
sed 's/^    spec:/    spec:\n      managedBy: a.b\/c/' kept.yaml >managed.yaml
check "a JobSet of another controller: a warning" said managed.yaml \
	'^kftrainer runtime validate: warning: managed.yaml:[0-9]+:[0-9]+: spec.template.spec.managedBy: JobSet leaves the jobs to a.b/c'
check "a gang for two schedulers: a warning" said gangs.yaml \
	'^kftrainer runtime validate: warning: gangs.yaml:[0-9]+:[0-9]+: spec.podGroupPolicy: coscheduling and volcano are both set'
check "... and no error" test "$status" = 0
sed 's/^  template:/  podGroupPolicy: {volcano: {}}\n  template:/' kept.yaml >volcano.yaml
check "a gang for Volcano that no pod asks for: a warning" said volcano.yaml \
	'^kftrainer runtime validate: warning: volcano.yaml:[0-9]+:[0-9]+: spec.podGroupPolicy: volcano is set, but no pod has a schedulerName'

printf '%s\n' 'apiVersion: trainer.kubeflow.org/v1alpha1' 'kind: OptimizationJob' 'metadata: {name: sweep}' 'spec: {}' >sweep.yaml
for verb in 'runtime validate' 'submit --dry-run=client' 'submit --local'; do
	# shellcheck disable=SC2086
	check "$verb: an OptimizationJob" refuses 'OptimizationJob searches hyperparameters.* comes with a later release' $verb sweep.yaml
done
check "why: an OptimizationJob" refuses 'OptimizationJob searches' why optimizationjob/sweep
finish
