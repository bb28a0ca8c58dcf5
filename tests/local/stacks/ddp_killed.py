"""DDP with checkpoints, in a folder: ddp_killed.py FOLDER. Its ranks may be killed at any time; it ends once FOLDER/go exists."""
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

folder = sys.argv[1]
rank, world = int(os.environ["PET_NODE_RANK"]), int(os.environ["PET_NNODES"])
os.environ.update(MASTER_ADDR=os.environ["PET_MASTER_ADDR"], MASTER_PORT=os.environ["PET_MASTER_PORT"])
torch.set_num_threads(1)
dist.init_process_group("gloo", rank=rank, world_size=world)
torch.manual_seed(1)
model = DistributedDataParallel(torch.nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
saved, step = os.path.join(folder, "saved"), 0
if os.path.exists(saved):
    state = torch.load(saved)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    step = state["step"]
print(f"begins {os.environ.get('KFTRAINER_RESTART', '-')} rank {rank} at {step}", flush=True)
while True:
    torch.manual_seed(1000 * step + rank)
    x = torch.randn(16, 8)
    loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    mean = loss.detach().clone()
    dist.all_reduce(mean)
    if rank == 0:
        print(f"loss {step} {mean.item() / world!r}", flush=True)
    step += 1
    if rank == 0 and step % 5 == 0:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, saved + ".new")
        os.rename(saved + ".new", saved)
    over = torch.tensor(float(step >= 40 and os.path.exists(os.path.join(folder, "go"))))
    dist.broadcast(over, 0)  # all end at the same step
    if over:
        break
    time.sleep(0.02)
dist.destroy_process_group()
