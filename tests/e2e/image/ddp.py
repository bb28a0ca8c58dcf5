"""Linear regression with DistributedDataParallel, for torchrun on the tests' nodes.

Each rank prints its loss of every epoch, averaged over all, and a checksum of its parameters:
equal on all ranks when gradients really are. Arguments: EPOCHS, and a RANK that exits with 7
after the first of them (-1: none does).
"""
import os
import socket
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def say(text):
    print(f"rank {dist.get_rank()}: {text}\n", end="", flush=True)


def main():
    epochs, bad_rank = int(sys.argv[1]), int(sys.argv[2])
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    say(f"of {dist.get_world_size()} on {socket.gethostname()}")
    torch.manual_seed(dist.get_rank())
    truth = torch.arange(8.0)
    x = torch.randn(64, 8)
    y = (x @ truth)[:, None]
    model = DistributedDataParallel(torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(1, epochs + 1):
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        total = loss.detach().clone()
        dist.all_reduce(total)
        say(f"epoch {epoch} loss {total.item() / dist.get_world_size():.6f}")
        if dist.get_rank() == bad_rank:
            os._exit(7)
    numbers = torch.nn.utils.parameters_to_vector(model.parameters()).detach()
    say("parameters " + numbers.numpy().tobytes().hex())
    dist.barrier()
    sys.stdout.flush()
    os._exit(0)  # torch 1.13 may wait for ever in the destructor of a gloo group


main()
