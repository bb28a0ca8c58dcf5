#!/bin/bash
# `controller --local --idle`: what keeps the server, and that it ends.
# shellcheck disable=SC1091,SC2154,SC2317 # server.sh
. "$(dirname "$0")/server.sh"
# Longer than kubectl takes to start on a busy machine.
idle=5s
start() {
	: >"$scratch/where"
	"$kftrainer" controller --local --idle $idle --data "$scratch/api" >"$scratch/where" 2>"$scratch/log" &
	server=$!
	until_true test -s "$scratch/where"
	export KUBECONFIG=$scratch/api/kubeconfig
}
# Its own end; a server that stays is ended by the layer's limit.
ends() {
	wait "$server"
	local code=$?
	server=
	[ $code = 0 ] && grep -q '"msg":"idle' "$scratch/log"
}
job() { # NAME SCRIPT
	kubectl apply -f - <<-END
		{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: $1},
		 spec: {runtimeRef: {name: torch-distributed}, trainer: {command: [sh, -c, '$2']}}}
	END
}
start
check "without requests and jobs it ends" ends
start
running() { # for twice as long
	job stays "sleep 10; touch $scratch/alive; until [ -e $scratch/go ]; do sleep 0.1; done"
	until_true test -e "$scratch/alive"
	kill -0 "$server" && touch "$scratch/go"
}
check "a job that runs keeps it" running
check "... until it ends" ends
start
check "... whose end it has recorded" eval '[ "$(kubectl get jobset stays -o "jsonpath={.status.terminalState}")" = Completed ]'
watching() {
	timeout 10 kubectl get trainjobs -w >"$scratch/watched" 2>&1
	[ $? = 124 ] && kill -0 "$server" && grep -q stays "$scratch/watched"
}
check "so does a watch" watching
check "... until it ends" ends
start
check "a suspended job does not" eval '
	job held "sleep 1000" && kubectl patch trainjob held --type merge -p "{\"spec\":{\"suspend\":true}}" &&
	until_true eval "[ -z \"\$(kubectl get pods -o name | grep held)\" ]" && ends'
run "$kftrainer" controller --idle 5s
check "--idle needs --local" eval 'exits 2 && printed "idle needs --local"'
finish
