#!/bin/bash
# A TrainJob of `submit --local` has the status and the events that the manager of `controller --local` gives it.
# before: tests/cluster/programs.sh
# shellcheck disable=SC1091,SC2016,SC2154,SC2317 # what is for other shells; server.sh
. "$(dirname "$0")/server.sh"
cd "$scratch" || exit 1

status() { # NAMESPACE NAME
	kubectl get trainjob "$2" -n "$1" -o json | python3 -c '
import json, sys
status = json.load(sys.stdin)["status"]
for condition in status.get("conditions", []):
	del condition["lastTransitionTime"]
status.update((time, "some") for time in ("startTime", "completionTime") if time in status)
print(json.dumps(status, sort_keys=True, indent=1))'
}
conditions() { status "$@" | python3 -c 'import json, sys; s = json.load(sys.stdin); print(s["conditions"], s["state"])'; }
events() { # NAMESPACE NAME: each once, with no pod by its random name
	kubectl get events -n "$1" --field-selector "involvedObject.kind=TrainJob,involvedObject.name=$2" \
		-o 'jsonpath={range .items[*]}{.type} {.reason} {.message}{"\n"}{end}' |
		sed -E 's/(-[0-9]+-[0-9]+)-[a-z0-9]{5}\>/\1-x/g' | sort -u
}
same() { # WHAT NAME
	"$1" default "$2" >managed && "$1" here "$2" >run && [ -s run ] && diff managed run
}
# both NAME NODES SCRIPT [LINE]: on the server, and as a run
both() {
	printf '%s\n' 'apiVersion: trainer.kubeflow.org/v1alpha1' 'kind: TrainJob' "metadata: {name: $1}" 'spec:' "${4:-  suspend: false}" \
		'  runtimeRef: {name: torch-distributed}' "  trainer: {numNodes: $2, command: [sh, -c, '$3']}" >"$1.yaml"
	kubectl create -f "$1.yaml" >created
	"$kftrainer" submit --local -q -n here "$1.yaml" >"$1.out" 2>&1 </dev/null &
	pid=$!
}
told() { events "$1" "$2" | grep -q "$3"; } # NAMESPACE NAME REGEX
# ends NAME EVENT CODE: both; the run with that code
ends() {
	until_true told default "$1" "$2"
	wait $pid
	[ $? = "$3" ] && until_true told here "$1" "$2"
}

up
both "done" 2 true
check "it completes" ends "done" '^Normal Completed ' 0
check "... the status" same status "done"
check "... the events" same events "done"

both fails 3 '[ $JOB_COMPLETION_INDEX = 1 ] && exit 3; sleep 1000'
check "a rank fails" ends fails '^Warning Failed ' 3
check "... the status: it names that rank" eval 'same status fails && grep -q "; first: node-1 (node rank 1): container node: exit code 3" run'
check "... the events: of the container, too" eval 'same events fails && grep -q "^Warning ContainerFailed fails-node-0-1-x, " run'
check "... what submit prints names it in its own words" eval 'grep -q "^node-1 failed first" fails.out && ! grep -q "; first: " fails.out'

both late 1 'sleep 1000' '  activeDeadlineSeconds: 3'
check "the deadline expires" ends late '^Warning Failed DeadlineExceeded' 1
check "... the conditions and the state" same conditions late
check "... the events" same events late

both rests 2 "until [ -e $scratch/go ]; do sleep 0.05; done"
suspend() { # BOOL: both of them
	for ns in default here; do
		kubectl patch trainjob rests -n $ns --type merge -p "{\"spec\": {\"suspend\": $1}}" || return
	done
}
become() { # EVENT
	until_true told default rests "$1"
	until_true told here rests "$1"
}
running() { [ "$(kubectl get trainjobs rests -n "$1" -o 'jsonpath={.status.state}')" = Running ]; }
until_true running default
until_true running here
check "suspended" suspend true
become '^Normal Suspended '
check "... the conditions and the state" same conditions rests
check "... the events" same events rests
check "resumed" suspend false
become '^Normal Resumed '
touch go
check "it completes" ends rests '^Normal Completed ' 0
check "... the status" same status rests
check "... the events" same events rests
down TERM
finish
