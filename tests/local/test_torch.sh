#!/bin/bash
# PyTorch under `submit --local`: it trains, it fails on one rank, twice at once, and without namespaces.
. "$(dirname "$0")/lib.sh"

accuracy() { # at least 0.95, as printed by the script
	local value
	value=$(sed -nE 's/.*accuracy on [0-9]+ held-out digits: ([0-9.]+).*/\1/p' "$scratch/out")
	[ -n "$value" ] && awk -v v="$value" 'BEGIN { exit !(v >= 0.95) }'
}

run "$kftrainer" submit --local examples/digits.yaml
ok "digits, 2 nodes of 2: exits 0" exits 0
ok "all four ranks are up" test "$(grep -Eoc 'rank [0-3] of 4 is up' "$scratch/out")" = 4
ok "lines carry the node's name" printed 'node-1.*rank [23] of 4 is up'
ok "the ranks agree" printed 'parameters equal on all 4 ranks: yes'
ok "accuracy on held-out digits >= 0.95" accuracy
run "$kftrainer" get digits
ok "get shows it as Complete afterwards" printed 'digits +Complete'
run "$kftrainer" logs digits --rank 0
ok "logs --rank 0 has the accuracy" accuracy

cat >"$scratch/fail.py" <<'PY'
import sys, torch.distributed as dist
dist.init_process_group("gloo")
if dist.get_rank() == 2:
    sys.exit("rank 2 gives up: the loss is not a number")
dist.barrier()
PY
run "$kftrainer" submit --local --name broken --runtime torch-distributed --nodes 2 --nproc-per-node 2 \
	--env PYTHONPATH=examples/debian-torch -- torchrun "$scratch/fail.py"
ok "a failing rank: not 0" test "$status" -ne 0
ok "the report names its node" printed 'node-1'
ok "the report has its last words" printed 'rank 2 gives up: the loss is not a number'
ok "the report says where the logs are" printed "$XDG_STATE_HOME"
run "$kftrainer" get broken
ok "get shows it as Failed" printed 'broken +Failed'

two=0
"$kftrainer" submit --local --name one examples/digits.yaml >"$scratch/one" 2>&1 </dev/null &
first=$!
"$kftrainer" submit --local --name two examples/digits.yaml >"$scratch/two" 2>&1 </dev/null || two=$?
wait $first
one=$?
cat "$scratch/one" "$scratch/two" >"$scratch/out"
ok "two jobs at once both train" test "$one$two" = 00

run env KFTRAINER_ISOLATION=none "$kftrainer" submit --local --name plain examples/digits.yaml
ok "without namespaces: exits 0" exits 0
ok "without namespaces: accuracy >= 0.95" accuracy
finish
