#!/bin/bash
# MLX under `submit --local`, from PyPI in a venv of the tests' own: two ranks over Debian's Open MPI.
. "$(dirname "$0")/lib.sh"
unset KFTRAINER_ISOLATION NO_COLOR
python=$(tests/setup.sh venv mlx)/bin/python
export MLX_MPI_LIBNAME=libmpi.so.40 # Open MPI's; libmpi.so is that of Debian's alternatives

# One step of the line 3x + 1 through 8 points: from zero, its gradient is (-112, -23) over all of them,
# (-74, -20) and (-150, -26) over the halves.
cat >"$scratch/line.py" <<'PY'
import os
import socket
import mlx.core as mx
import mlx.nn as nn
from mlx.optimizers import SGD


def say(line):  # in one write: mpirun merges what its ranks write
    os.write(1, line.encode() + b"\n")


world = mx.distributed.init(strict=True, backend="mpi")
rank, size = world.rank(), world.size()
total = mx.distributed.all_sum(mx.array([rank + 1, 10]))
say(f"rank {rank} of {size} on {socket.gethostname()}: sums {total.tolist()}")

x = mx.arange(8.0)[rank::size].reshape(-1, 1)
model = nn.Linear(1, 1)
model.update({"weight": mx.zeros((1, 1)), "bias": mx.zeros(1)})
loss, gradients = nn.value_and_grad(model, lambda: nn.losses.mse_loss(model(x), 3 * x + 1))()
SGD(0.01).update(model, nn.average_gradients(gradients, world))
say(f"rank {rank}: {model.weight.item():.3f} x + {model.bias.item():.3f}")
PY

run "$kftrainer" submit --local --name mlx --runtime mlx-distributed --nodes 2 -- \
	mpirun.openmpi "$python" "$scratch/line.py"
ok "MLX, 2 nodes: exits 0" exits 0
ok "rank 0 is in the launcher's pod, and the sums are right" printed 'rank 0 of 2 on mlx-launcher-0-0: sums \[3, 20\]$'
ok "rank 1 is in the other" printed 'rank 1 of 2 on mlx-node-0-0: sums \[3, 20\]$'
ok "a step with averaged gradients is that of all points" \
	test "$(grep -Ec 'rank [01]: 1\.120 x \+ 0\.230$' "$scratch/out")" = 2
finish
