"""FSDP2 with checkpoints: fsdp2.py FOLDER [wait]: 8 steps, or what the last checkpoint leaves of them.

After step 4 rank 0 prints "step 4 saved", and with `wait` all wait for the file FOLDER/go; without that, the job
has to be suspended. At the end rank 0 writes all parameters to FOLDER/parameters, and prints them by layer.
fsdp2.py FOLDER one: the same steps by one process without any wrapper, and how far its parameters are from those.
fsdp2.py - one: without a comparison.
"""
import os
import sys
import time

import torch
import torch.distributed as dist

STEPS, SAVE = 8, 4
folder = sys.argv[1]
torch.manual_seed(0)
model = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.Tanh()) for _ in range(4)])


def train(model, optimizer, step, rank=0, size=1):
    """A step with its own batch of 8: each rank takes as many of its rows."""
    batch = torch.rand(8, 16, generator=torch.Generator().manual_seed(step))[rank::size]
    loss = (model(batch) - batch.flip(1)).pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


def show(state):
    print("parameters: " + " ".join(f"{tensor.square().sum().item():.5f}" for tensor in state.values()), flush=True)


def alone():
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for step in range(STEPS):
        train(model, optimizer, step)
    show(model.state_dict())
    if folder == "-":
        return
    there = torch.load(f"{folder}/parameters")
    here = model.state_dict()
    print("same names", there.keys() == here.keys(), "- farthest",
          f"{max((there[name] - here[name]).abs().max().item() for name in here):.1e}")


def sharded():
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, get_state_dict, set_state_dict
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh("cpu", (size,))
    for layer in model:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    shard = model[0][0].weight.to_local().shape
    begin = SAVE if os.path.exists(f"{folder}/{SAVE}/.metadata") else 0
    if begin:
        of_model, of_optimizer = get_state_dict(model, optimizer)
        dcp.load({"model": of_model, "optimizer": of_optimizer}, checkpoint_id=f"{folder}/{SAVE}")
        set_state_dict(model, optimizer, model_state_dict=of_model, optim_state_dict=of_optimizer)
    print(f"rank {rank} of {size} begins at step {begin}, has {shard[0]} of 16 rows\n", end="", flush=True)
    for step in range(begin, STEPS):
        train(model, optimizer, step, rank, size)
        if step + 1 == SAVE:
            of_model, of_optimizer = get_state_dict(model, optimizer)
            dcp.save({"model": of_model, "optimizer": of_optimizer}, checkpoint_id=f"{folder}/{SAVE}")
            if rank == 0:
                print(f"step {SAVE} saved", flush=True)
            while sys.argv[2:] == ["wait"] and not os.path.exists(f"{folder}/go"):
                time.sleep(0.1)
    whole = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
    if rank == 0:
        torch.save(whole, f"{folder}/parameters")
        show(whole)
    dist.destroy_process_group()


if sys.argv[2:] == ["one"]:
    alone()
else:
    sharded()
