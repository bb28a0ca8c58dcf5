#!/bin/bash
# PyTorch's newest release: FSDP2 with torch.distributed.checkpoint on two nodes of two processes, suspended and resumed.
# before: tests/setup.sh stack
# shellcheck disable=SC1091,SC2016,SC2034,SC2154
. "$(dirname "$0")/stacks.sh"

mkdir fsdp2
"$kftrainer" submit --local --name fsdp2 --runtime torch-distributed --nodes 2 --nproc-per-node 2 -- \
	torchrun "$stacks/fsdp2.py" "$scratch/fsdp2" wait >fsdp2.out 2>&1 </dev/null &
pid=$!
until_true grep -q 'step 4 saved' fsdp2.out
"$kftrainer" suspend fsdp2 >/dev/null
until_true grep -q '^suspended' fsdp2.out
cp fsdp2.out out
ok "FSDP2: four ranks of two nodes begin, each with a quarter of a layer" \
	lines 4 'rank [0-3] of 4 begins at step 0, has 4 of 16 rows$'
touch fsdp2/go
"$kftrainer" resume fsdp2 >/dev/null
wait $pid
status=$?
cp fsdp2.out out
ok "suspended after a checkpoint, and resumed: exits 0" exits 0
ok "... all go on at the checkpoint's step" lines 4 'rank [0-3] of 4 begins at step 4, has 4 of 16 rows$'
run python "$stacks/fsdp2.py" "$scratch/fsdp2" one
ok "... the parameters are those of one process, to 1e-6" printed '^same names True - farthest ([0-9.]+e-(0[789]|[1-9].)|0\.0e\+00)$'
finish
