#!/bin/bash
# PyTorch under `submit --local`: it trains, it fails on one rank, twice at once, and without namespaces.
. "$(dirname "$0")/lib.sh"

accuracy() { # at least 0.95, as printed by the script
	local value
	value=$(sed -nE 's/.*accuracy on [0-9]+ held-out digits: ([0-9.]+).*/\1/p' "$scratch/out")
	[ -n "$value" ] && awk -v v="$value" 'BEGIN { exit !(v >= 0.95) }'
}

# Beside a second one, of one process a node.
sed 's/numProcPerNode: 2/numProcPerNode: 1/' examples/digits.yaml >"$scratch/digits.yaml"
"$kftrainer" submit --local --name two "$scratch/digits.yaml" >"$scratch/two" 2>&1 </dev/null &
second=$!
run "$kftrainer" submit --local examples/digits.yaml
one=$status two=0
wait $second || two=$?
ok "digits, 2 nodes of 2: exits 0" exits 0
ok "all four ranks are up" test "$(grep -Eoc 'rank [0-3] of 4 is up' "$scratch/out")" = 4
ok "lines carry the node's name" printed 'node-1.*rank [23] of 4 is up'
ok "the ranks agree" printed 'parameters equal on all 4 ranks: yes'
ok "accuracy on held-out digits >= 0.95" accuracy
ok "two jobs at once both train" test "$one$two" = 00
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
	-- torchrun "$scratch/fail.py"
ok "a failing rank: not 0" test "$status" -ne 0
ok "the report names its node" printed 'node-1'
ok "the report does not show the launcher's traceback" not_printed 'launch_agent'
ok "the report has its last words" printed 'rank 2 gives up: the loss is not a number'
ok "the report says where the logs are" printed "$XDG_STATE_HOME"
run "$kftrainer" get broken
ok "get shows it as Failed" printed 'broken +Failed'

run env KFTRAINER_ISOLATION=none "$kftrainer" submit --local --name plain "$scratch/digits.yaml"
ok "without namespaces: exits 0" exits 0
ok "without namespaces: accuracy >= 0.95" accuracy

# A script of a user's own, as README.md starts one, with what a user may have besides.
mkdir "$scratch/own" "$scratch/own/site"
cat >"$scratch/own/train.py" <<'PY'
import argparse, os, torch, torch.distributed as dist
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float)
lr = parser.parse_args().lr
dist.init_process_group("gloo")
ranks = torch.tensor([dist.get_rank() + 1.0])
dist.all_reduce(ranks)
print("rank", dist.get_rank(), "sum", ranks.item(), "lr", lr, "site", os.environ.get("SITE"))
PY
echo 'import os; os.environ["SITE"] = "own"' >"$scratch/own/site/sitecustomize.py"
cd "$scratch/own" || exit 1
faulty() { /usr/bin/python3 -c 'import sys, torch; sys.exit(not (sys.version_info >= (3, 11) and torch.__version__.startswith("1.13")))'; }
for way in "" none; do
	[ "$way" ] && export KFTRAINER_ISOLATION=$way
	run "$kftrainer" submit --local train.py --nodes 2 -- --lr 0.1
	ok "submit --local train.py, with this machine's torch${way:+, without namespaces}: exits 0" exits 0
	ok "... both ranks have talked to each other" test "$(grep -c 'rank [01] sum 3.0 lr 0.1 site None' "$scratch/out")" = 2
	[ "$way" ] || ! faulty ||
		ok "... one line says that torchrun is corrected" test "$(grep -c 'torchrun of this PyTorch of Debian fails' "$scratch/out")" = 1
done
unset KFTRAINER_ISOLATION
cat >raises.py <<'PY'
import torch.distributed as dist
dist.init_process_group("gloo")
raise ValueError("the loss is not a number")
PY
run "$kftrainer" submit --local raises.py --nodes 2
ok "a script that raises an error on two nodes: exits 1" exits 1
ok "... one traceback is shown" test "$(grep -c 'Traceback (most recent call last)' "$scratch/out")" = 1
ok "... both name the error" test "$(grep -c '^\[node-[01]\] ValueError: the loss' "$scratch/out")" = 2
ok "... that nobody set backoffLimit is said once" test "$(grep -c 'backoffLimit is not set' "$scratch/out")" = 1
"$kftrainer" logs --raw raises >logs 2>&1
ok "... logs --raw has all of them" test "$(grep -c 'Traceback (most recent call last)' logs)" -ge 3
run env PYTHONPATH=site "$kftrainer" submit --local --runtime torch-distributed -- torchrun train.py
ok "a sitecustomize of the user's own runs, too" printed 'sum 1.0 lr None site own'
finish
