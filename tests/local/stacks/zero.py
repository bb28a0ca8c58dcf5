"""DeepSpeed's ZeRO, by torchrun or mpirun: zero.py; losses and parameters of stages 2 and 3, by rank 0.

zero.py one: those of plain PyTorch in one process, with all rows of each batch.
"""
import os
import socket
import sys

import torch

STEPS, ROWS = 6, 8


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))


def batch(step):
    x = torch.rand(ROWS, 8, generator=torch.Generator().manual_seed(step))
    return x, x.sum(1, keepdim=True)


def say(stage, losses, norm):
    numbers = " ".join(f"{number:.6f}" for number in [*losses, norm])
    os.write(1, f"zero {stage}: {numbers}\n".encode())  # in one write: mpirun merges what its ranks write


def one():
    model, losses = network(), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(STEPS):
        x, y = batch(step)
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    for stage in 2, 3:
        say(stage, losses, sum(p.square().sum().item() for p in model.parameters()))


def zero(stage):
    import deepspeed
    import torch.distributed as dist
    rank, size = dist.get_rank(), dist.get_world_size()
    model, losses = network(), []
    engine, *_ = deepspeed.initialize(model=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1), config={
        "train_micro_batch_size_per_gpu": ROWS // size, "zero_optimization": {"stage": stage},
        "zero_allow_untested_optimizer": True, "zero_force_ds_cpu_optimizer": False,
        "gradient_clipping": 0})  # 1 if it is not there, unlike with PyTorch
    for step in range(STEPS):
        x, y = (whole[rank::size] for whole in batch(step))
        loss = torch.nn.functional.mse_loss(engine(x), y)
        engine.backward(loss)
        engine.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        losses.append(mean.item() / size)
    with deepspeed.zero.GatheredParameters(list(model.parameters())):
        norm = sum(p.detach().square().sum().item() for p in model.parameters())
    if rank == 0:
        say(stage, losses, norm)


def main():
    import deepspeed
    import torch.distributed as dist
    deepspeed.utils.logger.setLevel("ERROR")
    # Or it compiles an all_reduce of its own at run time.
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    port = 29500
    if "RANK" not in os.environ:  # by mpirun: one free port for all in place of that
        from mpi4py import MPI
        with socket.create_server(("", 0)) as free:
            port = MPI.COMM_WORLD.bcast(free.getsockname()[1])
    deepspeed.init_distributed(dist_backend="gloo", distributed_port=port)
    os.write(1, f"rank {dist.get_rank()} of {dist.get_world_size()} on {socket.gethostname()}\n".encode())
    for stage in 2, 3:
        zero(stage)
    dist.barrier()
    dist.destroy_process_group()


one() if sys.argv[1:] == ["one"] else main()
