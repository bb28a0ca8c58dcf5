#!/bin/bash
# Runs of `submit --local` in the API of `controller --local`: seen, followed, deleted; whose a name is.
# before: tests/cluster/programs.sh
# shellcheck disable=SC1091,SC2016,SC2154,SC2317 # what is for other shells; server.sh
. "$(dirname "$0")/server.sh"
cd "$scratch" || exit 1
submit() { # NAME SCRIPT [ARGUMENT...]
	local name=$1 script=$2
	shift 2
	"$kftrainer" submit --local -q --name "$name" --runtime torch-distributed --nodes 2 "$@" -- sh -c "MARK=$name exec sh -c '$script'"
}
of() { echo "-ljobset.sigs.k8s.io/jobset-name=$1"; }
is() { [ "$(kubectl get "$1" "$2" -o "jsonpath={$3}")" = "$4" ]; } # KIND NAME PATH VALUE
phases_are() { [ "$(kubectl get pods "$(of "$1")" -o 'jsonpath={.items[*].status.phase}')" = "$2" ]; }
none() { [ -z "$(kubectl get trainjobs,jobsets,jobs,pods -o name | grep -F "$1")" ]; } # NAME: nothing of it is in the API
none_run() { ! grep -qsz "^MARK=$1\$" /proc/[0-9]*/environ; }
failed_with() { ! kubectl "${@:2}" >said 2>&1 && grep -q "$1" said; } # TEXT ARGUMENT...
long='until [ -e go ]; do sleep 0.1; done; echo end'
runner() { cut -d" " -f1 "$XDG_STATE_HOME/kftrainer/jobs/default/$1/lock"; } # NAME

submit early 'echo hello' >/dev/null
submit odd 'exit 7' >/dev/null 2>&1
up
check "a run that ended before the server began: Complete, its pods Succeeded" eval \
	'is trainjob early .status.state Complete && phases_are early "Succeeded Succeeded" && is jobset early .status.terminalState Completed'
check "... its logs" eval '[ "$(kubectl logs "$(of early)" --tail -1)" = "$(printf "hello\nhello")" ]'
check "... its events" eval 'kubectl get events | grep -q "AllJobsCompleted.*jobset/early"'
check "... one that failed: the reason, the exit code" eval 'is trainjob odd .status.state Failed &&
	kubectl get pods "$(of odd)" -o "jsonpath={.items[*].status.containerStatuses[0].state.terminated.exitCode}" | grep -qw 7'

kubectl get trainjobs -w -o 'jsonpath={.metadata.name} {.status.state}{"\n"}' >watched 2>&1 &
watcher=$!
until_true grep -q "odd Failed" watched
submit runs "$long" --detach
check "once submit --detach returns, the run is in the API" eval 'is trainjob runs .status.state Running && phases_are runs "Running Running"'
kubectl logs -f "$(kubectl get pods "$(of runs)" -o 'jsonpath={.items[0].metadata.name}')" >followed 2>&1 &
follower=$!
job() { # NAME COMMAND
	kubectl create -f - <<-END
		{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: $1},
		 spec: {runtimeRef: {name: torch-distributed}, trainer: {numNodes: 1, command: [sh, -c, '$2']}}}
	END
}
taken() { ! job runs true >said 2>&1 && grep -q AlreadyExists said; }
check "its name is taken: a TrainJob of that name is a 409 AlreadyExists" taken
check "no controller works on it: no snapshot of its runtime" eval '[ -z "$(kubectl get configmaps -o name | grep runs)" ]'
check "a label of it is refused, and says why" failed_with "Forbidden.*submit --local.*only spec.suspend" label trainjob runs a=b
check "... in a dry run, too" failed_with Forbidden label trainjob runs a=b --dry-run=server
check "... and server-side apply" eval 'kubectl get trainjob runs -o json | sed "s/\"labels\": {/&\"a\": \"b\",/;s/\"annotations\": {/&\"a\": \"b\",/" >doc && failed_with Forbidden apply --server-side --force-conflicts -f doc'
check "... and deleting its JobSet alone" failed_with "only its TrainJob" delete jobset runs
touch go
check "it ends: Complete" eval 'kubectl wait --timeout=-1s --for=condition=Complete trainjob/runs && phases_are runs "Succeeded Succeeded"'
wait $follower
check "logs -f saw its end, and ended" eval '[ "$(cat followed)" = end ]'
check "get -w saw it come, run and end" eval 'until_true grep -qx "runs Complete" watched && grep -qx "runs Running" watched'
kill $watcher
wait $watcher 2>/dev/null
rm go

uid=$(kubectl get trainjob runs -o 'jsonpath={.metadata.uid}')
submit runs "$long" --detach
check "another run of the name takes its place" eval '
	! is trainjob runs .metadata.uid "$uid" && is trainjob runs .status.state Running && phases_are runs "Running Running"'
