#!/bin/bash
# What people train with today, on two real nodes: PyTorch's newest release, which pods mount from this machine.
# before: tests/setup.sh stack
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
stack_venv tests/setup.sh
e2e_shared

stack_runtime 0
submit() {
	in_cluster "$kftrainer" submit tests/local/stacks/fsdp2.py --name fsdp2 -n $ns --runtime stack \
		--nodes 2 --nproc-per-node 2 --follow -- /tmp/fsdp2 >"$scratch/out" 2>&1 </dev/null && return
	cat "$scratch/out"
	return 1
}
check "PyTorch's newest release: FSDP2 on two nodes of two processes completes" submit
has() { [ "$(grep -c "$1" "$scratch/out")" = "$2" ] || { cat "$scratch/out"; return 1; }; } # PATTERN TIMES
check "... four ranks, each with a quarter of a layer" has 'rank [0-3] of 4 begins at step 0, has 4 of 16 rows$' 4
check "... on both nodes" has '^\[node-1\] .*rank 3 of 4 ' 1
same() { # but for the last digit
	"$venv/bin/python" tests/local/stacks/fsdp2.py - one >"$scratch/one"
	paste -d ' ' <(sed -n 's/.*parameters: //p' "$scratch/out" | tr ' ' '\n') <(sed -n 's/^parameters: //p' "$scratch/one" | tr ' ' '\n') |
		tee /dev/stderr | awk 'NF != 2 || $1 - $2 > 2e-5 || $2 - $1 > 2e-5 { bad = 1 } END { exit bad || NR != 8 }'
}
check "... its parameters are those of one process, to 1e-5" same
finish
