"""Train a small network on scikit-learn's handwritten digits with DistributedDataParallel.

Run by torchrun, which finds its peers through the PET_* variables of the TrainJob.
Exits with an error when the accuracy on held-out digits is below 0.95, or when
the ranks do not end with the same parameters.
"""
import argparse
import os
import sys

import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.parallel import DistributedDataParallel

WANTED = 0.95


def data():
    """Images as (n, 64) floats in 0..1 and their labels; every fifth one is held out."""
    digits = load_digits()
    x = torch.tensor(digits.data, dtype=torch.float32) / 16.0
    y = torch.tensor(digits.target)
    held_out = torch.arange(len(y)) % 5 == 0
    return x[~held_out], y[~held_out], x[held_out], y[held_out]


def train(model, x, y, epochs, batch):
    rank, world = dist.get_rank(), dist.get_world_size()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    loss_of = nn.CrossEntropyLoss()
    first = last = None

    for epoch in range(epochs):
        order = torch.randperm(len(y), generator=torch.Generator().manual_seed(epoch))
        order = order[: len(order) // (world * batch) * world * batch]
        total = torch.zeros(2)
        for part in order[rank::world].split(batch):
            optimizer.zero_grad()
            loss = loss_of(model(x[part]), y[part])
            loss.backward()
            optimizer.step()
            total += torch.tensor([loss.item(), 1.0])
        dist.all_reduce(total)
        last = (total[0] / total[1]).item()
        first = last if first is None else first
        if rank == 0:
            print(f"epoch {epoch + 1:2}/{epochs} loss {last:.4f}", flush=True)
    return first, last


def same_everywhere(model):
    """Are the parameters bit for bit those of rank 0?"""
    mine = nn.utils.parameters_to_vector(model.parameters()).detach()
    theirs = mine.clone()
    dist.broadcast(theirs, src=0)
    equal = torch.tensor([int(torch.equal(mine, theirs))])
    dist.all_reduce(equal)
    return equal.item() == dist.get_world_size()


def leave(code):
    """Exit at once: torch 1.13 may wait for ever when the interpreter takes a gloo group down
    (its destructor joins a thread, under the lock that this thread needs)."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def main():
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("--epochs", type=int, default=24)
    args.add_argument("--batch", type=int, default=16)
    args = args.parse_args()

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(rank)
    # One write: torchrun's ranks of a node share its output, and it starts them unbuffered.
    print(f"rank {rank} of {world} is up\n", end="", flush=True)

    x, y, x_test, y_test = data()
    model = DistributedDataParallel(
        nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))
    )
    first, last = train(model, x, y, args.epochs, args.batch)
    with torch.no_grad():
        accuracy = (model(x_test).argmax(dim=1) == y_test).float().mean().item()

    equal = same_everywhere(model)
    dist.barrier()
    if rank == 0:
        print(f"parameters equal on all {world} ranks: {'yes' if equal else 'NO'}")
        print(f"loss {first:.4f} -> {last:.4f}")
        print(f"accuracy on {len(y_test)} held-out digits: {accuracy:.4f}", flush=True)
    good = equal and accuracy >= WANTED and last < first
    if not good:
        print(f"rank {rank}: wanted equal parameters, a falling loss and an accuracy of {WANTED}", file=sys.stderr)
    leave(0 if good else 1)


if __name__ == "__main__":
    main()
