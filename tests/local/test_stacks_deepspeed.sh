#!/bin/bash
# DeepSpeed with PyTorch's newest release: ZeRO 2 and 3 on two nodes, by torchrun and by Debian's Open MPI.
# before: tests/setup.sh stack
# shellcheck disable=SC1091,SC2154
. "$(dirname "$0")/stacks.sh"
export MPI4PY_LIBMPI=libmpi.so.40

python "$stacks/zero.py" one >one.out 2>&1
run "$kftrainer" submit --local --name zero-torchrun --runtime torch-distributed --nodes 2 -- torchrun "$stacks/zero.py"
ok "ZeRO by torchrun on 2 nodes: exits 0" exits 0
ok "... rank 1 is on the other node" printed '^\[node-1\] rank 1 of 2 on '
for stage in 2 3; do
	ok "... stage $stage: losses and parameters are plain PyTorch's of one process, to 1e-4" equal "zero $stage:" one.out out 1e-4
done
# Of a shell in another job, such as a notebook's.
export RANK=0 LOCAL_RANK=0 WORLD_SIZE=1 MASTER_ADDR=localhost MASTER_PORT=29500
# Two at once: by itself, DeepSpeed over MPI always meets at port 29500 of the machine's first address.
by_mpi() { # NAME
	"$kftrainer" submit --local --name "$1" --runtime deepspeed-distributed --nodes 2 -- mpirun.openmpi python "$stacks/zero.py"
}
by_mpi zero-other >other.out 2>&1 </dev/null &
run by_mpi zero-mpi
wait
ok "ZeRO by mpirun on 2 nodes: exits 0" exits 0
ok "... rank 0 is in the launcher's pod" printed 'rank 0 of 2 on zero-mpi-launcher-0-0$'
ok "... rank 1 is on the other node" printed 'rank 1 of 2 on zero-mpi-node-0-0$'
for stage in 2 3; do
	ok "... stage $stage: losses and parameters are those, too" equal "zero $stage:" one.out out 1e-4
	ok "... and those of another such job at the same time" equal "zero $stage:" one.out other.out 1e-4
done
finish
