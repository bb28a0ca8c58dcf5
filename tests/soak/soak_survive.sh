#!/bin/bash
# PyTorch's DDP on two real nodes, supervised: ranks are killed KILLS times, rank 0's pod is deleted, the network of a node is
# cut for 15 seconds, and a node is lost. The job completes, and its losses are those of a run that nobody disturbs.
# before: tests/setup.sh stack
gone_after=2
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
stack_venv tests/setup.sh
e2e_up
KILLS=${KILLS:-20}

stack_runtime
submit() { # NAME STEPS PAUSE
	in_cluster "$kftrainer" submit -n $ns --name "$1" --runtime stack --supervise --annotation kftrainer.io/restarts=999 \
		--annotation kftrainer.io/restart-grace=1s --workspace "$scratch/code" --nodes 2 -- \
		sh -c "mkdir -p /tmp/ddp; exec python ddp_killed.py /tmp/ddp $2 $3" >"$scratch/out" 2>&1 || { cat "$scratch/out"; return 1; }
}
mkdir "$scratch/code"
cp tests/local/stacks/ddp_killed.py "$scratch/code"
uids() { pods killed '{.items[*].metadata.uid}'; }
log() { k logs "$(rank_pod killed "$1")" -c node 2>/dev/null; }
run_of() { log 0 | sed -n 's/.*begins \([0-9]*\) rank 0 .*/\1/p' | tail -n 1; }
# begun AFTER: both ranks have begun a run later than AFTER, which is $run, and a step of it is done
begun() {
	run=$(run_of)
	[ -n "$run" ] && [ "$run" -gt "$1" ] && log 1 | grep "begins $run rank 1 " >/dev/null &&
		log 0 | sed "0,/begins $run rank 0/d" | grep loss >/dev/null
}
check "a job on two nodes" submit killed 40 0.2
check "... trains" wait_for 180 begun -1
check "... a rank on each" eval '[ "$(pods killed "{.items[*].spec.nodeName}" | tr " " "\n" | sort | xargs)" = "n1 n2" ]'
before=$(uids)

kills() {
	local i at=$run
	for ((i = 1; i <= KILLS; i++)); do
		sleep "0.$((RANDOM % 10))"
		k exec "$(rank_pod killed $((RANDOM % 2)))" -c node -- pkill -9 -f '^python ddp_killed' || return 1
		wait_for 120 begun "$at" || return 1
		at=$run
	done
}
check "ranks are killed $KILLS times: each time both start again" kills
check "... in the same pods" eval '[ "$before" = "$(uids)" ]'
counted() { [ "$(of killed .status.supervision.restarts)" = "$KILLS" ]; }
check "... which the status counts" wait_for 90 counted

at=$run
first=$(rank_pod killed 0) second=$(rank_pod killed 1)
k delete pod "$first" --grace-period=0 --force >/dev/null 2>&1
check "rank 0's pod is lost: both start again" wait_for 180 begun "$at"
check "... rank 1 in its pod" test "$second" = "$(rank_pod killed 1)"

at=$run
where=$(k get pod "$second" -o 'jsonpath={.spec.nodeName}')
cut_off() { # FOR SECONDS
	in_cluster ip link set "kft0$where" down
	sleep "$1"
	in_cluster ip link set "kft0$where" up
}
steps() { log 0 | grep -c loss; }
before=$(uids)
check "the network of rank 1's node is cut for 15 seconds" cut_off 15
seen=$(steps)
further() { [ "$(steps)" -gt "$((seen + 20))" ]; }
check "... it trains on" wait_for 180 further
check "... in the same pods" eval '[ "$before" = "$(uids)" ]'

# As a cloud provider does: the machine goes, and then its Node.
at=$(run_of)
check "rank 1's node is without power" node "${where#n}" poweroff
check "... which the cluster sees" kc wait --for=condition=Ready=Unknown "node/$where" --timeout=300s
kc delete node "$where" >/dev/null
check "... its Node is deleted: a pod on the other node is rank 1, and both start again" wait_for 300 begun "$at"
k exec "$(rank_pod killed 0)" -c node -- touch /tmp/ddp/go
ended=$(rank_pod killed 0)
check "the job completes" becomes killed Complete
losses() { k logs "$1" -c node | sed -n 's/^loss \([0-9]*\) \(.*\)$/\1 \2/p' | awk '{ last[$1] = $2; most = $1 > most ? $1 : most } END { for (i = 0; i <= most; i++) print i, last[i] }'; }
losses "$ended" >"$scratch/killed"
total=$(wc -l <"$scratch/killed")
check "a run that nobody disturbs" submit calm "$total" 0
check "... trains" wait_for 180 eval '[ -n "$(rank_pod calm 0)" ] && k exec "$(rank_pod calm 0)" -c node -- touch /tmp/ddp/go'
ended=$(rank_pod calm 0)
check "... completes" becomes calm Complete
losses "$ended" >"$scratch/calm"
check "... has the same losses, to the last digit, in $total steps" eval 'cmp "$scratch/calm" "$scratch/killed" && [ "$total" -ge 40 ]'
finish
