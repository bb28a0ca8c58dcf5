#!/bin/bash
# Volume claims: what jobs write into them stays, is shown, and goes when somebody says so.
# shellcheck disable=SC1091,SC2016,SC2154 # what is for other shells; jobs.sh
. "$(dirname "$0")/jobs.sh"

# with_claim COMMAND: a node with the claim "checkpoints" at ./ckpt.
with_claim() {
	node "$1" "volumes: [{name: v, persistentVolumeClaim: {claimName: checkpoints}}]" |
		sed "s|containers: \[{name: node,|containers: [{name: node, volumeMounts: [{name: v, mountPath: $scratch/ckpt}],|"
}

job saves 1 < <(with_claim 'seq 1 >>ckpt/steps; wc -l <ckpt/steps')
for i in $(seq 12); do
	submit saves
	[ "$status" = 0 ] || break
done
ok "the twelfth run finds what the eleven before it have saved" printed '\[node-0\] 12$'
job other 1 < <(with_claim 'wc -l <ckpt/steps')
submit other
ok "... and so does another job" printed '\[node-0\] 12$'
run "$kftrainer" delete saves
ok "a job is deleted" exits 0
submit other
ok "... its claim stays" printed '\[node-0\] 12$'
submit other -n team
ok "a claim of another namespace is another" printed '\[node-0\]'
ok "... and empty" exits 1

run "$kftrainer" get claims
ok "get claims: exits 0" exits 0
ok "... a line each of the namespace" lines 1 '^default +checkpoints +'
ok "... with its folder" printed "$XDG_STATE_HOME/kftrainer/claims/default/checkpoints\$"
run "$kftrainer" get claims -A -o name
ok "get claims -A -o name" lines 2 '^claim/checkpoints$'
run "$kftrainer" get claim/checkpoints -o yaml
ok "get claim/NAME -o yaml" printed '^kind: PersistentVolumeClaim'
run "$kftrainer" get claim/checkpoint
ok "get of one that is not there" exits 1
ok "... says which there is" printed 'did you mean .checkpoints.'

job busy 1 < <(with_claim 'touch up; while [ ! -e over ]; do sleep 0.05; done')
"$kftrainer" submit --local busy.yaml >busy.out 2>&1 </dev/null &
busy=$!
until_true test -e up
run "$kftrainer" delete claim/checkpoints
ok "a claim is not deleted while a job that uses it runs" exits 1
ok "... it says which" printed 'in use by running job busy'
touch over
wait $busy
run "$kftrainer" delete claim/checkpoints
ok "delete claim/NAME" exits 0
run "$kftrainer" get claims
ok "... it is gone" printed 'No claims in namespace default'
run "$kftrainer" delete claim/checkpoints
ok "... once more: exits 1" exits 1
run "$kftrainer" delete claim/checkpoints --ignore-not-found
ok "... with --ignore-not-found: exits 0" exits 0
run "$kftrainer" delete claim/../../jobs
ok "no claim's name leads elsewhere" exits 1
ok "... and nothing of others is gone" test -d "$XDG_STATE_HOME/kftrainer/jobs/default/busy"
finish
