#!/bin/bash
# `controller --local --idle`: what keeps the server, and that it ends.
# before: tests/cluster/programs.sh
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
is_up() { kill -0 "$server" 2>/dev/null; }
# Its own end; a server that stays is ended by the layer's limit.
ends() {
	wait "$server"
	local code=$?
	server=
	[ $code = 0 ] && grep -q '"msg":"exiting: idle' "$scratch/log"
}
job() { # NAME SCRIPT
	kubectl apply -f - <<-END
		{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: $1},
		 spec: {runtimeRef: {name: torch-distributed}, trainer: {command: [sh, -c, '$2']}}}
	END
}
start
strangers() { # ask, four times as long
	local url i
	url=$(sed -n 's/.*"server":"\(https:[^"]*\)".*/\1/p' "$scratch/log" | head -n1)
	for i in {1..100}; do
		curl -sk "$url/version" >"$scratch/answer" && grep -q Unauthorized "$scratch/answer" || break
		sleep 0.2
	done
	[ "$i" != 1 ] || return 1
	[ "$i" != 100 ] || kill "$server"
	ends
}
check "without jobs and requests with its token it ends" strangers
start
running() { # for twice as long
	# A loaded machine may let it end before kubectl asks.
	until job stays "sleep 10; touch $scratch/alive; until [ -e $scratch/go ]; do sleep 0.1; done"; do is_up || start; done
	until_true test -e "$scratch/alive"
	is_up && touch "$scratch/go"
}
check "a job that runs keeps it" running
check "... until it ends" ends
start
recorded() {
	until kubectl get jobset stays -o "jsonpath={.status.terminalState}" >"$scratch/recorded"; do is_up || start; done
	grep -qx Completed "$scratch/recorded"
}
check "... whose end it has recorded" recorded
watches() { # in the background, and has seen what there is
	kubectl get trainjobs -w >"$scratch/watched" 2>&1 &
	watch=$!
	until grep -q stays "$scratch/watched"; do kill -0 $watch || return 1; sleep 0.1; done
}
watching() {
	local status
	until watches; do is_up || start; done
	sleep 10
	is_up
	status=$?
	kill $watch
	return $status
}
check "so does a watch" watching
check "... until it ends" ends
start
check "a suspended job does not" eval '
	until job held "sleep 1000"; do is_up || start; done && kubectl patch trainjob held --type merge -p "{\"spec\":{\"suspend\":true}}" &&
	until_true eval "[ -z \"\$(kubectl get pods -o name | grep held)\" ]" && ends'
run "$kftrainer" controller --idle 5s
check "--idle requires --local" eval 'exits 2 && printed "idle requires --local"'
finish