check "kubectl delete ends it" eval 'kubectl delete trainjob runs && until_true none_run runs && until_true none runs'
check "... and its run is gone" test ! -e "$XDG_STATE_HOME/kftrainer/jobs/default/runs"
submit here "$long" --detach
check "kftrainer delete of another terminal" eval '"$kftrainer" delete --local here && none here'
submit shot "$long" --detach
kill -KILL "$(runner shot)"
check "kill -9: Failed, Interrupted, and its pods Failed" eval '
	until_true is trainjob shot ".status.conditions[?(@.type==\"Failed\")].reason" Interrupted && phases_are shot "Failed Failed"'
check "... nothing of it runs, nor do its Jobs" eval '[ "$(kubectl get jobs "$(of shot)" --no-headers | tr -s " " | cut -d" " -f2)" = Failed ]'
submit odd 'until [ -e go ]; do sleep 0.1; done; exit 7' --detach
touch go
check "one that fails meanwhile: each event once, its Job Failed, no pod Terminating" eval '
	until_true is trainjob odd .status.state Failed && until_true eval "kubectl get events | grep -q Failed.*trainjob/odd" && sleep 1 &&
	[ "$(kubectl get events --field-selector involvedObject.name=odd,involvedObject.kind=TrainJob,reason=ContainerFailed -o name | sort | uniq | wc -l)" -le 2 ] &&
	[ -z "$(kubectl get events --field-selector involvedObject.name=odd,involvedObject.kind=TrainJob -o "jsonpath={range .items[*]}{.reason} {.message}{\"\\n\"}{end}" | sort | uniq -d)" ] &&
	! kubectl get pods "$(of odd)" | grep Terminating'
rm go
submit held "$long" --detach
suspend() { kubectl patch trainjob held --type merge -p "{\"spec\":{\"suspend\":$1}}"; }
check "it is suspended: its processes end, its pods are gone" eval 'suspend true && until_true none_run held && until_true phases_are held ""'
check "... as its status says" until_true is trainjob held '.status.conditions[?(@.type=="Suspended")].status' True
check "... and resumed" eval 'suspend false && until_true phases_are held "Running Running"'
touch go
check "... it ends: Complete" kubectl wait --timeout=-1s --for=condition=Complete trainjob/held
rm go
submit other true -n team >/dev/null
check "other namespaces" eval '[ "$(kubectl get trainjobs -n team -o name)" = trainjob.trainer.kubeflow.org/other ]'
submit third true -n team >/dev/null
submit fourth 'sleep 1000' -n team --detach >/dev/null
check "a namespace that is deleted takes its runs along, and is not back" eval '
	kubectl delete namespace team && sleep 0.5 && ! kubectl get namespace team && none_run fourth && ! ls "$XDG_STATE_HOME"/kftrainer/jobs/team/* 2>/dev/null'
cat >own.yaml <<'END2'
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: its-own}
spec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: {containers: [{name: node, image: x, command: ["true"]}]}}}}}]}}}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: own}
spec: {runtimeRef: {name: its-own, kind: TrainingRuntime}}
END2
"$kftrainer" submit --local -q own.yaml
check "the runtime of a file is there with its run" eval 'kubectl get trainingruntime its-own && kubectl delete trainjob own && until_true failed_with NotFound get trainingruntime its-own'
check "a copy of one can be created under another name, and runs" eval '
	kubectl get trainjob early -o json | sed "s/\"early\"/\"copy\"/" | kubectl create -f - &&
	kubectl wait --timeout=-1s --for=condition=Complete trainjob/copy && [ "$(kubectl logs "$(of copy)" --tail -1 | sort -u)" = hello ]'

# ---- what the server runs --------------------------------------------------------------------------
job its "until [ -e $scratch/go ]; do sleep 0.1; done" >/dev/null
until_true phases_are its Running
run submit its true
check "submit --local of a server's name is refused in one line" eval 'exits 1 && [ "$(wc -l <"$scratch/out")" = 1 ] && printed "its.*already running|its.*belongs to .controller --local"'
run "$kftrainer" delete --local its
check "so is its delete without the server" eval 'exits 1 && printed "belongs to .controller --local.; use --kubeconfig .*api/kubeconfig"'
check "... and it runs" phases_are its Running
touch go
kubectl wait --timeout=-1s --for=condition=Complete trainjob/its >/dev/null
run submit its true
check "... once it has ended, too" eval 'exits 1 && printed "belongs to .controller --local"'
rm go

# ---- the server ends, runs do not -------------------------------------------------------------------
submit stays "$long" --detach
submit goes "$long" --detach
until_true phases_are goes "Running Running"
down KILL
check "kill -9 of the server: runs go on" eval '! none_run stays && ! none_run goes'
"$kftrainer" delete --local goes >/dev/null
submit later 'echo later' >/dev/null
touch go
until_true none_run stays
up
check "what ended meanwhile is Complete, with its logs" eval 'until_true is trainjob stays .status.state Complete && kubectl logs "$(of stays)" --tail -1 | grep -q end'
check "what is gone is gone" none goes
check "what came is there" is trainjob later .status.state Complete
check "all of it can be deleted" eval 'kubectl delete trainjobs --all && until_true eval "! ls $XDG_STATE_HOME/kftrainer/jobs/default/* >/dev/null 2>&1" && until_true eval "[ -z \"\$(kubectl get trainjobs,jobsets,jobs,pods -o name)\" ]"'
down TERM
finish
