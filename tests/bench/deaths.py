"""A rank that kills itself, and the time to the next step: for the programs of `make bench` that measure restarts."""
import re
import sys

# Rank 1 kills itself in the first run, at a time that it prints, as each run prints the times of its steps.
FAILS = """
import os, signal, sys, time
first = all(os.environ.get(name, "0") == "0" for name in ("KFTRAINER_RESTART", "ATTEMPT", "TORCHELASTIC_RESTART_COUNT"))
first = first and not os.path.exists(os.environ.get("MARK", "/nowhere"))
rank = int(os.environ.get("RANK", os.environ.get("JOB_COMPLETION_INDEX")))
def step():
    print(f"step of {rank} in the {'first' if first else 'next'} run at {time.time()}", flush=True)
def die():
    if "MARK" in os.environ:
        open(os.environ["MARK"], "w").close()
    print("died at", time.time(), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""
PLAIN = FAILS + """
step()
time.sleep(0.5)
if first:
    die() if rank == 1 else time.sleep(100)
"""
# DDP, a step of which takes 50 ms.
TORCH = FAILS + """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
torch.set_num_threads(1)
dist.init_process_group("gloo")
model = DistributedDataParallel(torch.nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters())
for i in range(1000 if first else 3):
    optimizer.zero_grad()
    model(torch.randn(16, 8)).sum().backward()
    optimizer.step()
    step()
    if first and rank == 1 and i == 20:
        die()
    time.sleep(0.05)
dist.destroy_process_group()
"""


def after_death(out):
    """Milliseconds from the death of rank 1 to the next run's first step of the later rank."""
    died = re.search(r"died at ([0-9.]+)", out)
    steps = [[float(t) for t in re.findall(rf"step of {rank} in the next run at ([0-9.]+)", out)] for rank in (0, 1)]
    if not died or not all(steps):
        sys.exit(f"bench: did not start again\n{out}")
    return (max(map(min, steps)) - float(died[1])) * 1e3
