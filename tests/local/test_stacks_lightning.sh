#!/bin/bash
# Lightning with PyTorch's newest release, on two nodes.
# before: tests/setup.sh stack
# shellcheck disable=SC1091,SC2154
. "$(dirname "$0")/stacks.sh"

python "$stacks/lightning_ddp.py" 1 >one.out 2>&1
run "$kftrainer" submit --local --name lightning --runtime torch-distributed --nodes 2 -- torchrun "$stacks/lightning_ddp.py" 2
ok "Lightning on 2 nodes: exits 0" exits 0
ok "... process 1 is on the other node" printed '^\[node-1\] lightning: process 1 of 2$'
ok "... losses and weights are those of one process, to 1e-5" equal lightning: one.out out 1e-5
finish
