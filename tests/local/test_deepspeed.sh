#!/bin/bash
# DeepSpeed under `submit --local`, from PyPI in a venv of the tests' own: two ranks that it finds by
# Debian's Open MPI, and that train over gloo with Debian's PyTorch.
. "$(dirname "$0")/lib.sh"
unset KFTRAINER_ISOLATION NO_COLOR
python=$(tests/setup.sh venv deepspeed)/bin/python
export DS_ACCELERATOR=cpu MPI4PY_LIBMPI=libmpi.so.40

# test_mlx.sh has this line, too, and its gradients. All ranks get one free port in place of 29500.
cat >"$scratch/line.py" <<'PY'
import os
import socket
import deepspeed
import deepspeed.comm as dist
import torch
from mpi4py import MPI


def say(line):  # in one write: mpirun merges what its ranks write
    os.write(1, line.encode() + b"\n")


deepspeed.utils.logger.setLevel("WARNING")
# Or it compiles an all_reduce of its own at run time.
deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
with socket.create_server(("", 0)) as free:
    port = MPI.COMM_WORLD.bcast(free.getsockname()[1])
deepspeed.init_distributed(dist_backend="gloo", distributed_port=port)
rank, size = dist.get_rank(), dist.get_world_size()
total = torch.tensor([rank + 1, 10])
dist.all_reduce(total)
say(f"rank {rank} of {size} on {socket.gethostname()}: sums {total.tolist()}")

x = torch.arange(8.0)[rank::size].reshape(-1, 1)
model = torch.nn.Linear(1, 1)
for parameter in model.parameters():
    torch.nn.init.zeros_(parameter)
engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config={
    "train_batch_size": len(x) * size, "optimizer": {"type": "SGD", "params": {"lr": 0.01}}})
engine.backward(torch.nn.functional.mse_loss(engine(x), 3 * x + 1))
engine.step()
say(f"rank {rank}: {model.weight.item():.3f} x + {model.bias.item():.3f}")
MPI.Finalize()
os._exit(0)  # a thread of gloo that still releases a tensor aborts while the interpreter ends
PY

run "$kftrainer" submit --local --name deepspeed --runtime deepspeed-distributed --nodes 2 -- \
	mpirun.openmpi "$python" "$scratch/line.py"
ok "DeepSpeed, 2 nodes: exits 0" exits 0
ok "rank 0 is in the launcher's pod, and the sums are right" \
	printed 'rank 0 of 2 on deepspeed-launcher-0-0: sums \[3, 20\]$'
ok "rank 1 is in the other" printed 'rank 1 of 2 on deepspeed-node-0-0: sums \[3, 20\]$'
ok "a step with averaged gradients is that of all points" \
	test "$(grep -Ec 'rank [01]: 1\.120 x \+ 0\.230$' "$scratch/out")" = 2
finish
