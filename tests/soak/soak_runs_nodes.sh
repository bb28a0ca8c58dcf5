#!/bin/bash
# FSDP2 on two real nodes with a run directory on S3: a node is lost, then the one with all ranks, then the job is deleted and
# continued. Each time the ranks go on from a whole checkpoint; the losses are those of a run that nobody disturbs. When the
# TrainJob and the node are gone, logs, why and runs say what they said before.
# before: tests/setup.sh stack
export gone_after=2 KFT_NODE_GRACE=16
grace=30 # until the report says that the deleted job has ended
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
stack_venv tests/setup.sh
e2e_up
stack_runtime
mkdir "$scratch/code"
cp tests/local/stacks/runs.py "$scratch/code"
serve_s3
check "an S3 server runs" wait_for 30 in_cluster curl -s -o "$scratch/curl" "http://$cluster_ip:7070/"
place
STEPS=1800 # six minutes and more, until each is allowed to go
# shellcheck disable=SC2317 # called by check
submit() { # NAME OPTION...
	on_cluster submit -n $ns --name "$@" >"$scratch/out" 2>&1 || { cat "$scratch/out"; return 1; }
}
first() { # NAME
	submit "$1" --runtime stack --nodes 2 --run-dir "s3://bucket/$1" --annotation kftrainer.io/run-dir-secret=place \
		--annotation kftrainer.io/restarts=99 --annotation kftrainer.io/restart-grace=1s --workspace "$scratch/code" -- \
		sh -c "mkdir -p /tmp/fsdp2; exec python runs.py fsdp2 /tmp/fsdp2 $STEPS"
}
complete() { compgen -G "$scratch/s3/bucket/$1/checkpoints/*.complete" | wc -l; } # NAME: of checkpoints; three are kept
newest() { basename "$(ls -t "$scratch/s3/bucket/lost/checkpoints/"*.complete | head -n 1)" .complete; }
# Both ranks of NAME have begun from another step than AT, or the first time from 0; $at is where.
begun() { # NAME AT
	local rank n=0
	for rank in 0 1; do
		at=$(k logs "$(rank_pod "$1" $rank)" -c node 2>/dev/null | sed -n 's/^begins [0-9]* rank [01] at //p' | tail -n 1)
		[ -n "$at" ] && [ "$at" != "$2" ] && n=$((n + 1))
	done
	[ $n = 2 ] && k logs "$(rank_pod "$1" 0)" -c node | sed "0,/^begins [0-9]* rank 0 at $at$/d" | grep ^loss >/dev/null
}
node_of() { k get pod "$(rank_pod lost "$1")" -o 'jsonpath={.spec.nodeName}'; }
# As a cloud provider does: the machine goes, and then its Node.
loses() { # NODE
	node "${1#n}" poweroff && kc wait --for=condition=Ready=Unknown "node/$1" --timeout=300s && kc delete node "$1"
}
another() { [ "$(newest)" != "$1" ] && [ "$(complete lost)" -ge 3 ]; } # another checkpoint than $1 is complete
whole() { [ "$at" -gt 0 ] && [ $((at % 5)) = 0 ]; }

check "a run that nobody disturbs" first calm
check "... trains" wait_for 180 begun calm none
for rank in 0 1; do k exec "$(rank_pod calm $rank)" -c node -- touch /tmp/fsdp2/go; done
check "... completes" becomes calm Complete
check "a job on two nodes" first lost
check "... trains" wait_for 180 begun lost none
check "... a rank on each" eval '[ "$(node_of 0) $(node_of 1)" = "n1 n2" ] || [ "$(node_of 0) $(node_of 1)" = "n2 n1" ]'
check "... three checkpoints are complete" wait_for 180 another none
where=$(node_of 1) other=$(node_of 0)
check "rank 1's node is lost" loses "$where"
check "... both ranks begin again" wait_for 300 begun lost "$at"
check "... from a whole checkpoint" whole
check "... on the node that is left" eval '[ "$(node_of 0) $(node_of 1)" = "$other $other" ]'
check "the node is back" node "${where#n}" up
check "... which the cluster sees" wait_for 300 kc wait --for=condition=Ready "node/$where" --timeout=1s
before=$(newest)
check "... another checkpoint is complete" wait_for 180 another "$before"
check "the node of both ranks is lost" loses "$other"
check "... both begin again on the other one" wait_for 300 begun lost "$at"
check "... from a whole checkpoint" whole
check "... which only S3 had" eval '[ "$(node_of 0) $(node_of 1)" = "$where $where" ]'
before=$(newest)
check "... another checkpoint is complete" wait_for 180 another "$before"
k delete trainjob lost >/dev/null
check "the job is deleted: its pods end" wait_for 90 eval '[ -z "$(pods lost)" ]'
check "... another continues it" submit again --resume s3://bucket/lost
check "... from a whole checkpoint" eval 'wait_for 180 begun again none && whole'
for rank in 0 1; do k exec "$(rank_pod again $rank)" -c node -- touch /tmp/fsdp2/go; done
check "... which completes" becomes again Complete
last() { grep -E '^(\[[^ ]+\] +)?loss' | tail -n 3; }
on_cluster logs -n $ns again 2>/dev/null | last >"$scratch/live"
said() { on_cluster why "$@" | sed -n '1s/^\(again completed\) .* \(productive [0-9]*s\).*/\1 \2/p'; }
said -n $ns again >"$scratch/why"
k delete trainjob again --timeout=300s >/dev/null
check "the last node is without power" node "${where#n}" poweroff
check "TrainJob and nodes are gone: its last lines are there" eval '[ -s "$scratch/live" ] && on_cluster logs --from s3://bucket/lost | last | diff "$scratch/live" -'
check "... and why it ended" eval '[ -s "$scratch/why" ] && said --from s3://bucket/lost | diff "$scratch/why" -'
check "... which runs lists" eval 'on_cluster runs s3://bucket | grep -E "again +Succeeded"'
losses() { on_cluster logs --from "s3://bucket/$1" | sed -nE 's/^(\[[^ ]+\] +)?loss ([0-9]+) (.*)$/\2 \3/p' | awk '{ last[$1] = $2 } END { for (i = 1; i <= '$STEPS'; i++) print i, last[i] }'; }
losses lost >"$scratch/lost"
losses calm >"$scratch/calm"
check "its losses are those of the run that nobody disturbed, to the last digit, in $STEPS steps" eval 'diff "$scratch/calm" "$scratch/lost" && [ "$(grep -cE "^[0-9]+ [0-9]" "$scratch/calm")" = $STEPS ]'
finish
