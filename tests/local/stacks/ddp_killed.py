"""DDP with checkpoints, in a folder: ddp_killed.py FOLDER [STEPS [PAUSE]]. Its ranks may be killed at any time, and their folders may be
lost, but for one; it ends after STEPS (40) once FOLDER/go exists. Rank 0 prints the loss of each step, and in the end all of them."""
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

folder, options = sys.argv[1], sys.argv[2:]
least, pause = int(options[0]) if options else 40, float(options[1]) if options[1:] else 0.02
rank, world = int(os.environ["PET_NODE_RANK"]), int(os.environ["PET_NNODES"])
os.environ.update(MASTER_ADDR=os.environ["PET_MASTER_ADDR"], MASTER_PORT=os.environ["PET_MASTER_PORT"])
torch.set_num_threads(1)
dist.init_process_group("gloo", rank=rank, world_size=world)
torch.manual_seed(1)
model = DistributedDataParallel(torch.nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
saved = os.path.join(folder, f"saved{rank}")
steps = [torch.zeros(1, dtype=torch.int64) for _ in range(world)]
box = [torch.load(saved) if os.path.exists(saved) else {"step": 0}]
dist.all_gather(steps, torch.tensor([box[0]["step"]]))
dist.broadcast_object_list(box, max(range(world), key=lambda i: steps[i].item()))
step, losses = box[0]["step"], box[0].get("losses", [])
if step:
    model.load_state_dict(box[0]["model"])
    optimizer.load_state_dict(box[0]["optimizer"])
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
    losses.append(mean.item() / world)
    if rank == 0:
        print(f"loss {step} {losses[step]!r}", flush=True)
    step += 1
    if step % 5 == 0:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step, "losses": losses}, saved + ".new")
        os.rename(saved + ".new", saved)
    over = torch.tensor(float(step >= least and os.path.exists(os.path.join(folder, "go"))))
    dist.broadcast(over, 0)  # all end at the same step
    if over:
        break
    time.sleep(pause)
for i, loss in enumerate(losses):
    if rank == 0:
        print(f"loss {i} {loss!r}")
dist.destroy_process_group()
